// SPDX-License-Identifier: BSD-3-Clause
// Tests that a stepped world or a real device cannot show, or shows otherwise,
// where no quality of Provider says it.

#ifndef RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_
#define RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_

#include <string_view>

namespace rpma::test {

// Leaves out the tests in which `where` deviates, "stepped" or the name of a
// real device's Provider, and prints each with the reason. False, after saying
// why on stderr, if there is no such test.
bool LeaveOutDeviations(std::string_view where);

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_
