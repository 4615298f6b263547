// SPDX-License-Identifier: BSD-3-Clause
// The eventfd behind a queue of events.

#include "emulator/event_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "emulator/no_cancellation.h"

namespace rpma::emu {

EventFd::~EventFd() {
  const NoCancellation none;
  if (fd_ >= 0) close(fd_);
}

int EventFd::Open() {
  fd_ = eventfd(0, EFD_CLOEXEC);
  return fd_ >= 0 ? 0 : errno;
}

void EventFd::Signal() {
  const NoCancellation none;
  eventfd_write(fd_, 1);
}

void EventFd::Clear() {
  const NoCancellation none;
  eventfd_t count;
  eventfd_read(fd_, &count);
}

int EventFd::Wait() const {
  const int flags = fcntl(fd_, F_GETFL);
  if (flags < 0) return errno;
  if (flags & O_NONBLOCK) return EAGAIN;
  pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&readable, 1, /*timeout=*/-1) < 0 ? errno : 0;
}

}  // namespace rpma::emu
