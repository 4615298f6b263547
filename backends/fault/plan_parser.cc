// SPDX-License-Identifier: BSD-3-Clause
// From the text of a plan to its rules.

#include <algorithm>
#include <span>
#include <utility>

#include "backends/fault/plan.h"
#include "backends/fault/plan_names.h"
#include "backends/fault/plan_rules.h"
#include "backends/fault/plan_words.h"

namespace rpma::fault {
namespace {

constexpr std::string_view kFail = "fail";

constexpr Named<emu::FaultAction> kDeviceVerbs[] = {
    {"link", emu::FaultAction::kLink},
    {"exit", emu::FaultAction::kExit},
    {"power", emu::FaultAction::kPowerOff},
    {"remove", emu::FaultAction::kRemove},
};

bool RefuseVerb(RuleReader& reader, const std::string& allowed) {
  return reader.Refuse(reader.verb(), "there is no rule " +
                                          Quoted(reader.verb().text) +
                                          "; allowed are " + allowed);
}

bool ParseRule(std::span<const Word> words, size_t index, Rule* rule,
               std::string* error) {
  RuleReader reader(words, error);
  if (reader.verb().text == kFail) {
    return ParseCallFault(reader, &rule->emplace<CallFault>());
  }
  emu::FaultAction action{};
  if (!FindValue(kFaultVerbs, reader.verb().text, &action)) {
    return RefuseVerb(reader, std::string(kFail) + ", " + NamesIn(kFaultVerbs));
  }
  auto& fault = rule->emplace<emu::Fault>();
  fault.rule = index;
  return ParseFault(reader, action, &fault);
}

}  // namespace

bool ParsePlan(std::string_view text, std::vector<Rule>* rules,
               std::string* error) {
  std::vector<Rule> parsed;
  for (const std::vector<Word>& words : SplitIntoRules(text)) {
    const size_t index = parsed.size();
    if (!ParseRule(words, index, &parsed.emplace_back(), error)) return false;
  }
  *rules = std::move(parsed);
  return true;
}

bool ParseAction(std::string_view text, emu::Fault* action,
                 std::string* error) {
  const std::vector<std::vector<Word>> rules = SplitIntoRules(text);
  if (rules.empty()) {
    *error = "there is no action; allowed are " + NamesIn(kDeviceVerbs);
    return false;
  }
  if (rules.size() > 1) {
    RuleReader second(rules[1], error);
    return second.Refuse(second.verb(), "allowed is one action");
  }
  RuleReader reader(rules.front(), error);
  emu::FaultAction kind{};
  if (!FindValue(kDeviceVerbs, reader.verb().text, &kind)) {
    return RefuseVerb(reader, NamesIn(kDeviceVerbs));
  }
  emu::Fault parsed;
  if (!ParseDeviceFault(reader, kind, /*at_once=*/true, &parsed)) return false;
  *action = std::move(parsed);
  return true;
}

}  // namespace rpma::fault
