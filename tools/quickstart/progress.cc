// SPDX-License-Identifier: BSD-3-Clause
// Draws the bar.

#include "tools/quickstart/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace rpma::quickstart {
namespace {

constexpr int kBarWidth = 30;  // the whole line stays below 80 columns
constexpr std::chrono::milliseconds kRedraw(50);

}  // namespace

std::string Mebibytes(uint64_t bytes) {
  char text[32];
  snprintf(text, sizeof text, "%.1f MiB",
           static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::string Rate(uint64_t bytes, Clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  char text[32];
  snprintf(
      text, sizeof text, "%.1f MiB/s",
      seconds > 0 ? static_cast<double>(bytes) / (1 << 20) / seconds : 0.0);
  return text;
}

Progress::Progress(std::string label, uint64_t total)
    : label_(std::move(label)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0) {
  if (terminal_) Draw();
}

Progress::~Progress() {
  if (terminal_ && done_ < total_) fputc('\n', stderr);
}

void Progress::Advance(uint64_t bytes) {
  done_ += bytes;
  if (done_ == total_) {
    Draw();
    fputc('\n', stderr);
  } else if (terminal_ && Clock::now() >= next_draw_) {
    Draw();
    next_draw_ = Clock::now() + kRedraw;
  }
}

void Progress::Draw() const {
  const double part = static_cast<double>(done_) / static_cast<double>(total_);
  std::string line = terminal_ ? "\r" : "";
  line += label_;
  if (terminal_) {
    const int filled = static_cast<int>(part * kBarWidth);
    line += " [" + std::string(static_cast<size_t>(filled), '#') +
            std::string(static_cast<size_t>(kBarWidth - filled), '.') + "]";
  }
  // Fixed widths: a shorter text would leave the rest of the longer one behind.
  fprintf(stderr, "%s %3.0f %%  %11s  %13s", line.c_str(), part * 100,
          Mebibytes(done_).c_str(), Rate(done_, elapsed()).c_str());
  fflush(stderr);
}

}  // namespace rpma::quickstart
