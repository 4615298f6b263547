// SPDX-License-Identifier: BSD-3-Clause
// The eventfd behind a queue of events.

#include "emulator/event_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace rpma::emu {
namespace {

// While one lives, the thread cannot be cancelled: read(2), write(2) and
// close(2) are cancellation points, and the owner is in the middle of a change.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace

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
