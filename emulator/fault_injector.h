// SPDX-License-Identifier: BSD-3-Clause
// Decides which fault acts where: counts requests, messages, events and
// completions as they come, and compares with the faults that were set.

#ifndef RPMA_EMULATOR_FAULT_INJECTOR_H_
#define RPMA_EMULATOR_FAULT_INJECTOR_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/faults.h"

namespace rpma::emu {

class Device;
class DeviceEnvironment;

// The fault that acts at a site.
struct Injection {
  FaultAction action = FaultAction::kDrop;
  bool response = false;
  ibv_wc_status status = IBV_WC_SUCCESS;
  rdma_cm_event_type as = RDMA_CM_EVENT_ADDR_RESOLVED;
  std::chrono::nanoseconds time{0};  // as on hardware
  size_t rule = 0;
  // Some fault would act, but the caller asked to hold: nothing was counted,
  // and it asks again.
  bool held = false;
};

// One for a fabric. The sites ask it only while it is active(), which is all
// that faults cost as long as there are none.
//
// Threads: all calls, any thread, under any lock of the emulator: its own is
// one of the last.
class FaultInjector {
 public:
  using FindDevice = std::function<Device*(std::string_view name)>;

  explicit FaultInjector(DeviceEnvironment& environment);
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;
  ~FaultInjector();  // REQUIRES: no timer is under way (TimerQueue::Stop())

  // As Fabric has them. They throw std::bad_alloc, with no effect.
  int Set(std::vector<Fault> faults, const FindDevice& find,
          std::string* error);
  void Clear();
  FaultCounts counts() const;
  uint64_t fired(size_t index) const;
  int Inject(const Fault& action, const FindDevice& find, std::string* error);

  // False: there is nothing to ask, nor to look for at devices.
  bool active() const { return active_.load(std::memory_order_relaxed); }

  // Faults did something to devices that
  // DeviceEnvironment::FinishDeviceFaults() has to finish once the caller holds
  // no lock.
  bool unfinished() const { return unfinished_.load(); }
  // Tells whoever finishes it; false: somebody else does.
  bool TakeUnfinished() { return unfinished_.exchange(false); }

  // --- The sites. Each counts and returns the fault that acts, if any does.

  struct Try {
    FaultSite site = FaultSite::kSend;
    const Device* requester = nullptr;
    const Device* responder = nullptr;
    bool first = true;           // of this request
    bool needs_receive = false;  // and meets RNR NAKs
  };
  // With `hold` nothing may come of the try but success. RNR NAKs come after
  // what other faults do.
  std::optional<Injection> OnTry(const Try& a_try, bool hold);
  // A message of another process, where OnTry() was asked, needs a receive of
  // `receiver`. RNR NAKs are answered here.
  std::optional<Injection> OnArrival(const Device& receiver, bool first,
                                     bool hold);
  // A message is about to consume a receive.
  std::optional<Injection> OnReceive(const Device& receiver, bool hold);
  std::optional<Injection> OnCmMessage(FaultSite site, const Device& sender);
  std::optional<Injection> OnCmEvent(rdma_cm_event_type type);
  bool OnCompletionEvent();  // true: it names a CQ that is nobody's
  bool OnCompletion();       // true: it finds its CQ full

 private:
  struct Entry;
  struct Plan;

  // REQUIRES: the mutex is held, here and below.
  std::unique_ptr<Entry> MakeEntry(Fault fault, const FindDevice& find,
                                   std::string* error);
  // Whether a fault is due of those that fit, in the eyes of a predicate.
  template <typename Fits>
  bool IsDue(Fits fits) const;
  // Counts what fits. Returns the first that is due, or nothing.
  template <typename Fits>
  std::optional<Injection> Visit(Fits fits);
  bool MeetsRnrNak(const Try& a_try) const;
  std::optional<Injection> VisitRnr(const Try& a_try);
  // Just before a message of the fabric: faults of devices that are due.
  void BeforeMessage();
  void Apply(const Fault& fault, Device& device);

  DeviceEnvironment& environment_;
  std::atomic<bool> active_{false};
  std::atomic<bool> unfinished_{false};

  mutable std::mutex mutex_;
  std::shared_ptr<Plan> plan_;   // guarded by mutex_, as all below
  bool device_touched_ = false;  // some device is, or was, not as usual
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_FAULT_INJECTOR_H_
