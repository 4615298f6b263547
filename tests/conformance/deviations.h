// SPDX-License-Identifier: BSD-3-Clause
// What a stepped world cannot show, or shows otherwise.

#ifndef RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_
#define RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_

namespace rpma::test {

// Leaves the tests out that a stepped world cannot run, and prints each with
// the reason. False, after saying why on stderr, if there is no such test.
bool LeaveOutDeviations();

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_
