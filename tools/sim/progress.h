// SPDX-License-Identifier: BSD-3-Clause
// How far the seeds have come: one line on stderr if that is a terminal, and
// nothing otherwise.

#ifndef RPMA_TOOLS_SIM_PROGRESS_H_
#define RPMA_TOOLS_SIM_PROGRESS_H_

#include <chrono>
#include <cstdint>

namespace rpma::sim {

class Progress {
 public:
  explicit Progress(uint64_t seeds);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { Clear(); }

  void Show(uint64_t done, uint64_t failed);
  void Clear();  // so that something else can be printed

 private:
  using Clock = std::chrono::steady_clock;

  const uint64_t seeds_;
  const bool is_terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_;
};

}  // namespace rpma::sim

#endif  // RPMA_TOOLS_SIM_PROGRESS_H_
