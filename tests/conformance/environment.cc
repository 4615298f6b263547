// SPDX-License-Identifier: BSD-3-Clause

#include "tests/conformance/environment.h"

#include <cstdio>
#include <string_view>

namespace rpma::test {
namespace {

const char* test_address = "127.0.0.1";

// What follows `flag`, which ends in '=', in `argument`; nullptr if it is
// another argument.
const char* ValueOf(std::string_view flag, const char* argument) {
  return std::string_view(argument).starts_with(flag) ? argument + flag.size()
                                                      : nullptr;
}

}  // namespace

bool ParseFlags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (const char* address = ValueOf("--address=", argv[i])) {
      test_address = address;
    } else if (const char* transport = ValueOf("--transport=", argv[i])) {
      if (std::string_view(transport) == "emulator") continue;
      std::fprintf(stderr, "transport %s: not part of this build\n", transport);
      return false;
    } else {
      std::fprintf(stderr, "unknown argument: %s\n", argv[i]);
      return false;
    }
  }
  return true;
}

const char* TestAddress() { return test_address; }

}  // namespace rpma::test
