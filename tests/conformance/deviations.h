// SPDX-License-Identifier: BSD-3-Clause
// Tests that a stepped world or a real device cannot show, or shows otherwise,
// where no quality of Provider says it.

#ifndef RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_
#define RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace rpma::test {

// What tests run on: "emulated", "stepped" or the name of a real device's
// Provider; and "two processes", of emulated devices, or "elsewhere".
using Places = std::vector<std::string_view>;

// Leaves out the tests in which one of the places deviates. False, after saying
// why on stderr, if there is no such test.
bool LeaveOutDeviations(const Places& where);

// Prints what was left out, each with the reason, and how many tests passed and
// failed.
void PrintSums(const Places& where);

// The full names, "Prefix/Suite.Test/parameter", of a test with parameters, or
// of all of a suite: "*".
std::vector<std::string> NamesOf(std::string_view suite, std::string_view test);

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_DEVIATIONS_H_
