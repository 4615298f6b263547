// SPDX-License-Identifier: BSD-3-Clause
// The simulation's generator: the same numbers everywhere, for ever.

#include "tests/sim/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rpma::sim {
namespace {

using ::testing::ElementsAre;

TEST(SimRandomTest, NumbersOfASeedNeverChange) {
  Random random(1, "actions");
  const std::vector<uint64_t> drawn = {random.Next(), random.Next()};
  EXPECT_THAT(drawn, ElementsAre(11327977058493592989u, 6244376083493565506u));
}

TEST(SimRandomTest, StreamsOfASeedDiffer) {
  Random actions(1, "actions");
  Random data(1, "data");
  EXPECT_NE(actions.Next(), data.Next());
}

TEST(SimRandomTest, SeedsDiffer) {
  Random one(1, "data");
  Random two(2, "data");
  EXPECT_NE(one.Next(), two.Next());
}

TEST(SimRandomTest, BetweenReachesBothEndsAndNothingBeyond) {
  Random random(1, "data");
  std::array<int, 8> hits = {};
  for (int i = 0; i < 1000; ++i) ++hits[random.Between(2, 5)];
  EXPECT_EQ(hits[1] + hits[6], 0);
  for (size_t i = 2; i <= 5; ++i) EXPECT_GT(hits[i], 150);
}

TEST(SimRandomTest, WeightsAreOdds) {
  Random random(1, "data");
  constexpr unsigned kWeights[] = {0, 3, 0, 1};
  std::array<int, 4> hits = {};
  for (int i = 0; i < 1000; ++i) ++hits[random.Weighted(kWeights)];
  EXPECT_EQ(hits[0] + hits[2], 0);
  EXPECT_GT(hits[1], 2 * hits[3]);
  EXPECT_GT(hits[3], 150);
}

}  // namespace
}  // namespace rpma::sim
