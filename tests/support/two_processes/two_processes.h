// SPDX-License-Identifier: BSD-3-Clause
// Lets the server's side of tests live in a second process. Programs that link
// this call librpma as ever; the linker has put what chooses the process before
// it. What both sides register is in pages of tests/support/pages.h.

#ifndef RPMA_TESTS_SUPPORT_TWO_PROCESSES_TWO_PROCESSES_H_
#define RPMA_TESTS_SUPPORT_TWO_PROCESSES_TWO_PROCESSES_H_

#include "tests/support/two_processes/helper.h"

namespace rpma::test {

// Before there are threads, objects of librpma and pages.
void StartSecondProcess(two_processes::Elsewhere elsewhere);

// False, after saying so, if it did not end well. Without one: true.
bool StopSecondProcess();

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_TWO_PROCESSES_TWO_PROCESSES_H_
