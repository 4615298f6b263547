// SPDX-License-Identifier: BSD-3-Clause
// The eventfd behind a queue of events.

#include "emulator/event_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "emulator/far_link.h"
#include "emulator/no_cancellation.h"

namespace rpma::emu {

EventFd::~EventFd() {
  const NoCancellation none;
  if (fd_ >= 0) close(fd_);
}

int EventFd::Open() {
  owner_ = getpid();
  fd_ = eventfd(0, EFD_CLOEXEC);
  return fd_ >= 0 ? 0 : errno;
}

void EventFd::Signal() {
  if (getpid() != owner_) return;
  const NoCancellation none;
  eventfd_write(fd_, 1);
}

void EventFd::Clear() {
  if (getpid() != owner_) return;
  const NoCancellation none;
  eventfd_t count;
  eventfd_read(fd_, &count);
}

int EventFd::MayBlock() const {
  const int flags = fcntl(fd_, F_GETFL);
  if (flags < 0) return errno;
  return (flags & O_NONBLOCK) != 0 ? EAGAIN : 0;
}

int EventFd::Wait(Progress* progress,
                  const std::function<bool()>* has_event) const {
  if (const int error = MayBlock(); error != 0) return error;
  if (progress != nullptr) return progress->Wait(fd_, has_event);
  pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&readable, 1, /*timeout=*/-1) < 0 ? errno : 0;
}

int EventFd::WaitStepping(Scheduler& scheduler, const Waiting& waiting) const {
  const int error = MayBlock();
  if (error == 0) return scheduler.Await(waiting);
  scheduler.Step();
  return waiting.is_over() ? 0 : error;
}

}  // namespace rpma::emu
