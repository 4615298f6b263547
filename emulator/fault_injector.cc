// SPDX-License-Identifier: BSD-3-Clause
// Decides which fault acts where.

#include "emulator/fault_injector.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "emulator/device.h"
#include "emulator/timer.h"

namespace rpma::emu {
namespace {

bool IsOfDevice(FaultAction action) {
  return action == FaultAction::kLink || action == FaultAction::kExit ||
         action == FaultAction::kPowerOff || action == FaultAction::kRemove;
}

bool IsOfEvent(FaultAction action) {
  return action == FaultAction::kShowEventAs ||
         action == FaultAction::kEventAhead ||
         action == FaultAction::kDelayEvent;
}

bool IsRequest(FaultSite site) {
  return site >= FaultSite::kSend && site <= FaultSite::kAnyRequest;
}

bool IsCmMessage(FaultSite site) { return site >= FaultSite::kReq; }

bool NeedsTime(FaultAction action) {
  return action == FaultAction::kDelay || action == FaultAction::kRnr ||
         action == FaultAction::kDelayEvent;
}

// nullptr: nothing.
const char* WrongWith(const Fault& fault) {
  if (fault.nth == 0) return "the first has the number 1";
  if (NeedsTime(fault.action) && fault.time.count() <= 0) {
    return "a delay needs a time";
  }
  switch (fault.action) {
    case FaultAction::kComplete:
      if (fault.status == IBV_WC_SUCCESS) return "SUCCESS is no fault";
      if (!IsRequest(fault.site) && fault.site != FaultSite::kReceive) {
        return "only requests and receives complete";
      }
      return nullptr;
    case FaultAction::kDrop:
    case FaultAction::kDelay:
    case FaultAction::kDuplicate:
      if (!IsRequest(fault.site) && !IsCmMessage(fault.site)) {
        return "only requests and CM messages travel";
      }
      if (fault.response && !IsRequest(fault.site)) {
        return "a CM message has no response";
      }
      return nullptr;
    case FaultAction::kShowEventAs:
      return fault.as == RDMA_CM_EVENT_CONNECT_REQUEST
                 ? "no other event brings the id of a CONNECT_REQUEST"
                 : nullptr;
    default:
      return IsOfDevice(fault.action) && fault.from
                 ? "it happens to a device once"
                 : nullptr;
  }
}

}  // namespace

struct FaultInjector::Entry {
  bool IsDueNext() const {
    return fault.from ? seen + 1 >= fault.nth : seen + 1 == fault.nth;
  }
  bool IsOf(const Device* by) const {
    return device == nullptr || device == by;
  }
  bool AnswersRnr(const FaultInjector::Try& a_try) const {
    return fault.action == FaultAction::kRnr && a_try.needs_receive &&
           IsOf(a_try.responder);
  }
  Injection Act() const {
    return {.action = fault.action,
            .response = fault.response,
            .status = fault.status,
            .as = fault.as,
            .time = fault.time,
            .rule = fault.rule};
  }

  Fault fault;
  Device* device = nullptr;  // nullptr: any
  uint64_t seen = 0;
  uint64_t fired = 0;
  // Of kRnr: until the timer expires, every message meets an RNR NAK.
  bool answers_rnr = false;
  std::unique_ptr<Timer> end_of_rnr;
};

struct FaultInjector::Plan {
  std::vector<std::unique_ptr<Entry>> entries;
  FaultCounts counts;
};

FaultInjector::FaultInjector(DeviceEnvironment& environment)
    : environment_(environment) {}

FaultInjector::~FaultInjector() = default;

std::unique_ptr<FaultInjector::Entry> FaultInjector::MakeEntry(
    Fault fault, const FindDevice& find, std::string* error) {
  if (const char* const wrong = WrongWith(fault)) {
    *error = wrong;
    return nullptr;
  }
  auto entry = std::make_unique<Entry>();
  if (!fault.device.empty() || IsOfDevice(fault.action)) {
    entry->device = find(fault.device);
    if (entry->device == nullptr) {
      *error = "there is no device \"" + fault.device + "\"";
      return nullptr;
    }
  }
  entry->fault = std::move(fault);
  return entry;
}

int FaultInjector::Set(std::vector<Fault> faults, const FindDevice& find,
                       std::string* error) {
  auto plan = std::make_shared<Plan>();
  for (Fault& fault : faults) {
    std::unique_ptr<Entry> entry = MakeEntry(std::move(fault), find, error);
    if (entry == nullptr) return EINVAL;
    if (entry->fault.action == FaultAction::kRnr) {
      entry->end_of_rnr = std::make_unique<Timer>(
          environment_.timers(),
          [this, weak = std::weak_ptr<Plan>(plan), of = entry.get()] {
            const std::shared_ptr<Plan> alive = weak.lock();
            const std::lock_guard lock(mutex_);
            if (alive != nullptr) of->answers_rnr = false;
          });
    }
    plan->entries.push_back(std::move(entry));
  }
  const std::lock_guard lock(mutex_);
  plan_.swap(plan);
  active_ = true;
  return 0;
}

void FaultInjector::Clear() {
  std::shared_ptr<Plan> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(plan_);
  active_ = device_touched_;
}

FaultCounts FaultInjector::counts() const {
  const std::lock_guard lock(mutex_);
  return plan_ != nullptr ? plan_->counts : FaultCounts{};
}

uint64_t FaultInjector::fired(size_t index) const {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr || index >= plan_->entries.size()) return 0;
  return plan_->entries[index]->fired;
}

