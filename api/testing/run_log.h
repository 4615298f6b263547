// SPDX-License-Identifier: BSD-3-Clause
// What librpma logs while a scenario runs.

#ifndef RPMA_API_TESTING_RUN_LOG_H_
#define RPMA_API_TESTING_RUN_LOG_H_

#include <librpma.h>

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>

namespace rpma_testing {

// Takes the place of librpma's log function while it lives; afterwards that is
// the default one. One at a time. Messages may come from any thread.
class RunLog {
 public:
  // `plan` is printed if the process has to be ended: a program that waits
  // again and again although nothing moves would never end by itself.
  RunLog(std::string plan, bool echo_to_stderr);
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog();

  // The first message of level FATAL, which reports a wait that had no end; ""
  // if there is none.
  std::string Fatal() const;
  // The first and the last messages, a line for each.
  std::string Text() const;

 private:
  static constexpr size_t kFatalLimit = 1000;
  static constexpr size_t kFirst = 10;
  static constexpr size_t kLast = 20;

  static void Receive(rpma_log_level level, const char* file, int line,
                      const char* function, const char* format, ...)
      __attribute__((format(printf, 5, 6)));
  void Add(rpma_log_level level, const std::string& text);

  const std::string plan_;
  const bool echo_to_stderr_;
  mutable std::mutex mutex_;
  std::string fatal_;  // guarded by mutex_, as all below
  size_t fatal_count_ = 0;
  std::string first_;
  size_t count_ = 0;
  std::deque<std::string> last_;
};

}  // namespace rpma_testing

#endif  // RPMA_API_TESTING_RUN_LOG_H_
