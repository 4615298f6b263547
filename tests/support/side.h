// SPDX-License-Identifier: BSD-3-Clause
// Which side of a scenario acts, for what names no object of a side. It matters
// where the sides live in two processes (tests/support/two_processes).

#ifndef RPMA_TESTS_SUPPORT_SIDE_H_
#define RPMA_TESTS_SUPPORT_SIDE_H_

#include <cstdint>
#include <utility>

namespace rpma::test {

// While one lives, its thread acts for the server's side.
class ServersSide {
 public:
  ServersSide() : before_(std::exchange(active_, true)) {}
  ServersSide(const ServersSide&) = delete;
  ServersSide& operator=(const ServersSide&) = delete;
  ~ServersSide() { active_ = before_; }

  static bool IsActive() { return active_; }

 private:
  static inline thread_local bool active_ = false;

  const bool before_;
};

// The process of the server's side, if it is another.
struct OtherProcess {
  bool (*has)(const void* object);
  int (*id)();
  // Those that are open there, less their duplicates here.
  uint32_t (*count_descriptors)();
};
// nullptr: there is none.
inline const OtherProcess* other_process = nullptr;

inline bool IsInOtherProcess(const void* object) {
  return other_process != nullptr && other_process->has(object);
}

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_SIDE_H_
