// SPDX-License-Identifier: BSD-3-Clause
// One run of the simulation: random actions under faults, then, without them,
// everything must come to an end.

#ifndef RPMA_TESTS_SIM_WALK_H_
#define RPMA_TESTS_SIM_WALK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "tests/sim/api.h"
#include "tests/sim/scenario.h"
#include "tests/sim/world.h"

namespace rpma::sim {

struct RunResult {
  bool passed() const { return violation.empty(); }

  std::string violation;    // what was violated; empty: nothing
  std::string scenario;     // what the run was like
  uint64_t hash = 0;        // of all that was done and answered
  uint64_t trace_hash = 0;  // of the history of a stepped fabric
  size_t steps = 0;
  uint64_t fired = 0;                     // faults
  size_t rules = 0;                       // of the plan
  Marks marks;                            // what happened, and how often
  std::deque<std::string> last_lines;     // of the walk
  std::deque<std::string> last_messages;  // of librpma's log
};

// What still fails as `result` says, with as few faults as can be found by
// leaving out one after the other. REQUIRES: `result` is of `options`.
RunOptions Shrunk(const RunOptions& options, const RunResult& result);

// Runs a seed. `listener`, unless empty, gets a line for each call and each
// completion. Nothing of librpma must be in use meanwhile.
RunResult RunSeed(const RunOptions& options, const Api& api = {},
                  const std::function<void(const std::string&)>& listener = {});

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_WALK_H_
