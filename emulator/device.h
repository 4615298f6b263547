// SPDX-License-Identifier: BSD-3-Clause
// An emulated RDMA device: the owner of its verbs objects and limits.

#ifndef RPMA_EMULATOR_DEVICE_H_
#define RPMA_EMULATOR_DEVICE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "emulator/completion_queue.h"
#include "emulator/device_health.h"
#include "emulator/fault_injector.h"
#include "emulator/memory_region.h"
#include "emulator/profile.h"
#include "emulator/queue_pair.h"
#include "emulator/scheduler.h"
#include "emulator/shared_receive_queue.h"
#include "emulator/timer.h"

namespace rpma::emu {

class FarLink;
class Progress;

// In a QP number: from this bit on it is the device's index.
inline constexpr uint32_t kDeviceShift = 16;

// What a device needs of the world around it. All calls come with no lock of
// the emulator held.
class DeviceEnvironment {
 public:
  virtual ~DeviceEnvironment() = default;
  // A QP went to ERR by itself (not by ToError()). On iWARP this ends its
  // connection.
  virtual void QueuePairFailed(uint32_t qp_num) = 0;
  // `level` as in syslog(3): LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_INFO.
  virtual void Log(int level, const char* text) = 0;
  virtual TimerQueue& timers() = 0;
  // Of a stepped world; nullptr: what can execute does so at once.
  virtual Scheduler* scheduler() { return nullptr; }
  // A hardware time as this fabric lets it pass.
  virtual std::chrono::nanoseconds Scale(std::chrono::nanoseconds time) = 0;
  virtual FaultInjector& faults() = 0;
  // What a call does that finds a queue empty; nullptr: there is nothing to do.
  // Whoever sets it back knows that no call is under way.
  virtual std::atomic<Progress*>& progress() = 0;
  // Does what faults left to do at devices (FaultInjector::unfinished()).
  virtual void FinishDeviceFaults() = 0;
};

struct ObjectCensus {
  uint32_t pds = 0;
  uint32_t mrs = 0;
  uint32_t comp_channels = 0;
  uint32_t cqs = 0;
  uint32_t srqs = 0;
  uint32_t qps = 0;
};

// Results are 0 or an errno; on failure no out-parameter is written and nothing
// stays allocated. No call throws (std::bad_alloc becomes ENOMEM). On a device
// that was removed all but destroying fails with EIO.
//
// Threads: all calls, any thread, except the destruction of an object in use.
class Device {
 public:
  // GUIDs and QP numbers are made from `index`, which is unique in the fabric
  // and below 256. Throws std::bad_alloc, std::system_error (async fd, guard
  // page).
  Device(std::string name, const Profile& profile, uint32_t index,
         DeviceEnvironment& environment);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  // REQUIRES: no live objects, and no timer under way (TimerQueue::Stop()).
  ~Device();

  // A genuine context: its ops serve the inline verbs (post, poll, req_notify,
  // query_device_ex, query_port); `priv` of its verbs_context is a guard page.
  ibv_context* context();
  // The device behind a context or, nullptr, if no emulated one is.
  static Device* Of(ibv_context* context);

  const std::string& name() const;
  uint64_t guid() const;  // network byte order
  const Profile& profile() const;
  DeviceEnvironment& environment();
  DeviceHealth& health();
  const DeviceHealth& health() const;
  Scheduler* scheduler() { return environment().scheduler(); }
  MrTable& regions();
  // For a completion event that names it: it is nobody's, and acknowledging its
  // events does nothing.
  CompletionQueue& foreign_cq();

  int AllocPd(ProtectionDomain** pd);
  int DeallocPd(ProtectionDomain* pd);  // EBUSY while it has children

  // EINVAL: length 0, unknown access bits, remote write or atomic without local
  // write, wrap-around; ENOMEM: max_mr, max_mr_size or, which the log tells of,
  // memlock_limit; EOPNOTSUPP: ON_DEMAND or flush rights on a device without,
  // or memory that cannot be pinned; EFAULT: memory that is not mapped, or that
  // the process cannot read or, with LOCAL_WRITE, write. Of more than 16 pages,
  // the right to access is checked of the first and the last; elsewhere, and on
  // Linux before 5.14, its lack is found when a request accesses the memory.
  int RegMr(ProtectionDomain* pd, void* addr, size_t length, unsigned access,
            MemoryRegion** mr);
  int DeregMr(MemoryRegion* mr);
  // As ibv_advise_mr(3). EOPNOTSUPP: the device lacks it; ENOTSUP: unknown
  // advice; EINVAL: unknown flags, no ranges, or a region without ON_DEMAND;
  // EFAULT: bad key or bounds; EPERM: another domain, or prefetch for writing
  // of a region without LOCAL_WRITE. The advice itself has no effect.
  int AdviseMr(ProtectionDomain* pd, int advice, uint32_t flags,
               const ibv_sge* sges, uint32_t num_sge);

  int CreateCompChannel(CompletionChannel** channel);  // EMFILE, ENFILE
  int DestroyCompChannel(CompletionChannel* channel);  // EBUSY: it has CQs

  // EINVAL: cqe < 1 or above max_cqe; ENOMEM: max_cq.
  int CreateCq(int cqe, CompletionChannel* channel, CompletionQueue** cq);
  // Blocks on unacked events. EBUSY: in use; EDEADLK: as GetEvent() of a
  // channel.
  int DestroyCq(CompletionQueue* cq);

  // EINVAL: sizes of 0 or beyond the device's; ENOMEM: max_srq.
  int CreateSrq(ProtectionDomain* pd, uint32_t max_wr, uint32_t max_sge,
                uint32_t srq_limit, SharedReceiveQueue** srq);
  int DestroySrq(SharedReceiveQueue* srq);  // EBUSY: QPs use it

  // In RESET. EINVAL: sizes beyond the device's, objects of another device;
  // ENOMEM: max_qp.
  int CreateQp(ProtectionDomain* pd, const QueuePairAttributes& attributes,
               std::shared_ptr<QueuePair>* qp);
  int DestroyQp(QueuePair* qp);
  std::shared_ptr<QueuePair> FindQp(uint32_t qp_num);

  // What comes of another process, as FarEnds has it: data for a QP of this
  // device, or for one that is not there.
  const char* OnData(FarLink& link, const wire::Message& message,
                     std::span<const std::byte> payload);
  void OnRoom(const FarLink& link);
  void OnEnd(const FarLink& link);

  // Async events go to context()->async_fd; a fixed number is kept, the oldest
  // is dropped beyond, which GetAsyncEvent() logs. Those of a destroyed object
  // are retracted. EAGAIN: none waits, nor after one step if the world is
  // stepped. Raising takes no lock but its own and the scheduler's.
  void RaiseAsyncEvent(const ibv_async_event& event);
  int GetAsyncEvent(ibv_async_event* event);

  // Moves the QPs to ERR whose CQs have overrun. No lock is held.
  void FailOverrunQps();
  // Moves all QPs to ERR; `why`, a sentence, becomes their explanation. No lock
  // is held.
  void EndQps(const char* why);

  ObjectCensus Census() const;

 private:
  struct Impl;
  template <typename Work>
  void ForEachQp(Work work);  // without a lock
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_DEVICE_H_
