// SPDX-License-Identifier: BSD-3-Clause
// The same seed and plan give the same history, run after run.

#include "tests/faults/histories.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "tests/faults/sweep.h"

namespace rpma::faults {
namespace {

class HistoriesTest : public ScenarioTest {};

RPMA_FOR_EACH_SCENARIO(HistoriesTest);

TEST_P(HistoriesTest, AreTheSameEachTime) {
  for (const History& history : HistoriesOf(GetParam())) {
    const uint64_t first = HashOf(history);
    EXPECT_EQ(HashOf(history), first) << history.Name();
  }
}

TEST(HashTest, DiffersFromSeedToSeed) {
  constexpr uint64_t kSeeds = 32;
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    hashes.insert(HashOf({FindScenario("both_send"), "", seed}));
  }
  EXPECT_GT(hashes.size(), kSeeds / 2);
}

TEST(HashTest, DiffersFromPlanToPlan) {
  std::set<uint64_t> hashes;
  for (const char* plan : {"", "drop REQ", "drop REP", "exit device=emu0"}) {
    EXPECT_TRUE(
        hashes.insert(HashOf({FindScenario("connect"), plan, 1})).second)
        << plan;
  }
}

}  // namespace
}  // namespace rpma::faults
