// SPDX-License-Identifier: BSD-3-Clause
// The faults that a correct program survives.

#include <string>
#include <vector>

#include "api/rpma_testing.h"

namespace rpma_testing {

std::vector<std::string> FaultRules(const std::vector<std::string>& devices) {
  std::vector<std::string> rules = {
      "fail any nth=%k",
      "fail any from=%k",
      "complete any status=REM_OP_ERR nth=%k",
      "complete recv status=LOC_LEN_ERR nth=%k",
      "drop any nth=%k",
      "drop any from=%k",
      "drop any what=response nth=%k",
      "drop any what=response from=%k",
      "delay any time=1s nth=%k",
      "duplicate any nth=%k",
      "rnr time=100ms nth=%k",
  };
  for (const std::string message :
       {"REQ", "REP", "RTU", "REJ", "DREQ", "DREP"}) {
    rules.push_back("drop " + message + " nth=%k");
    rules.push_back("drop " + message + " from=%k");
    rules.push_back("delay " + message + " time=1s nth=%k");
    rules.push_back("duplicate " + message + " nth=%k");
  }
  for (const std::string& device : devices) {
    rules.push_back("link device=" + device + " state=down time=1s nth=%k");
    rules.push_back("link device=" + device + " state=down nth=%k");
    rules.push_back("exit device=" + device + " nth=%k");
    rules.push_back("power device=" + device + " nth=%k");
    rules.push_back("remove device=" + device + " nth=%k");
  }
  return rules;
}

}  // namespace rpma_testing
