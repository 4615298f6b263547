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
  std::vector<fault::Rule> rules;
  if (!fault::ParsePlan(plan, &rules, error)) return EINVAL;
  std::vector<fault::CallFault> of_calls;
  for (const fault::Rule& rule : rules) {
    const auto* const of_call = std::get_if<fault::CallFault>(&rule);
    if (of_call == nullptr) {
      *error = "\"" + fault::ToText(rule) +
               "\": faults of the network cannot be set";
      return EINVAL;
    }
    of_calls.push_back(*of_call);
  }
  const std::lock_guard lock(mutex_);
  calls_.SetPlan(of_calls);
  rules_ = std::move(rules);
  return 0;
}

int FaultControl::SetFromFile(const char* path, std::string* error) {
  std::string text;
  std::string why;
  const int unreadable = ReadFile(path, &text);
  if (unreadable != 0) {
    why = log::Reason(Errno{unreadable});
  } else if (Set(text, &why) == 0) {
    return 0;
  }
  *error = std::string(path) + ": " + why;
  return EINVAL;
}

void FaultControl::Clear() {
  const std::lock_guard lock(mutex_);
  calls_.ClearPlan();
  rules_.clear();
}

uint64_t FaultControl::FiredBy(size_t rule) const {
  return calls_.FiredBy(rule);
}

rpma_emu_fault_counts FaultControl::Counts() const {
  const std::lock_guard lock(mutex_);
  rpma_emu_fault_counts counts{};
  counts.calls = calls_.CountOfAll();
  for (size_t i = 0; i < rules_.size(); ++i) counts.fired += FiredBy(i);
  return counts;
}

bool FaultControl::GetFired(size_t rule, uint64_t* fired) const {
  const std::lock_guard lock(mutex_);
  if (rule >= rules_.size()) return false;
  *fired = FiredBy(rule);
  return true;
}

void FaultControl::LogUnfired() const {
  std::vector<std::string> unfired;
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (FiredBy(i) != 0) continue;
      unfired.push_back("rule " + std::to_string(i) + " of the plan of faults" +
                        " (" + fault::ToText(rules_[i]) + ") has not fired");
    }
  }
  for (const std::string& text : unfired) {
    RPMA_LOG(WARNING, "%s", text.c_str());
  }
}

}  // namespace rpma
