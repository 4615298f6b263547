// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/two_processes/helper.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/two_processes/channel.h"
#include "tests/support/two_processes/real.h"

namespace rpma::test::two_processes {
namespace {

constexpr size_t kChannels = 32;  // calls at a time

Channel* channels = nullptr;  // kChannels, in shared memory
pid_t helper = -1;
int lifeline = -1;  // the helper ends when nobody holds the other end
Elsewhere elsewhere = Elsewhere::kServer;
std::mutex free_mutex;
std::vector<size_t> free_channels;
std::atomic<rpma_log_function*> log_function = nullptr;

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::abort();
}

// --- In the helper -----------------------------------------------------------

thread_local Frame* executing = nullptr;
std::mutex pending_mutex;
std::vector<LogLine> pending;  // logged by threads that execute no call

void Collect(rpma_log_level level, const char* file, int line,
             const char* function, const char* format, ...) {
  LogLine entry = {level, file, line, function, ""};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(entry.text, sizeof(entry.text), format, arguments);
  va_end(arguments);
  if (executing != nullptr && executing->log_lines < Frame::kLogLines) {
    executing->log[executing->log_lines++] = entry;
    return;
  }
  const std::lock_guard lock(pending_mutex);
  pending.push_back(entry);
}

void AddPendingLines(Frame& frame) {
  const std::lock_guard lock(pending_mutex);
  const size_t count =
      std::min(pending.size(), Frame::kLogLines - frame.log_lines);
  const auto end = pending.begin() + static_cast<ptrdiff_t>(count);
  std::copy(pending.begin(), end, frame.log + frame.log_lines);
  frame.log_lines += count;
  pending.erase(pending.begin(), end);
}

void ServeCalls(Channel& channel) {
  channel.thread_of_helper = static_cast<pid_t>(syscall(SYS_gettid));
  Frame& frame = channel.frame;
  int nothing = -1;
  while (ReceiveTurn(channel.socket_of_helper, &nothing, [] {})) {
    executing = &frame;
    frame.run(frame);
    executing = nullptr;
    AddPendingLines(frame);
    if (!SendTurn(channel.socket_of_helper, frame.fd)) return;
  }
}

// Signals interrupt what its threads wait for.
void LetSignalsInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  if (sigaction(SIGUSR1, &action, nullptr) != 0) Fail("sigaction");
}

[[noreturn]] void BeHelper(int end_of_lifeline) {
  LetSignalsInterrupt();
  __real_rpma_log_set_function(&Collect);
  for (size_t i = 0; i < kChannels; ++i) {
    close(channels[i].socket_of_test);
    std::thread([i] { ServeCalls(channels[i]); }).detach();
  }
  char byte = 0;
  while (read(end_of_lifeline, &byte, 1) < 0 && errno == EINTR) continue;
  std::exit(0);
}

// --- In the test's process ---------------------------------------------------

void MakeChannels() {
  void* const memory =
      mmap(nullptr, kChannels * sizeof(Channel), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Fail("mmap");
  channels = new (memory) Channel[kChannels];
  for (size_t i = 0; i < kChannels; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      Fail("socketpair");
    }
    channels[i].socket_of_test = ends[0];
    channels[i].socket_of_helper = ends[1];
    free_channels.push_back(i);
  }
}

std::string DescribeEnd(int status) {
  if (WIFSIGNALED(status)) {
    return "was killed by signal " + std::to_string(WTERMSIG(status));
  }
  return "ended with " + std::to_string(WEXITSTATUS(status));
}

[[noreturn]] void TellDeath(const char* function) {
  int status = 0;
  waitpid(helper, &status, 0);
  std::fflush(stdout);
  std::fprintf(stderr, "the helper process %s while it executed %s()\n",
               DescribeEnd(status).c_str(), function);
  std::_Exit(1);
}

size_t TakeChannel(const char* function) {
  const std::lock_guard lock(free_mutex);
  if (free_channels.empty()) {
    std::fprintf(stderr, "%s: more than %zu calls at once\n", function,
                 kChannels);
    std::abort();
  }
  const size_t number = free_channels.back();
  free_channels.pop_back();
  return number;
}

void Log(const LogLine& line) {
  if (rpma_log_function* const function = log_function) {
    function(line.level, line.file, line.line, line.function, "%s", line.text);
  } else {
    std::fprintf(stderr, "%s\n", line.text);
  }
}

}  // namespace

void Start(Elsewhere which) {
  elsewhere = which;
  MakeChannels();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    Fail("socketpair");
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) Fail("fork");
  if (child == 0) {
    close(ends[0]);
    BeHelper(ends[1]);
  }
  close(ends[1]);
  for (size_t i = 0; i < kChannels; ++i) close(channels[i].socket_of_helper);
  helper = child;
  lifeline = ends[0];
}

bool Stop() {
  constexpr unsigned kSeconds = 60;
  close(lifeline);
  alarm(kSeconds);  // a helper that does not end shall not hang the test
  int status = 0;
  const bool waited = waitpid(helper, &status, 0) == helper;
  alarm(0);
  if (waited && status == 0) return true;
  std::fprintf(stderr, "the helper process %s at its end\n",
               DescribeEnd(status).c_str());
  return false;
}

bool IsRunning() { return helper != -1; }

bool HasAllObjects() { return IsRunning() && elsewhere == Elsewhere::kAll; }

int HelperPid() { return helper; }

void SetLogFunction(rpma_log_function* function) { log_function = function; }

Call::NoCancellation::NoCancellation() {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
}

Call::NoCancellation::~NoCancellation() {
  pthread_setcancelstate(before_, nullptr);
}

Call::Call(const char* function)
    : function_(function),
      number_(TakeChannel(function)),
      frame_(channels[number_].frame) {
  frame_.fd = -1;
  frame_.log_lines = 0;
}

Call::~Call() {
  const std::lock_guard lock(free_mutex);
  free_channels.push_back(number_);
}

void Call::Execute() {
  const Channel& channel = channels[number_];
  if (!SendTurn(channel.socket_of_test, -1)) TellDeath(function_);
  const auto interrupt = [&] {
    syscall(SYS_tgkill, helper, channel.thread_of_helper.load(), SIGUSR1);
  };
  if (!ReceiveTurn(channel.socket_of_test, &fd_, interrupt)) {
    TellDeath(function_);
  }
  for (size_t i = 0; i < frame_.log_lines; ++i) Log(frame_.log[i]);
}

}  // namespace rpma::test::two_processes
