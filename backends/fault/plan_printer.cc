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

std::string TextOf(std::chrono::nanoseconds time) {
  for (const auto& [name, unit] : kTimeUnits) {
    if (time % unit == time.zero()) {
      return std::to_string(time / unit) + std::string(name);
    }
  }
  return {};
}

std::string_view NameOf(emu::FaultSite site) {
  for (const std::string_view name :
       {FindName(kRequests, site), FindName(kReceives, site),
        FindName(kMessages, site)}) {
    if (!name.empty()) return name;
  }
  return {};
}

bool IsOfEvent(emu::FaultAction action) {
  return action == emu::FaultAction::kShowEventAs ||
         action == emu::FaultAction::kEventAhead ||
         action == emu::FaultAction::kDelayEvent;
}

// "VERB" or "VERB OBJECT"
std::string StartOf(const emu::Fault& fault) {
  std::string text;
  if (IsOfEvent(fault.action)) {
    return text.append("event ").append(FindName(kEvents, fault.event));
  }
  text += FindName(kFaultVerbs, fault.action);
  if (fault.site != emu::FaultSite::kNone) {
    text.append(" ").append(NameOf(fault.site));
  }
  return text;
}

std::string TextOf(const emu::Fault& fault) {
  using emu::FaultAction;
  std::string text = StartOf(fault);
  const bool of_device = fault.action >= FaultAction::kLink;
  if (of_device) Add("device", fault.device, &text);
  if (fault.action == FaultAction::kLink) {
    Add("state", FindName(kLinkUp, fault.link_up), &text);
  }
  if (fault.action == FaultAction::kComplete) {
    Add("status", FindName(kStatuses, fault.status), &text);
  }
  if (fault.action == FaultAction::kShowEventAs) {
    Add("as", FindName(kEvents, fault.as), &text);
  }
  if (fault.action == FaultAction::kEventAhead) text += " ahead";
  if (fault.response) Add("what", FindName(kResponse, true), &text);
  if (fault.time != fault.time.zero()) {
    const bool of_event = fault.action == FaultAction::kDelayEvent;
    Add(of_event ? "delay" : "time", TextOf(fault.time), &text);
  }
  AddNumber(fault.nth, fault.from, &text);
  if (!of_device && !fault.device.empty()) Add("device", fault.device, &text);
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
