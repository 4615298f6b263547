// SPDX-License-Identifier: BSD-3-Clause
//
// One value of a configuration.

#ifndef RPMA_CORE_SETTING_H_
#define RPMA_CORE_SETTING_H_

#include <atomic>

namespace rpma {

// Threads may read and write it at the same time. Settings are independent of
// each other: no order between them is promised.
template <typename T>
class Setting {
 public:
  constexpr explicit Setting(T value) : value_(value) {}
  T get() const { return value_.load(std::memory_order_relaxed); }
  void set(T value) { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

}  // namespace rpma

#endif  // RPMA_CORE_SETTING_H_