int FaultInjector::Inject(const Fault& action, const FindDevice& find,
                          std::string* error) {
  if (!IsOfDevice(action.action)) {
    *error = "only what happens to a device can be injected";
    return EINVAL;
  }
  const std::unique_ptr<Entry> entry = MakeEntry(action, find, error);
  if (entry == nullptr) return EINVAL;
  const std::lock_guard lock(mutex_);
  Apply(entry->fault, *entry->device);
  return 0;
}

template <typename Fits>
bool FaultInjector::IsDue(Fits fits) const {
  return std::ranges::any_of(plan_->entries, [&](const auto& entry) {
    return fits(*entry) && entry->IsDueNext();
  });
}

template <typename Fits>
std::optional<Injection> FaultInjector::Visit(Fits fits) {
  Entry* acting = nullptr;
  for (const auto& entry : plan_->entries) {
    if (!fits(*entry)) continue;
    if (acting == nullptr && entry->IsDueNext()) acting = entry.get();
    ++entry->seen;
  }
  if (acting == nullptr) return std::nullopt;
  ++acting->fired;
  ++plan_->counts.fired;
  return acting->Act();
}

void FaultInjector::BeforeMessage() {
  for (const auto& entry : plan_->entries) {
    if (!IsOfDevice(entry->fault.action)) continue;
    if (entry->IsDueNext()) {
      Apply(entry->fault, *entry->device);
      ++entry->fired;
      ++plan_->counts.fired;
    }
    ++entry->seen;
  }
}

void FaultInjector::Apply(const Fault& fault, Device& device) {
  device_touched_ = true;
  active_ = true;
  DeviceHealth& health = device.health();
  switch (fault.action) {
    case FaultAction::kLink:
      health.SetLink(fault.link_up, fault.time);
      break;
    case FaultAction::kExit:
      health.EndProcess();
      break;
    case FaultAction::kPowerOff:
      health.PowerOff();
      break;
    default:
      health.Remove();
      break;
  }
  unfinished_ = true;
}

bool FaultInjector::MeetsRnrNak(const Try& a_try) const {
  return std::ranges::any_of(plan_->entries, [&](const auto& entry) {
    return entry->AnswersRnr(a_try) &&
           (entry->answers_rnr || (a_try.first && entry->IsDueNext()));
  });
}

std::optional<Injection> FaultInjector::VisitRnr(const Try& a_try) {
  const Entry* acting = nullptr;
  for (const auto& entry : plan_->entries) {
    if (!entry->AnswersRnr(a_try)) continue;
    if (a_try.first && entry->IsDueNext()) {
      // Without a timer the time counts as passed.
      entry->answers_rnr =
          entry->end_of_rnr->Arm(environment_.Scale(entry->fault.time));
      ++entry->fired;
      ++plan_->counts.fired;
    }
    if (a_try.first) ++entry->seen;
    if (entry->answers_rnr) acting = entry.get();
  }
  if (acting == nullptr) return std::nullopt;
  return acting->Act();
}

std::optional<Injection> FaultInjector::OnTry(const Try& a_try, bool hold) {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr) return std::nullopt;
  const auto fits = [&](const Entry& entry) {
    return (entry.fault.site == a_try.site ||
            entry.fault.site == FaultSite::kAnyRequest) &&
           entry.IsOf(a_try.requester);
  };
  if (hold && (IsDue(fits) || MeetsRnrNak(a_try))) {
    return Injection{.held = true};
  }
  ++plan_->counts.requests;
  BeforeMessage();
  const std::optional<Injection> rnr = VisitRnr(a_try);
  const std::optional<Injection> injection = Visit(fits);
  return injection.has_value() ? injection : rnr;
}

std::optional<Injection> FaultInjector::OnArrival(const Device& receiver,
                                                  bool first, bool hold) {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr) return std::nullopt;
  const Try arrival{
      .responder = &receiver, .first = first, .needs_receive = true};
  if (hold && MeetsRnrNak(arrival)) return Injection{.held = true};
  return VisitRnr(arrival);
}

std::optional<Injection> FaultInjector::OnReceive(const Device& receiver,
                                                  bool hold) {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr) return std::nullopt;
  const auto fits = [&](const Entry& entry) {
    return entry.fault.site == FaultSite::kReceive && entry.IsOf(&receiver);
  };
  if (hold && IsDue(fits)) return Injection{.held = true};
  return Visit(fits);
}

std::optional<Injection> FaultInjector::OnCmMessage(FaultSite site,
                                                    const Device& sender) {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr) return std::nullopt;
  ++plan_->counts.messages;
  BeforeMessage();
  return Visit([&](const Entry& entry) {
    return entry.fault.site == site && entry.IsOf(&sender);
  });
}

std::optional<Injection> FaultInjector::OnCmEvent(rdma_cm_event_type type) {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr) return std::nullopt;
  ++plan_->counts.events;
  return Visit([&](const Entry& entry) {
    return IsOfEvent(entry.fault.action) && entry.fault.event == type;
  });
}

bool FaultInjector::OnCompletionEvent() {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr) return false;
  return Visit([](const Entry& entry) {
           return entry.fault.action == FaultAction::kForeignCq;
         })
      .has_value();
}

bool FaultInjector::OnCompletion() {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr) return false;
  ++plan_->counts.completions;
  return Visit([](const Entry& entry) {
           return entry.fault.action == FaultAction::kOverrun;
         })
      .has_value();
}

}  // namespace rpma::emu
