// SPDX-License-Identifier: BSD-3-Clause
// An owned file descriptor.

#ifndef RPMA_EMULATOR_WIRE_DESCRIPTOR_H_
#define RPMA_EMULATOR_WIRE_DESCRIPTOR_H_

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "emulator/no_cancellation.h"

namespace rpma::emu::wire {

// Closes a descriptor once, in no cancellation point, and keeps errno.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { Close(); }

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  void Close() {
    if (fd_ < 0) return;
    const NoCancellation none;
    const int error = errno;
    close(std::exchange(fd_, -1));
    errno = error;
  }

 private:
  int fd_ = -1;
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_DESCRIPTOR_H_
