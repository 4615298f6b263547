// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/faults.h"

#include <algorithm>

#include "tests/sim/violation.h"

namespace rpma::sim {

Faults::Faults(const std::vector<FaultRule>& plan)
    : plan_(plan), counts_(plan.size()) {}

void Faults::Start(rpma_emu_fabric* fabric) {
  if (plan_.empty()) return;
  const std::string text = ToText(plan_);
  Require(rpma_emu_set_faults(fabric, text.c_str()) == 0,
          "the plan is refused: ", text);
  is_on_ = true;
}

void Faults::Stop(rpma_emu_fabric* fabric) {
  if (!is_on_) return;
  is_on_ = false;
  fired_now_.clear();
  Require(rpma_emu_set_faults(fabric, nullptr) == 0,
          "the plan cannot be ended");
  for (const FaultRule& rule : plan_) {
    if (rule.kind != FaultKind::kLink) continue;
    const std::string up = Text("link device=emu", *rule.node, " state=up");
    Require(rpma_emu_inject(fabric, up.c_str()) == 0, "the link stays down");
  }
}

void Faults::Refresh(rpma_emu_fabric* fabric) {
  fired_now_.clear();
  if (!is_on_) return;
  rpma_emu_fault_counts counts;
  Require(rpma_emu_get_fault_counts(fabric, &counts) == 0,
          "nothing is counted");
  if (counts.fired == fired_) return;
  fired_ = counts.fired;
  for (size_t i = 0; i < plan_.size(); ++i) {
    uint64_t fired = 0;
    Require(rpma_emu_get_fired(fabric, i, &fired) == 0, "rule ", i, " is gone");
    if (fired == counts_[i]) continue;
    const uint64_t more = fired - counts_[i];
    counts_[i] = fired;
    const FaultRule& rule = plan_[i];
    fired_now_.push_back(&rule);
    if (rule.kind == FaultKind::kComplete ||
        rule.kind == FaultKind::kCompleteReceive) {
      completions_.insert(completions_.end(), more, rule.status);
    } else if (rule.kind == FaultKind::kEventAs) {
      events_as_ += more;
    }
  }
}

bool Faults::CallFailed() const { return FiredNow(FaultKind::kCall); }

bool Faults::CallFailed(std::string_view name) const {
  return std::any_of(
      fired_now_.begin(), fired_now_.end(), [&](const FaultRule* rule) {
        return rule->kind == FaultKind::kCall && rule->call == name;
      });
}

bool Faults::FiredNow(FaultKind kind) const {
  return std::any_of(fired_now_.begin(), fired_now_.end(),
                     [&](const FaultRule* rule) { return rule->kind == kind; });
}

bool Faults::TakeCompletion(ibv_wc_status status) {
  const auto found =
      std::find(completions_.begin(), completions_.end(), status);
  if (found == completions_.end()) return false;
  completions_.erase(found);
  return true;
}

bool Faults::TakeEventAs() {
  if (events_as_ == 0) return false;
  --events_as_;
  return true;
}

}  // namespace rpma::sim
