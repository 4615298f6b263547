// SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/peer_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace rpma::test {
namespace {

constexpr int kDeadlineMs = 60'000;

bool IsReadable(int fd, int timeout_ms) {
  pollfd entry = {fd, POLLIN, 0};
  return poll(&entry, 1, timeout_ms) == 1;
}

}  // namespace

PeerProcess::PeerProcess(const Story& story, const std::string& port) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  std::string text = ToText(story);
  std::string number = std::to_string(ends[1]);
  std::string program = "/proc/self/exe";
  std::string flag = "--peer";
  std::string at = port;
  char* const arguments[] = {program.data(), flag.data(),   text.data(),
                             at.data(),      number.data(), nullptr};
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fcntl(ends[1], F_SETFD, 0);
    execv(program.c_str(), arguments);
    _exit(127);
  }
  close(ends[1]);
  if (pid_ < 0) {
    close(ends[0]);
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  report_ = ends[0];
}

PeerProcess::~PeerProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(report_);
}

void PeerProcess::Hear() {
  while (!is_gone_ && IsReadable(report_, 0)) {
    Step step{};
    if (read(report_, &step, sizeof(step)) != sizeof(step)) {
      is_gone_ = true;
    } else if (step > Step{} && step < Step::kNumber) {
      last_step_ = step;
      has_passed_[static_cast<size_t>(step)] = true;
    }
  }
}

bool PeerProcess::AwaitStep(Step step) {
  const bool& has_passed = has_passed_[static_cast<size_t>(step)];
  for (Hear(); !has_passed && !is_gone_; Hear()) {
    if (IsReadable(report_, kDeadlineMs)) continue;
    ADD_FAILURE() << "the peer does not get to " << NameOf(step);
    return false;
  }
  return has_passed;
}

void PeerProcess::Signal(int signal) const { kill(pid_, signal); }

bool PeerProcess::AwaitEnd() {
  int status = -1;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = 0;
  const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(is_killed || status == 0)
      << "the peer ends with status " << status << " after "
      << NameOf(last_step_);
  return is_killed;
}

}  // namespace rpma::test
