// SPDX-License-Identifier: BSD-3-Clause
// Counts what a thread allocates with operator new, which this library
// replaces in the program that links it.

#ifndef RPMA_TESTS_SUPPORT_ALLOCATION_COUNTER_H_
#define RPMA_TESTS_SUPPORT_ALLOCATION_COUNTER_H_

#include <cstddef>

namespace rpma::test {

// How often the calling thread has allocated so far.
size_t AllocationsOfThisThread();

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_ALLOCATION_COUNTER_H_
