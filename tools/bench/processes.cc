// SPDX-License-Identifier: BSD-3-Clause

#include "tools/bench/processes.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

namespace rpma::bench {
namespace {

constexpr unsigned kPatience = 120;  // seconds; then it hangs

[[noreturn]] void RunChild(const std::function<void()>& body, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILURE);
  alarm(kPatience);
  int status = EXIT_SUCCESS;
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rpma_bench: %s\n", error.what());
    status = EXIT_FAILURE;
  }
  std::exit(status);
}

std::string Describe(int status) {
  if (WIFSIGNALED(status)) {
    return "a process was killed by signal " + std::to_string(WTERMSIG(status));
  }
  return "a process failed";
}

}  // namespace

void RunInProcesses(const std::vector<std::function<void()>>& bodies) {
  std::vector<pid_t> children;
  std::string failure;
  const pid_t self = getpid();
  std::fflush(nullptr);
  for (const std::function<void()>& body : bodies) {
    const pid_t child = fork();
    if (child == 0) RunChild(body, self);
    if (child < 0) {
      failure = "fork: " + std::generic_category().message(errno);
      break;
    }
    children.push_back(child);
  }
  const auto kill_all = [&] {
    for (const pid_t child : children) kill(child, SIGKILL);
  };
  if (!failure.empty()) kill_all();
  while (!children.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) {
      throw std::system_error(errno, std::generic_category(), "waitpid");
    }
    std::erase(children, ended);
    if (status == 0 || !failure.empty()) continue;
    failure = Describe(status);
    kill_all();
  }
  if (!failure.empty()) throw std::runtime_error(failure);
}

void* MapShared(size_t size) {
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap");
  }
  return mapped;
}

}  // namespace rpma::bench
