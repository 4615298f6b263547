/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands for a test that calls a function and takes another one's address. */
#include "tests/called_functions/example.h"

extern int (*rpma_pointer)(void);
int (*rpma_pointer)(void) = rpma_address_taken;

extern int Test(void);
int Test(void) { return rpma_called() + 1; }
