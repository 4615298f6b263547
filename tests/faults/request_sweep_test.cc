// SPDX-License-Identifier: BSD-3-Clause
// Every request of every scenario is lost, delayed, doubled or fails on its
// way.

#include <initializer_list>
#include <string>

#include "tests/faults/sweep.h"

namespace rpma::faults {
namespace {

class RequestSweepTest : public ScenarioTest {};

RPMA_FOR_EACH_SCENARIO(RequestSweepTest);

TEST_P(RequestSweepTest, EachIsLost) {
  Sweep sweep("requests, lost", GetParam(), World::kOwn);
  for (const char* plan :
       {"drop any nth=#", "drop any what=response nth=#", "drop any from=#",
        "drop any what=response from=#"}) {
    sweep.RunAny(plan);
  }
}

TEST_P(RequestSweepTest, EachIsDelayedOrDoubled) {
  Sweep sweep("requests, delayed or doubled", GetParam(), World::kOwn);
  for (const char* plan :
       {"delay any time=1us nth=#", "delay any time=1s nth=#",
        "delay any time=100s nth=#", "duplicate any nth=#",
        "duplicate any from=#"}) {
    sweep.RunAny(plan);
  }
}

TEST_P(RequestSweepTest, EachFails) {
  Sweep sweep("requests, failed", GetParam(), World::kOwn);
  for (const char* status : {"LOC_PROT_ERR", "LOC_QP_OP_ERR", "REM_ACCESS_ERR",
                             "REM_OP_ERR", "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR",
                             "WR_FLUSH_ERR", "FATAL_ERR", "GENERAL_ERR"}) {
    sweep.RunAny("complete any nth=# status=" + std::string(status));
  }
}

TEST_P(RequestSweepTest, EachReceiveFailsOrIsNotThere) {
  Sweep sweep("receives", GetParam(), World::kOwn);
  for (const char* plan : {"complete recv status=LOC_LEN_ERR nth=#",
                           "complete recv status=LOC_PROT_ERR nth=#",
                           "complete recv status=GENERAL_ERR nth=#",
                           "rnr time=1us nth=#", "rnr time=1s nth=#"}) {
    sweep.RunAny(plan);
  }
}

}  // namespace
}  // namespace rpma::faults
