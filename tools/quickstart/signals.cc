// SPDX-License-Identifier: BSD-3-Clause
// SIGINT and SIGTERM through a signalfd(2), polled beside other descriptors.

#include "tools/quickstart/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

int Poll(std::vector<pollfd>* fds, int timeout_ms) {
  int ready;
  do {
    ready = poll(fds->data(), fds->size(), timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) throw Failure(Text("poll failed: ", strerror(errno)));
  return ready;
}

// Consumes the signal: left pending, it would kill the process once unblocked.
[[noreturn]] void ThrowSignal(int fd) {
  signalfd_siginfo info;
  if (read(fd, &info, sizeof info) != sizeof info) {
    throw Failure(Text("cannot read a signal: ", strerror(errno)));
  }
  const int number = static_cast<int>(info.ssi_signo);
  throw Failure(Text("interrupted by SIG", sigabbrev_np(number),
                     "; nothing is left behind"),
                kExitSignal + number);
}

}  // namespace

Signals::Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
  if (fd_ < 0) throw Failure(Text("signalfd failed: ", strerror(errno)));
  pthread_sigmask(SIG_BLOCK, &signals, &previous_);
}

Signals::~Signals() {
  close(fd_);
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void Signals::Check() const {
  std::vector<pollfd> polled = {{fd_, POLLIN, 0}};
  if (Poll(&polled, 0) > 0) ThrowSignal(fd_);
}

int Signals::WaitReadable(std::initializer_list<int> fds) const {
  std::vector<pollfd> polled = {{fd_, POLLIN, 0}};
  for (const int fd : fds) polled.push_back({fd, POLLIN, 0});
  Poll(&polled, -1);
  if (polled.front().revents != 0) ThrowSignal(fd_);
  for (const pollfd& one : polled) {
    if (one.revents != 0) return one.fd;
  }
  throw Failure("poll failed: no descriptor is ready");
}

}  // namespace rpma::quickstart
