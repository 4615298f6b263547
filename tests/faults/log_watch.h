// SPDX-License-Identifier: BSD-3-Clause
// Counts what librpma logs during the run of a scenario.

#ifndef RPMA_TESTS_FAULTS_LOG_WATCH_H_
#define RPMA_TESTS_FAULTS_LOG_WATCH_H_

#include <librpma.h>

#include <cstdint>

namespace rpma::faults {

// One at a time. Does not allocate. For runs of one thread.
class LogWatch {
 public:
  LogWatch();
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;
  ~LogWatch();

  // Another call of librpma begins.
  void BeginCall() { registration_stays_ = false; }

  // Messages of level ERROR, of librpma itself and of the emulator.
  uint64_t errors() const { return errors_; }
  uint64_t complaints() const { return complaints_; }
  // Reports that every thread waits and nothing moves.
  uint64_t deadlocks() const { return deadlocks_; }
  // How many connections could end neither the registration of their buffer nor
  // the queue pair that may write to it; the buffer is never freed then.
  uint64_t abandoned_buffers() const { return abandoned_buffers_; }
  // The latest message of level ERROR or FATAL.
  const char* latest() const { return latest_; }

  // Shows every message on stderr, too.
  void Echo() { echo_ = true; }

 private:
  static void Receive(rpma_log_level level, const char* file, int line,
                      const char* function, const char* format, ...)
      __attribute__((format(printf, 5, 6)));

  void Note(const char* text);

  uint64_t errors_ = 0;
  uint64_t complaints_ = 0;
  uint64_t deadlocks_ = 0;
  uint64_t abandoned_buffers_ = 0;
  char latest_[256] = "";
  bool registration_stays_ = false;  // of the connection that the call ends
  bool echo_ = false;
};

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_LOG_WATCH_H_
