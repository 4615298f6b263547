// SPDX-License-Identifier: BSD-3-Clause
// One run of a scenario under one plan of faults.

#ifndef RPMA_API_TESTING_FAULT_RUN_H_
#define RPMA_API_TESTING_FAULT_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/rpma_testing.h"

namespace rpma_testing {

struct Failure {
  std::string file = {};  // "" if it has no place in the program
  int line = 0;
  std::string text = {};
};

struct RunOutcome {
  uint64_t fired = 0;
  std::vector<Failure> failures;
  std::string log;  // what librpma logged
};

// Runs the scenario on a fabric of its own, as ForEachFault() says. A plan that
// is none is a failure, too.
RunOutcome RunUnderPlan(const std::function<void()>& scenario,
                        const FaultSweepOptions& options,
                        const std::string& plan, bool echo_to_stderr);

}  // namespace rpma_testing

#endif  // RPMA_API_TESTING_FAULT_RUN_H_
