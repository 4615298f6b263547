// SPDX-License-Identifier: BSD-3-Clause

#include "tools/sim/progress.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace rpma::sim {
namespace {

constexpr std::chrono::milliseconds kRedraw(100);
constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

Progress::Progress(uint64_t seeds)
    : seeds_(seeds), is_terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::Show(uint64_t done, uint64_t failed) {
  if (!is_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + kRedraw;
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0.0;
  std::fprintf(stderr,
               "%s%" PRIu64 " of %" PRIu64 " seeds, %" PRIu64
               " failed, %.0f a second",
               kClearLine, done, seeds_, failed, rate);
  std::fflush(stderr);
}

void Progress::Clear() {
  if (is_terminal_) std::fputs(kClearLine, stderr);
}

}  // namespace rpma::sim
