// SPDX-License-Identifier: BSD-3-Clause
// A second process that executes calls for the test's process. It is a fork of
// it, so that functions have the same addresses in both.

#ifndef RPMA_TESTS_SUPPORT_TWO_PROCESSES_HELPER_H_
#define RPMA_TESTS_SUPPORT_TWO_PROCESSES_HELPER_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>

namespace rpma::test::two_processes {

// Which objects live in the helper.
enum class Elsewhere {
  kServer,  // those of the server's side
  kAll,     // all, so that calls cross between the processes but nothing else
};

// Forks the helper. Call it before there are threads, objects of librpma, and
// memory to be registered.
void Start(Elsewhere elsewhere);
// Ends it and waits. False, after saying so, if it did not end well.
bool Stop();
// False also within the helper.
bool IsRunning();
bool HasAllObjects();
// The helper's process id.
int HelperPid();

// A line that the helper logged.
struct LogLine {
  rpma_log_level level;
  const char* file;
  int line;
  const char* function;
  char text[1024];
};

// What both processes see of a call.
struct Frame {
  static constexpr size_t kBytes = 20 * 1024;
  static constexpr size_t kLogLines = 64;

  void (*run)(Frame&);  // executed by the helper
  int result;
  int error;    // errno
  int fd = -1;  // of the helper; the test's process gets a duplicate
  size_t log_lines;
  LogLine log[kLogLines];
  alignas(16) std::byte arguments[kBytes];
};

// One call, in a thread of the helper that no other call uses meanwhile, so
// calls may block. A signal that interrupts the caller interrupts that thread.
// If the helper dies, the test's process says so and ends. As long as a call
// lives its thread is not cancelled: those that librpma lets be are not tested
// here.
class Call {
 public:
  explicit Call(const char* function);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  Frame& frame() const { return frame_; }
  // Lets the helper execute the frame, and tells the log what it logged.
  void Execute();
  // After Execute(): the duplicate of the frame's fd, or -1. The caller's.
  int fd() const { return fd_; }

 private:
  class NoCancellation {
   public:
    NoCancellation();
    NoCancellation(const NoCancellation&) = delete;
    NoCancellation& operator=(const NoCancellation&) = delete;
    ~NoCancellation();

   private:
    int before_ = 0;
  };

  const NoCancellation no_cancellation_;
  const char* const function_;
  const size_t number_;
  Frame& frame_;
  int fd_ = -1;
};

// Where the helper's lines go in the test's process; nullptr: to stderr.
void SetLogFunction(rpma_log_function* function);

}  // namespace rpma::test::two_processes

#endif  // RPMA_TESTS_SUPPORT_TWO_PROCESSES_HELPER_H_
