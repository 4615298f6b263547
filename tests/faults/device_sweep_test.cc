// SPDX-License-Identifier: BSD-3-Clause
// At every message of every scenario the link of a node goes down, or the node
// itself ends; and every completion is lost or told of wrongly.

#include <initializer_list>
#include <string>

#include "tests/faults/policy.h"
#include "tests/faults/sweep.h"

namespace rpma::faults {
namespace {

constexpr const char* kDevices[] = {kClientDevice, kServerDevice};

class DeviceSweepTest : public ScenarioTest {};

RPMA_FOR_EACH_SCENARIO(DeviceSweepTest);

TEST_P(DeviceSweepTest, TheLinkGoesDown) {
  Sweep sweep("links, down for good", GetParam(), World::kOwn);
  for (const std::string device : kDevices) {
    sweep.RunAny("link device=" + device + " state=down nth=#");
  }
}

TEST_P(DeviceSweepTest, TheLinkGoesDownForATime) {
  Sweep sweep("links, down for a time", GetParam(), World::kOwn);
  for (const std::string device : kDevices) {
    for (const char* time : {"1us", "1s", "1000s"}) {
      sweep.RunAny("link device=" + device + " state=down nth=# time=" + time);
    }
  }
}

TEST_P(DeviceSweepTest, TheProcessEnds) {
  Sweep sweep("processes, ended", GetParam(), World::kOwn);
  for (const std::string device : kDevices) {
    sweep.RunAny("exit device=" + device + " nth=#");
  }
}

TEST_P(DeviceSweepTest, TheNodeLosesPower) {
  Sweep sweep("nodes, without power", GetParam(), World::kOwn);
  for (const std::string device : kDevices) {
    sweep.RunAny("power device=" + device + " nth=#");
  }
}

TEST_P(DeviceSweepTest, TheDeviceIsRemoved) {
  Sweep sweep("devices, removed", GetParam(), World::kOwn);
  for (const std::string device : kDevices) {
    sweep.RunAny("remove device=" + device + " nth=#");
  }
}

TEST_P(DeviceSweepTest, CompletionsAreLostOrToldOfWrongly) {
  Sweep sweep("completions", GetParam(), World::kOwn);
  sweep.RunAny("foreign_cq nth=#");
  sweep.RunAny("overrun nth=#");
}

}  // namespace
}  // namespace rpma::faults
