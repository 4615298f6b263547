// SPDX-License-Identifier: BSD-3-Clause
// Listens to librpma's log for the time of a run.

#ifndef RPMA_TESTS_SIM_CALL_LOG_H_
#define RPMA_TESTS_SIM_CALL_LOG_H_

#include <librpma.h>

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>

namespace rpma::sim {

// One at a time. Messages may come from any thread.
class CallLog {
 public:
  CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;
  ~CallLog();

  // How many errors were logged so far.
  size_t errors();
  // The last few messages, in order.
  std::deque<std::string> last_messages();

 private:
  static void Receive(rpma_log_level level, const char* file, int line,
                      const char* function, const char* format, ...)
      __attribute__((format(printf, 5, 6)));

  std::mutex mutex_;
  size_t errors_ = 0;
  std::deque<std::string> messages_;
};

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_CALL_LOG_H_
