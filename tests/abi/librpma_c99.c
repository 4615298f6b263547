/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles only if librpma.h is complete in itself and C99. */
#include "api/librpma.h"

extern const int librpma_h_compiles_as_c99;
const int librpma_h_compiles_as_c99 = 1;
