// SPDX-License-Identifier: BSD-3-Clause
// The scenarios: short programs on librpma, both sides in one thread.

#ifndef RPMA_TESTS_FAULTS_SCENARIO_H_
#define RPMA_TESTS_FAULTS_SCENARIO_H_

#include <ostream>
#include <span>
#include <string_view>

#include "tests/faults/program.h"

namespace rpma::faults {

// Goes on sensibly after a failure at any step, as a good program would: ends
// what it has and returns. True: it did all that it meant to do.
struct Scenario {
  const char* name;
  bool (*run)(Program& program);
  // Options of the devices it runs on.
  const char* device_options = "";
};

// As a parameter of tests.
inline void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

// By subject, each defined in a file of its own.
std::span<const Scenario> ConnectScenarios();
std::span<const Scenario> RefuseScenarios();
std::span<const Scenario> RemoteMemoryScenarios();
std::span<const Scenario> MessageScenarios();
std::span<const Scenario> TeardownScenarios();

// All of them.
std::span<const Scenario> Scenarios();
// nullptr: there is none of this name.
const Scenario* FindScenario(std::string_view name);

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_SCENARIO_H_
