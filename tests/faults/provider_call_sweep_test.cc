// SPDX-License-Identifier: BSD-3-Clause
// Every provider call of every scenario fails: once, from then on, and with the
// object gone nevertheless.

#include <initializer_list>
#include <string>

#include "tests/faults/sweep.h"

namespace rpma::faults {
namespace {

class ProviderCallSweepTest : public ScenarioTest {};

RPMA_FOR_EACH_SCENARIO(ProviderCallSweepTest);

TEST_P(ProviderCallSweepTest, EachFailsOnce) {
  Sweep sweep("provider calls, once", GetParam(), World::kShared);
  sweep.RunEach("fail any nth=#");
}

TEST_P(ProviderCallSweepTest, EachFailsForLackOfMemory) {
  Sweep sweep("provider calls, ENOMEM", GetParam(), World::kShared);
  sweep.RunEach("fail any nth=# errno=ENOMEM");
}

TEST_P(ProviderCallSweepTest, EachIsInterrupted) {
  Sweep sweep("provider calls, EINTR", GetParam(), World::kShared);
  sweep.RunEach("fail any nth=# errno=EINTR");
}

TEST_P(ProviderCallSweepTest, AllFailFromEachOn) {
  Sweep sweep("provider calls, from then on", GetParam(), World::kShared);
  sweep.RunEach("fail any from=#");
}

TEST_P(ProviderCallSweepTest, EachThatDestroysFailsAndDestroys) {
  Sweep sweep("provider calls, freed", GetParam(), World::kShared);
  for (const char* call :
       {"ibv_dereg_mr", "ibv_destroy_comp_channel", "ibv_destroy_cq",
        "ibv_destroy_srq", "ibv_destroy_qp", "rdma_destroy_id"}) {
    for (int k = 1;; ++k) {
      const std::string plan =
          "fail " + std::string(call) + " nth=" + std::to_string(k);
      const Execution plain = sweep.Run({.plan = plan});
      if (plain.fired == 0) break;
      // Other functions destroy the object again when they are called again.
      if (GivesUp(plain.first_struck)) {
        sweep.Run({.plan = plan + " outcome=freed"});
      }
    }
  }
}

}  // namespace
}  // namespace rpma::faults
