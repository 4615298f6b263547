// SPDX-License-Identifier: BSD-3-Clause
// The faults that a correct program survives.

#include "api/rpma_testing.h"

namespace rpma_testing {

std::vector<std::string> FaultRules(const std::vector<std::string>& devices) {
  std::vector<std::string> rules = {
      "fail any nth=%k",
      "fail any from=%k",
  };
  for (const std::string& device : devices) {
    for (const char* fault : {"link", "exit", "power", "remove"}) {
      static_cast<void>(fault);
      static_cast<void>(device);
    }
  }
  return rules;
}

}  // namespace rpma_testing
