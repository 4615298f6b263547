// SPDX-License-Identifier: BSD-3-Clause
// What is still alive because the call that should have destroyed it failed.

#ifndef RPMA_BACKENDS_FAULT_SURVIVORS_H_
#define RPMA_BACKENDS_FAULT_SURVIVORS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "backends/fault/call.h"
#include "core/transport.h"

namespace rpma::fault {

// Remembers up to kMost objects and events of one Transport, without
// allocating, by the call that destroys them. Those beyond are forgotten.
//
// Threads: every call may be made from any thread. No lock is held while the
// Transport is called.
class Survivors {
 public:
  static constexpr size_t kMost = 256;

  // REQUIRES: `transport`, which the objects belong to, outlives this.
  explicit Survivors(Transport& transport) : transport_(transport) {}

  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  void Add(Call call, void* handle);
  void Remove(Call call, const void* handle);

  // Destroys those that nobody can destroy once `id` is gone, its queue pair,
  // or that would block its destruction, its events.
  void FreeThoseOf(const rdma_cm_id* id);

  // Whether ids among the survivors are on the channel. Then it is added, too.
  bool Need(rdma_event_channel* channel);

  enum class Scope {
    kGivenUp,  // all but PDs, which no caller gives up
    kAll,      // and the event channels that ids among them are on
  };
  // Destroys them. False: some are in use, and stay.
  bool Free(Scope scope);

 private:
  struct Survivor {
    Call call = Call::kDestroyId;
    void* handle = nullptr;
    const rdma_cm_id* event_of = nullptr;  // the id an event is accounted to
  };

  // The first from `index` on for which `fits`, a predicate, holds.
  // REQUIRES: the lock is held.
  template <typename Fits>
  size_t Find(Fits fits) const;  // count_: there is none
  // Removes one for which `fits` holds. False: there is none.
  template <typename Fits>
  bool Take(Fits fits, Survivor* survivor);
  Errno Destroy(const Survivor& survivor);

  Transport& transport_;
  std::mutex mutex_;
  std::array<Survivor, kMost> survivors_;  // guarded by mutex_
  std::atomic<size_t> count_ = 0;          // changed under mutex_
};

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_SURVIVORS_H_
