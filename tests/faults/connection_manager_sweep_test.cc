// SPDX-License-Identifier: BSD-3-Clause
// Every message and event of the connection manager, in every scenario, is
// lost, late, doubled, or not what it should be.

#include <initializer_list>
#include <string>

#include "tests/faults/sweep.h"

namespace rpma::faults {
namespace {

constexpr const char* kMessages[] = {"REQ", "REP",  "RTU",
                                     "REJ", "DREQ", "DREP"};
constexpr const char* kEvents[] = {
    "CONNECT_REQUEST", "CONNECT_RESPONSE", "ESTABLISHED",  "REJECTED",
    "UNREACHABLE",     "DISCONNECTED",     "TIMEWAIT_EXIT"};

class ConnectionManagerSweepTest : public ScenarioTest {};

RPMA_FOR_EACH_SCENARIO(ConnectionManagerSweepTest);

TEST_P(ConnectionManagerSweepTest, EachMessageIsLost) {
  Sweep sweep("CM messages, lost", GetParam(), World::kOwn);
  for (const std::string message : kMessages) {
    sweep.RunAny("drop " + message + " nth=#");
    sweep.RunAny("drop " + message + " from=#");
  }
}

TEST_P(ConnectionManagerSweepTest, EachMessageIsDelayedOrDoubled) {
  Sweep sweep("CM messages, delayed or doubled", GetParam(), World::kOwn);
  for (const std::string message : kMessages) {
    sweep.RunAny("delay " + message + " time=10ms nth=#");
    sweep.RunAny("delay " + message + " time=10s nth=#");
    sweep.RunAny("duplicate " + message + " nth=#");
  }
}

TEST_P(ConnectionManagerSweepTest, EachEventIsUnexpected) {
  Sweep sweep("CM events, unexpected", GetParam(), World::kOwn);
  for (const std::string event : kEvents) {
    if (event == "CONNECT_REQUEST") continue;  // it brings an id
    for (const char* as : {"ADDR_CHANGE", "DEVICE_REMOVAL", "CONNECT_ERROR"}) {
      sweep.RunAny("event " + event + " nth=# as=" + as);
    }
  }
}

TEST_P(ConnectionManagerSweepTest, EachEventIsEarlyOrLate) {
  Sweep sweep("CM events, early or late", GetParam(), World::kOwn);
  for (const std::string event : kEvents) {
    sweep.RunAny("event " + event + " nth=# ahead");
    sweep.RunAny("event " + event + " nth=# delay=10ms");
  }
}

}  // namespace
}  // namespace rpma::faults
