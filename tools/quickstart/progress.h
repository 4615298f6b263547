// SPDX-License-Identifier: BSD-3-Clause
// How far a transfer has come, on stderr: a bar on a terminal, and anywhere
// else one line when it is done.

#ifndef RPMA_TOOLS_QUICKSTART_PROGRESS_H_
#define RPMA_TOOLS_QUICKSTART_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace rpma::quickstart {

using Clock = std::chrono::steady_clock;

// MiB, and MiB per second, with one decimal.
std::string Mebibytes(uint64_t bytes);
std::string Rate(uint64_t bytes, Clock::duration time);

class Progress {
 public:
  Progress(std::string label, uint64_t total);  // bytes
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // ends the bar's line if the transfer stopped half-way

  void Advance(uint64_t bytes);
  Clock::duration elapsed() const { return Clock::now() - start_; }

 private:
  void Draw() const;

  const std::string label_;
  const uint64_t total_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  uint64_t done_ = 0;
  Clock::time_point next_draw_ = start_;
};

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_PROGRESS_H_
