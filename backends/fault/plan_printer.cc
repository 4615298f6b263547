// SPDX-License-Identifier: BSD-3-Clause
// From the rules of a plan to its text.

#include "backends/fault/plan.h"
#include "backends/fault/plan_names.h"

namespace rpma::fault {
namespace {

void Add(std::string_view name, std::string_view value, std::string* text) {
  (*text += ' ').append(name).append("=").append(value);
}

void AddNumber(uint64_t nth, bool and_later, std::string* text) {
  if (and_later) {
    Add("from", std::to_string(nth), text);
  } else if (nth != 1) {
    Add("nth", std::to_string(nth), text);
  }
}

std::string TextOf(const CallFault& fault) {
  std::string text = "fail ";
  text += fault.call.has_value() ? NameOf(*fault.call) : kAny;
  AddNumber(fault.nth, fault.and_later, &text);
  if (fault.error == Errno::kNoCause) {
    Add("errno", kNoCauseName, &text);
  } else if (fault.error != CallFault().error) {
    Add("errno", NameOfErrno(fault.error), &text);
  }
  if (fault.outcome != Outcome::kNoEffect) {
    Add("outcome", FindName(kOutcomes, fault.outcome), &text);
  }
  return text;
}

}  // namespace

std::string ToText(const Rule& rule) {
  return std::visit([](const auto& fault) { return TextOf(fault); }, rule);
}

std::string ToText(const std::vector<Rule>& rules) {
  std::string text;
  for (const Rule& rule : rules) text.append(ToText(rule)).append("\n");
  return text;
}

}  // namespace rpma::fault
