// SPDX-License-Identifier: BSD-3-Clause
// The faults of a run: rules of a plan, with what the model has to know.

#ifndef RPMA_TESTS_SIM_FAULT_PLAN_H_
#define RPMA_TESTS_SIM_FAULT_PLAN_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/objects.h"
#include "tests/sim/random.h"

namespace rpma::sim {

enum class FaultKind : uint8_t {
  kCall,             // a provider call fails
  kComplete,         // a request completes with a status
  kCompleteReceive,  // so does a receive
  kHindrance,        // a try of a request fails or is late; retries help
  kLoss,             // all tries of requests are lost
  kCmHindrance,      // a CM message is late or has to be sent again
  kCmLoss,           // all tries of it are lost
  kEventAs,          // an event looks like one that no program should get
  kEventOrder,       // an event comes too early or too late
  kForeignCq,
  kOverrun,
  kLink,
  kExit,
  kPower,
  kRemove,
};

struct FaultRule {
  FaultKind kind = FaultKind::kCall;
  std::string text;
  std::string call = {};                      // kCall
  ibv_wc_status status = IBV_WC_SUCCESS;      // kComplete...
  std::optional<OpKind> op = std::nullopt;    // kComplete: any
  std::optional<size_t> node = std::nullopt;  // any
  bool loses_answers = false;   // what has taken effect may seem to have not
  bool ends_patience = false;   // who waits for the other side gives up one day
  bool loses_goodbyes = false;  // of those that go, and say them only once
};

// Draws a few rules for a fabric of `nodes` devices, often none of a sort.
std::vector<FaultRule> DrawPlan(Random& random, size_t nodes);

// The plan in the language of docs/fault-plans.md, rules separated by "; ".
std::string ToText(const std::vector<FaultRule>& plan);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_FAULT_PLAN_H_
