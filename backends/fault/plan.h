// SPDX-License-Identifier: BSD-3-Clause
// The text of a plan of faults, as docs/fault-plans.md describes it.

#ifndef RPMA_BACKENDS_FAULT_PLAN_H_
#define RPMA_BACKENDS_FAULT_PLAN_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/fault/call_fault.h"
#include "emulator/faults.h"

namespace rpma::fault {

// What goes wrong in the provider's interface, or in the network under it.
using Rule = std::variant<CallFault, emu::Fault>;

// Reads the rules of `text`, in order; there may be none. emu::Fault::rule is
// the index in *rules. false: it is wrong;
// *error says where and what is allowed, "line 1, column 6: ...", and *rules is
// unchanged. Throws std::bad_alloc.
bool ParsePlan(std::string_view text, std::vector<Rule>* rules,
               std::string* error);

// Reads what can be done to a device at once: one rule "link", "exit", "power"
// or "remove" without nth. Otherwise as ParsePlan().
bool ParseAction(std::string_view text, emu::Fault* action, std::string* error);

// A text that ParsePlan() reads as the same rule, on one line.
std::string ToText(const Rule& rule);
// The same for a whole plan: a line for each rule.
std::string ToText(const std::vector<Rule>& rules);

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_PLAN_H_
