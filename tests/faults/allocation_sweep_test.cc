// SPDX-License-Identifier: BSD-3-Clause
// Every allocation of librpma in every scenario fails: once, and from then on.

#include "tests/faults/sweep.h"

namespace rpma::faults {
namespace {

class AllocationSweepTest : public ScenarioTest {};

RPMA_FOR_EACH_SCENARIO(AllocationSweepTest);

TEST_P(AllocationSweepTest, EachFailsOnce) {
  Sweep sweep("allocations, once", GetParam(), World::kShared);
  uint64_t k = 1;
  while (sweep.Run({.plan = "", .allocation = k}).fired != 0) ++k;
  EXPECT_GT(k, 1u);
}

TEST_P(AllocationSweepTest, AllFailFromEachOn) {
  Sweep sweep("allocations, from then on", GetParam(), World::kShared);
  uint64_t k = 1;
  while (sweep.Run({.plan = "", .allocation = k, .and_later = true}).fired != 0)
    ++k;
  EXPECT_GT(k, 1u);
}

}  // namespace
}  // namespace rpma::faults
