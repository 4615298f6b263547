/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles only if librpma_emu.h is complete in itself and C99. */
#include "api/librpma_emu.h"

extern const int librpma_emu_h_compiles_as_c99;
const int librpma_emu_h_compiles_as_c99 = 1;
