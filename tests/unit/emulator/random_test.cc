// SPDX-License-Identifier: BSD-3-Clause
// The random numbers, which must be the same everywhere and for ever.

#include "emulator/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> Draw(Random random, size_t count) {
  std::vector<uint64_t> drawn;
  for (size_t i = 0; i < count; ++i) drawn.push_back(random.Next());
  return drawn;
}

// The test vector of https://prng.di.unimi.it/splitmix64.c.
TEST(RandomTest, IsSplitMix64) {
  EXPECT_THAT(Draw(Random(1234567), 5),
              ElementsAre(6457827717110365317u, 3203168211198807973u,
                          9817491932198370423u, 4593380528125082431u,
                          16408922859458223821u));
}

TEST(RandomTest, StreamsOfASeedAndSeedsOfAStreamDiffer) {
  const auto drawn = Draw(Random(7, 1), 3);
  EXPECT_EQ(Draw(Random(7, 1), 3), drawn);
  EXPECT_NE(Draw(Random(7, 2), 3), drawn);
  EXPECT_NE(Draw(Random(8, 1), 3), drawn);
}

TEST(RandomTest, NumbersBelowABoundAreAllAlikeLikely) {
  constexpr size_t kBound = 6;
  constexpr int kDraws = 60'000;
  std::array<int, kBound> counts{};
  Random random(1);
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.Below(kBound));
  for (const int count : counts) EXPECT_NEAR(count, kDraws / kBound, 400);
}

TEST(RandomTest, OnlyZeroIsBelowOne) {
  Random random(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.Below(1), 0u);
}

// More than half of all 64-bit numbers would favour the small results.
TEST(RandomTest, LargeBoundsAreFair) {
  constexpr size_t kBound = (size_t{1} << 63) + (size_t{1} << 62);
  int small = 0;
  Random random(1);
  for (int i = 0; i < 10'000; ++i) small += random.Below(kBound) < kBound / 3;
  EXPECT_NEAR(small, 3333, 200);
}

}  // namespace
}  // namespace rpma::emu
