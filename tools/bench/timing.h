// SPDX-License-Identifier: BSD-3-Clause
// Times of things that are done many times.

#ifndef RPMA_TOOLS_BENCH_TIMING_H_
#define RPMA_TOOLS_BENCH_TIMING_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rpma::bench {

using Clock = std::chrono::steady_clock;

inline double Microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// Microseconds since some moment, the same for all processes.
inline double Now() { return Microseconds(Clock::now().time_since_epoch()); }

// Keeps the processor, so that what is measured next does not begin with
// waking.
inline void StayAwakeFor(Clock::duration time) {
  const Clock::time_point end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

class Times {
 public:
  // At most so many, and no longer than `limit` from now on.
  Times(uint64_t count, Clock::duration limit)
      : count_(count), end_(Clock::now() + limit) {
    times_.reserve(count);
  }

  template <typename Action>
  void Take(Action action) {
    const Clock::time_point begin = Clock::now();
    action();
    Add(Microseconds(Clock::now() - begin));
  }
  void Add(double time) {
    last_ = Clock::now();
    times_.push_back(time);
  }
  template <typename Action>
  void TakeAll(Action action) {
    while (!IsFull()) Take(action);
  }
  bool IsFull() const { return times_.size() == count_ || last_ >= end_; }

  // REQUIRES, for these: some were taken. Percent of them are not longer.
  double Percentile(size_t percent) {
    const size_t index = (times_.size() - 1) * percent / 100;
    std::nth_element(times_.begin(),
                     times_.begin() + static_cast<std::ptrdiff_t>(index),
                     times_.end());
    return times_[index];
  }
  double Median() { return Percentile(50); }
  double Best() const {
    return *std::min_element(times_.begin(), times_.end());
  }

 private:
  const uint64_t count_;
  const Clock::time_point end_;
  Clock::time_point last_{};
  std::vector<double> times_;
};

}  // namespace rpma::bench

#endif  // RPMA_TOOLS_BENCH_TIMING_H_
