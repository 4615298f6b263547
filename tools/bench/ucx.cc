// SPDX-License-Identifier: BSD-3-Clause

#include "tools/bench/ucx.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rpma::bench {
namespace {

constexpr const char* kProgram = "ucx_perftest";
constexpr const char* kTransports = "posix,sysv,cma,self";
constexpr unsigned kPatience = 60;  // seconds
constexpr int kConnectTries = 5;
constexpr auto kPauseOfConnecting = std::chrono::milliseconds(300);

bool IsInstalled() {
  const char* const path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    if (access((folder + "/" + kProgram).c_str(), X_OK) == 0) return true;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return false;
}

// Nobody else is likely to take it before it is used.
std::optional<std::string> FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  const bool is_found = bind(listener, place, length) == 0 &&
                        getsockname(listener, place, &length) == 0;
  close(listener);
  if (!is_found) return std::nullopt;
  return std::to_string(ntohs(address.sin_port));
}

// Its output goes to `output`; -1: to nowhere.
pid_t Start(std::vector<std::string> arguments, int output) {
  arguments.insert(arguments.begin(), kProgram);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kPatience);
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(output < 0 ? nowhere : output, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  setenv("UCX_TLS", kTransports, 1);
  setenv("UCX_LOG_LEVEL", "fatal", 1);
  execvp(kProgram, pointers.data());
  _exit(127);
}

bool Succeeds(pid_t child) {
  int status = 0;
  pid_t ended;
  do {
    ended = waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == child && status == 0;
}

bool RunClient(const std::vector<std::string>& arguments, std::string* output) {
  output->clear();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t client = Start(arguments, ends[1]);
  close(ends[1]);
  char bytes[4096];
  ssize_t count;
  while ((count = read(ends[0], bytes, sizeof(bytes))) > 0) {
    output->append(bytes, static_cast<size_t>(count));
  }
  close(ends[0]);
  return client > 0 && Succeeds(client);
}

// The median, in microseconds: the second column of the last line.
std::optional<double> ParseMedian(const std::string& output) {
  const size_t last = output.find_last_not_of('\n');
  if (last == std::string::npos) return std::nullopt;
  const size_t line = output.rfind('\n', last);
  const size_t comma = output.find(',', line == std::string::npos ? 0 : line);
  if (comma == std::string::npos) return std::nullopt;
  double median = 0;
  const char* const end = output.data() + output.size();
  const auto [stop, error] =
      std::from_chars(output.data() + comma + 1, end, median);
  if (error != std::errc() || median <= 0) return std::nullopt;
  return median;
}

std::optional<double> Median(const std::vector<std::string>& test,
                             uint64_t count) {
  const std::optional<std::string> port = FreePort();
  if (!port.has_value()) return std::nullopt;
  const pid_t server = Start({"-p", *port}, -1);
  std::vector<std::string> arguments{"127.0.0.1", "-p", *port, "-f", "-v"};
  arguments.insert(arguments.end(), test.begin(), test.end());
  const std::string warm_up = std::to_string(std::max<uint64_t>(count / 10, 1));
  arguments.insert(arguments.end(),
                   {"-n", std::to_string(count), "-w", warm_up});
  std::string output;
  bool is_done = false;
  for (int i = 0; i < kConnectTries && !is_done; ++i) {
    std::this_thread::sleep_for(kPauseOfConnecting);
    is_done = RunClient(arguments, &output);
  }
  if (server > 0) {
    kill(server, SIGKILL);
    Succeeds(server);
  }
  return is_done ? ParseMedian(output) : std::nullopt;
}

}  // namespace

UcxFigures MeasureUcx(const Effort& effort, std::string* note) {
  if (!IsInstalled()) {
    *note =
        "UCX is left out: there is no ucx_perftest on the PATH (Debian has it "
        "in the package ucx-utils).";
    return {};
  }
  UcxFigures figures;
  figures.one_way = Median({"-t", "ucp_put_lat", "-s", "8"}, effort.writes);
  figures.wake =
      Median({"-t", "tag_lat", "-s", "8", "-E", "sleep"}, effort.wakes);
  figures.bulk =
      Median({"-t", "ucp_put_bw", "-s", std::to_string(1 << 20), "-O", "1"},
             effort.bulk_writes);
  *note = std::string("UCX: ") + kProgram + " with UCX_TLS=" + kTransports +
          "; ucp_put_lat, tag_lat -E sleep, ucp_put_bw -O 1; medians.";
  if (!figures.one_way || !figures.wake || !figures.bulk) {
    *note += " Some of them failed.";
  }
  return figures;
}

}  // namespace rpma::bench
