// SPDX-License-Identifier: BSD-3-Clause
// The functions themselves: the linker's --wrap gives their names to those that
// choose a process (wrapped.cc, emulator.cc).

#ifndef RPMA_TESTS_SUPPORT_TWO_PROCESSES_REAL_H_
#define RPMA_TESTS_SUPPORT_TWO_PROCESSES_REAL_H_

#include <librpma.h>
#include <librpma_emu.h>

#include "tests/support/two_processes/real.inc"

#endif  // RPMA_TESTS_SUPPORT_TWO_PROCESSES_REAL_H_
