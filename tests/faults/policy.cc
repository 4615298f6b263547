// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/policy.h"

namespace rpma::faults {
namespace {

bool Contains(std::string_view plan, std::string_view text) {
  return plan.find(text) != std::string_view::npos;
}

}  // namespace

Policy PolicyFor(std::string_view plan) {
  Policy policy;
  const bool link = Contains(plan, "link ");
  const bool exit = Contains(plan, "exit ");
  const bool power = Contains(plan, "power ");
  const bool remove = Contains(plan, "remove ");
  policy.fails_calls = plan.empty() || plan.starts_with("fail ");
  policy.fails_once =
      policy.fails_calls && !Contains(plan, "from=") && !Contains(plan, ";");
  // All tries of a message of the connection manager are lost, or one that an
  // id that is destroyed at once sends just once.
  const bool unheard = plan.starts_with("drop ") &&
                       (Contains(plan, "from=") || Contains(plan, "REJ") ||
                        Contains(plan, "DREQ"));
  policy.silent = link || power || remove || unheard;
  policy.overcome =
      !unheard && (plan.starts_with("drop ") || plan.starts_with("delay ") ||
                   plan.starts_with("duplicate ") || plan.starts_with("rnr "));
  policy.loses_completions = Contains(plan, "overrun");
  if (exit || power || remove) {
    policy.dead = Contains(plan, kClientDevice) ? Role::kClient : Role::kServer;
  }
  const bool for_good = link && !Contains(plan, "time=");
  policy.heals = !for_good && !power && !remove;
  return policy;
}

}  // namespace rpma::faults
