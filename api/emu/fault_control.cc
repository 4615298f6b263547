// SPDX-License-Identifier: BSD-3-Clause

#include "api/emu/fault_control.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>
#include <variant>

#include "core/log.h"

namespace rpma {
namespace {

// 0 or an errno.
int ReadFile(const char* path, std::string* text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path, "re"), std::fclose);
  if (file == nullptr) return errno;
  char piece[4096];
  while (const size_t size = std::fread(piece, 1, sizeof(piece), file.get())) {
    text->append(piece, size);
  }
  return std::ferror(file.get()) != 0 ? errno : 0;
}

}  // namespace

int FaultControl::Set(std::string_view plan, std::string* error) {
  std::vector<fault::Rule> parsed;
  if (!fault::ParsePlan(plan, &parsed, error)) return EINVAL;
  std::vector<Rule> rules;
  std::vector<fault::CallFault> of_calls;
  std::vector<emu::Fault> of_network;
  for (const fault::Rule& rule : parsed) {
    if (const auto* const of_call = std::get_if<fault::CallFault>(&rule)) {
      rules.push_back({rule, of_calls.size()});
      of_calls.push_back(*of_call);
    } else {
      rules.push_back({rule, of_network.size()});
      of_network.push_back(std::get<emu::Fault>(rule));
    }
  }
  auto plan_of_calls = fault::FaultInjectingTransport::MakePlan(of_calls);
  const std::lock_guard lock(mutex_);
  const int failed = fabric_.SetFaults(std::move(of_network), error);
  if (failed != 0) return failed;
  calls_.AdoptPlan(std::move(plan_of_calls));
  rules_.swap(rules);
  return 0;
}

int FaultControl::SetFromFile(const char* path, std::string* error) {
  std::string text;
  std::string why;
  int failed = ReadFile(path, &text);
  if (failed != 0) {
    why = log::Reason(Errno{failed});
  } else {
    failed = Set(text, &why);
  }
  if (failed == 0 || failed == ENOMEM) return failed;
  *error = std::string(path) + ": " + why;
  return EINVAL;
}

void FaultControl::Clear() {
  const std::lock_guard lock(mutex_);
  calls_.ClearPlan();
  fabric_.ClearFaults();
  rules_.clear();
}

uint64_t FaultControl::FiredBy(const Rule& rule) const {
  return std::holds_alternative<fault::CallFault>(rule.rule)
             ? calls_.FiredBy(rule.index)
             : fabric_.FaultFired(rule.index);
}

rpma_emu_fault_counts FaultControl::Counts() const {
  const std::lock_guard lock(mutex_);
  const emu::FaultCounts of_network = fabric_.fault_counts();
  rpma_emu_fault_counts counts = {.calls = calls_.CountOfAll(),
                                  .requests = of_network.requests,
                                  .messages = of_network.messages,
                                  .events = of_network.events,
                                  .completions = of_network.completions,
                                  .fired = 0};
  for (const Rule& rule : rules_) counts.fired += FiredBy(rule);
  return counts;
}

bool FaultControl::GetFired(size_t rule, uint64_t* fired) const {
  const std::lock_guard lock(mutex_);
  if (rule >= rules_.size()) return false;
  *fired = FiredBy(rules_[rule]);
  return true;
}

int FaultControl::Inject(std::string_view action, std::string* error) {
  emu::Fault fault;
  if (!fault::ParseAction(action, &fault, error)) return EINVAL;
  return fabric_.Inject(fault, error);
}

void FaultControl::LogUnfired() const {
  std::vector<std::string> unfired;
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (FiredBy(rules_[i]) != 0) continue;
      unfired.push_back("rule " + std::to_string(i) + " of the plan of faults" +
                        " (" + fault::ToText(rules_[i].rule) +
                        ") has not fired");
    }
  }
  for (const std::string& text : unfired) {
    RPMA_LOG(WARNING, "%s", text.c_str());
  }
}

}  // namespace rpma
