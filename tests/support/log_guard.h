// SPDX-License-Identifier: BSD-3-Clause
// Listens to librpma's log for the time of a test.

#ifndef RPMA_TESTS_SUPPORT_LOG_GUARD_H_
#define RPMA_TESTS_SUPPORT_LOG_GUARD_H_

#include <librpma.h>

#include <mutex>
#include <string>
#include <vector>

namespace rpma::test {

// Collects what librpma logs; a message of level ERROR or FATAL that nobody
// took fails the test when the guard ends. One guard at a time. Safe to use
// from any thread. Does not allocate for the first kReserved messages that wait
// to be taken.
class LogGuard {
 public:
  LogGuard();
  LogGuard(const LogGuard&) = delete;
  LogGuard& operator=(const LogGuard&) = delete;
  ~LogGuard();

  // The messages of one level that nobody took yet, in order.
  std::vector<std::string> Take(rpma_log_level level);
  std::vector<std::string> TakeErrors() { return Take(RPMA_LOG_LEVEL_ERROR); }
  // Forgets what the contract leaves open: whether an invalid argument or an
  // unsupported request is logged.
  void Discard();

 private:
  static constexpr size_t kReserved = 64;

  struct Message {
    rpma_log_level level;
    char text[1024];
  };

  static void Receive(rpma_log_level level, const char* file, int line,
                      const char* function, const char* format, ...)
      __attribute__((format(printf, 5, 6)));

  std::mutex mutex_;
  std::vector<Message> messages_;
};

// Lets messages up to `level` through as long as it lives.
class LogThreshold {
 public:
  explicit LogThreshold(rpma_log_level level) {
    rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &before_);
    rpma_log_set_threshold(RPMA_LOG_THRESHOLD, level);
  }
  LogThreshold(const LogThreshold&) = delete;
  LogThreshold& operator=(const LogThreshold&) = delete;
  ~LogThreshold() { rpma_log_set_threshold(RPMA_LOG_THRESHOLD, before_); }

 private:
  rpma_log_level before_ = RPMA_LOG_DISABLED;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_LOG_GUARD_H_
