// SPDX-License-Identifier: BSD-3-Clause
// The descriptor behind a queue of events (completion channel, CM event
// channel, async events), with the semantics a program sees on the kernel's.

#ifndef RPMA_EMULATOR_EVENT_FD_H_
#define RPMA_EMULATOR_EVENT_FD_H_

#include <sys/types.h>

#include <functional>

#include "emulator/scheduler.h"

namespace rpma::emu {

class Progress;

// An eventfd that is non-zero exactly while its owner's queue is not empty. The
// owner's lock is held around Signal() and Clear(); the queue is the truth.
// Only Wait() is a cancellation point. A child of fork(2), which has the same
// descriptor, neither signals nor clears it: it is its parent's.
class EventFd {
 public:
  EventFd() = default;
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;
  ~EventFd();

  // Returns 0, or the errno of eventfd(2) (EMFILE, ENFILE, ENOMEM).
  int Open();
  int fd() const { return fd_; }

  // An event was pushed. Adds 1, so that every event is an edge for EPOLLET.
  void Signal();
  // The queue became empty. REQUIRES: at least one Signal() since the last
  // Clear(); so the read never blocks.
  void Clear();

  // For a caller that found the queue empty and holds no lock: sleeps in
  // poll(2) until the descriptor is readable (0), a signal handler ran (EINTR),
  // or returns EAGAIN at once when the user set O_NONBLOCK on the descriptor.
  // With `progress`: waits in its Wait(), with `has_event`, if that is given,
  // which says whether the queue has one.
  int Wait(Progress* progress = nullptr,
           const std::function<bool()>* has_event = nullptr) const;
  // The same in a stepped world: makes steps until the wait for an event is
  // over (0) or cannot end (EDEADLK); or makes one step, and returns EAGAIN if
  // that did not bring the event, when the user set O_NONBLOCK.
  int WaitStepping(Scheduler& scheduler, const Waiting& waiting) const;

 private:
  // Whether the user set O_NONBLOCK: 0, EAGAIN: yes, or an errno of fcntl(2).
  int MayBlock() const;

  int fd_ = -1;
  pid_t owner_ = 0;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_EVENT_FD_H_
