// SPDX-License-Identifier: BSD-3-Clause
// The queue of a device's asynchronous events.

#ifndef RPMA_EMULATOR_ASYNC_EVENTS_H_
#define RPMA_EMULATOR_ASYNC_EVENTS_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "emulator/event_fd.h"

namespace rpma::emu {

// Keeps the newest kCapacity events. Threads: all calls, any thread.
class AsyncEvents {
 public:
  static constexpr size_t kCapacity = 256;

  int Open();  // 0 or an errno of eventfd(2)
  int fd() const { return event_fd_.fd(); }

  void Push(const ibv_async_event& event);
  // Takes the oldest event and how many were dropped before it since the last
  // call. False: there is none.
  bool Pop(ibv_async_event* event, uint32_t* dropped);
  // Drops the events of an object that goes away.
  void Retract(const void* object);

 private:
  std::mutex mutex_;
  EventFd event_fd_;
  std::array<ibv_async_event, kCapacity> ring_;  // guarded, as all below
  size_t first_ = 0;
  size_t count_ = 0;
  uint32_t dropped_ = 0;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_ASYNC_EVENTS_H_
