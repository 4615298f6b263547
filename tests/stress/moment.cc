// SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/moment.h"

#include <librpma.h>
#include <librpma_emu.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace rpma::test {
namespace {

constexpr const char* kNames[] = {
    "born",       "started",       "resolved",   "registered",  "listening",
    "requesting", "posted",        "connecting", "established", "operating",
    "completed",  "disconnecting", "closed",     "deleted"};
static_assert(std::size(kNames) == static_cast<size_t>(Step::kNumber));

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::abort();
}

[[noreturn]] void KillThisProcess() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// The plan lets the call fail in which the peer is to die: its name is logged.
void DieOfError(rpma_log_level level, const char*, int, const char*,
                const char*, ...) {
  if (level > RPMA_LOG_LEVEL_ERROR) return;
  uint64_t fired = 0;
  rpma_emu_get_fired(nullptr, 0, &fired);
  if (fired == 0) Fail("an error that is not of the plan");
  KillThisProcess();
}

void BeKilledAfter(size_t microseconds) {
  timer_t timer;
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) Fail("timer_create");
  itimerspec time = {};
  time.it_value.tv_nsec = static_cast<long>(1000 * microseconds + 1);
  if (timer_settime(timer, 0, &time, nullptr) != 0) Fail("timer_settime");
}

// --- In the process that watches

[[noreturn]] void EndAs(int status) {
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) != SIGKILL) std::abort();
    KillThisProcess();
  }
  _exit(WEXITSTATUS(status));
}

bool IsSystemCall(int status) {
  return WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

// What to deliver to a thread that stopped: not what only tells of tracing.
int SignalOf(int status) {
  const int signal = WSTOPSIG(status);
  const bool is_of_tracing =
      IsSystemCall(status) || signal == SIGTRAP || signal == SIGSTOP;
  return is_of_tracing ? 0 : signal;
}

[[noreturn]] void Watch(pid_t peer, size_t last_call) {
  int status;
  if (waitpid(peer, &status, 0) != peer) Fail("waitpid");
  constexpr long kOptions =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, peer, nullptr, kOptions) != 0) Fail("ptrace");
  ptrace(PTRACE_SYSCALL, peer, nullptr, 0);
  size_t calls = 0;
  for (;;) {
    const pid_t stopped = waitpid(-1, &status, __WALL);
    if (stopped < 0) Fail("waitpid");
    if (stopped == peer && !WIFSTOPPED(status)) EndAs(status);
    if (!WIFSTOPPED(status)) continue;
    if (IsSystemCall(status) && ++calls == last_call) kill(peer, SIGKILL);
    ptrace(PTRACE_SYSCALL, stopped, nullptr, SignalOf(status));
  }
}

}  // namespace

const char* NameOf(Step step) { return kNames[static_cast<size_t>(step)]; }

void BeWatched(const Story& story, int report) {
  if (story.death != Death::kSystemCall) return;
  const pid_t peer = fork();
  if (peer < 0) Fail("fork");
  if (peer > 0) {
    close(report);
    Watch(peer, story.moment);
  }
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) Fail("ptrace");
  raise(SIGSTOP);
}

Moment::Moment(const Story& story, int report)
    : story_(story), report_(report) {
  if (story.death != Death::kCall) return;
  rpma_log_set_function(&DieOfError);
  const std::string plan = "fail any nth=" + std::to_string(story.moment);
  if (rpma_emu_set_faults(nullptr, plan.c_str()) != 0) Fail(plan.c_str());
}

void Moment::Pass(Step step) {
  if (write(report_, &step, sizeof(step)) != sizeof(step)) Fail("report");
  if (++passed_ == story_.moment) Die();
}

void Moment::Die() const {
  switch (story_.death) {
    case Death::kStep:
      KillThisProcess();
    case Death::kDelay:
      return BeKilledAfter(story_.delay_us);
    case Death::kExit:
      std::exit(0);
    case Death::kExec:
      execl("/bin/true", "true", nullptr);
      Fail("/bin/true");
    default:
      return;
  }
}

}  // namespace rpma::test
