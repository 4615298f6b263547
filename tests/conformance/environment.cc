// SPDX-License-Identifier: BSD-3-Clause

#include "tests/conformance/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace rpma::test {
namespace {

const char* test_address = nullptr;
const char* transport_under_test = "emulator";
const char* seed = nullptr;
Processes processes = Processes::kOne;

// What follows `flag`, which ends in '=', in `argument`; nullptr if it is
// another argument.
const char* ValueOf(std::string_view flag, const char* argument) {
  return std::string_view(argument).starts_with(flag) ? argument + flag.size()
                                                      : nullptr;
}

bool IsTransport(std::string_view name) {
  return name == "emulator" || name == "verbs";
}

// False: there is no such way.
bool ParseProcesses(std::string_view text) {
  if (text == "1") {
    processes = Processes::kOne;
  } else if (text == "2") {
    processes = Processes::kTwo;
  } else if (text == "elsewhere") {
    processes = Processes::kElsewhere;
  } else {
    std::fprintf(stderr, "--processes: neither 1, 2 nor elsewhere\n");
    return false;
  }
  return true;
}

// A folder of its own, as long as this process lives.
class Folder {
 public:
  Folder() {
    if (mkdtemp(path_.data()) != nullptr) return;
    std::perror(path_.c_str());
    std::exit(2);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) std::fprintf(stderr, "%s stays\n", path_.c_str());
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_ = ::testing::TempDir() + "conformance-XXXXXX";
};

}  // namespace

bool ParseFlags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--gtest_")) continue;
    if (const char* address = ValueOf("--address=", argv[i])) {
      test_address = address;
    } else if (const char* transport = ValueOf("--transport=", argv[i])) {
      if (!IsTransport(transport)) {
        std::fprintf(stderr, "transport %s: neither emulator nor verbs\n",
                     transport);
        return false;
      }
      transport_under_test = transport;
    } else if (const char* stepped = ValueOf("--stepped=", argv[i])) {
      seed = stepped;
    } else if (const char* number = ValueOf("--processes=", argv[i])) {
      if (!ParseProcesses(number)) return false;
    } else {
      std::fprintf(stderr, "unknown argument: %s\n", argv[i]);
      return false;
    }
  }
  if (seed != nullptr && TransportUnderTest() != "emulator") {
    std::fprintf(stderr, "--stepped: only worlds of the emulator are\n");
    return false;
  }
  if (seed != nullptr && processes != Processes::kOne) {
    std::fprintf(stderr, "--stepped: no world steps in two processes\n");
    return false;
  }
  setenv("RPMA_TRANSPORT", transport_under_test, 1);
  return true;
}

std::string_view TransportUnderTest() { return transport_under_test; }

const char* TestAddress() {
  if (test_address != nullptr) return test_address;
  const char* const of_device = std::getenv("RPMA_ADDRESS");
  return TransportUnderTest() == "verbs" && of_device != nullptr ? of_device
                                                                 : "127.0.0.1";
}

std::string ScheduleOptions() {
  return seed == nullptr ? std::string()
                         : std::string("schedule=stepped seed=") + seed;
}

Processes ProcessesUnderTest() { return processes; }

std::string SharingOptions() {
  if (processes != Processes::kTwo) return {};
  static const Folder folder;
  return "fabric=conformance dir=" + folder.path();
}

int FirstPort() {
  const char* const shard = std::getenv("GTEST_SHARD_INDEX");
  return 7300 + 1000 * (shard != nullptr ? std::atoi(shard) : 0);
}

}  // namespace rpma::test
