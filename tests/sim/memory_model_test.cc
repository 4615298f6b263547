// SPDX-License-Identifier: BSD-3-Clause
// What the model of memory accepts, and what it does not.

#include "tests/sim/memory_model.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/sim/violation.h"

namespace rpma::sim {
namespace {

using Bytes = std::vector<uint8_t>;

class MemoryModelTest : public ::testing::Test {
 protected:
  bool Accepts(const Bytes& bytes) {
    try {
      model_.Check(bytes);
      return true;
    } catch (const Violation&) {
      return false;
    }
  }
  MemoryModel::Transfer Begin(size_t offset, const Bytes& bytes, Tick now,
                              Origin origin = {}) {
    return model_.Begin(offset, ExactContent(bytes), origin, now);
  }

  MemoryModel model_{"memory", Bytes{1, 2, 3, 4}};
};

TEST_F(MemoryModelTest, MemoryStaysAsItIs) {
  EXPECT_TRUE(Accepts({1, 2, 3, 4}));
  EXPECT_FALSE(Accepts({1, 2, 3, 5}));
}

TEST_F(MemoryModelTest, WhatTheOwnerStoredIsThere) {
  model_.Store(1, Bytes{7, 8});
  EXPECT_TRUE(Accepts({1, 7, 8, 4}));
  EXPECT_FALSE(Accepts({1, 2, 3, 4}));
}

TEST_F(MemoryModelTest, ATransferUnderWayMayHaveArrivedInPart) {
  Begin(1, {7, 8}, 1);
  EXPECT_TRUE(Accepts({1, 2, 3, 4}));
  EXPECT_TRUE(Accepts({1, 7, 3, 4}));
  EXPECT_TRUE(Accepts({1, 7, 8, 4}));
  EXPECT_FALSE(Accepts({1, 8, 7, 4}));
  EXPECT_FALSE(Accepts({7, 2, 3, 4}));
}

TEST_F(MemoryModelTest, ATransferThatHasTakenEffectIsThere) {
  model_.Finish(Begin(1, {7, 8}, 1), 2);
  EXPECT_FALSE(Accepts({1, 2, 8, 4}));
  EXPECT_TRUE(Accepts({1, 7, 8, 4}));
}

TEST_F(MemoryModelTest, WhatWasSeenAfterAllTransfersStays) {
  model_.Abandon(Begin(1, {7}, 1));
  EXPECT_TRUE(Accepts({1, 7, 3, 4}));
  EXPECT_TRUE(Accepts({1, 2, 3, 4})) << "it may still take effect";
  model_.SettleAbandoned();
  EXPECT_TRUE(Accepts({1, 7, 3, 4}));
  EXPECT_FALSE(Accepts({1, 2, 3, 4}));
}

TEST_F(MemoryModelTest, ACancelledTransferHasNoEffect) {
  model_.Cancel(Begin(1, {7}, 1));
  EXPECT_FALSE(Accepts({1, 7, 3, 4}));
  EXPECT_TRUE(Accepts({1, 2, 3, 4}));
}

TEST_F(MemoryModelTest, TheLastOfTransfersAtOnceIsNotKnown) {
  const auto first = Begin(0, {7}, 1);
  const auto second = Begin(0, {8}, 1);
  model_.Finish(second, 2);
  model_.Finish(first, 3);
  EXPECT_FALSE(Accepts({1, 2, 3, 4}));
  EXPECT_TRUE(Accepts({7, 2, 3, 4}));
  EXPECT_FALSE(Accepts({8, 2, 3, 4})) << "it was seen to be 7 at the end";
}

TEST_F(MemoryModelTest, ALaterTransferReplacesAnEarlierOne) {
  const auto first = Begin(0, {7}, 1);
  model_.Finish(first, 2);
  model_.Finish(Begin(0, {8}, 3), 4);
  EXPECT_FALSE(Accepts({7, 2, 3, 4}));
  EXPECT_TRUE(Accepts({8, 2, 3, 4}));
}

TEST_F(MemoryModelTest, TransfersOfAQueueTakeEffectInOrder) {
  const auto first = Begin(0, {7}, 1, {.queue = 1, .number = 1});
  const auto second = Begin(0, {8}, 1, {.queue = 1, .number = 2});
  model_.Finish(second, 2);
  model_.Finish(first, 3);
  EXPECT_FALSE(Accepts({7, 2, 3, 4}));
  EXPECT_TRUE(Accepts({8, 2, 3, 4}));
}

TEST_F(MemoryModelTest, ATransferMayBringLessThanItCould) {
  const auto transfer = model_.Begin(0, AnyContent(3), {}, 1);
  EXPECT_TRUE(Accepts({9, 9, 9, 4}));
  model_.Finish(transfer, Bytes{7}, 2);
  EXPECT_FALSE(Accepts({7, 9, 3, 4}));
  EXPECT_TRUE(Accepts({7, 2, 3, 4}));
}

TEST_F(MemoryModelTest, AReaderSeesWhatIsThereAndWhatComes) {
  const Bytes now = {1, 2, 3, 4};
  Begin(0, {5}, 1);
  const Content seen = model_.Observe(0, 2, now);
  Begin(1, {6}, 2);
  model_.Store(1, Bytes{7});
  const std::vector<ByteSet>& sets = *seen;
  EXPECT_EQ(sets[0].count(), 2u);
  EXPECT_TRUE(sets[0].test(1) && sets[0].test(5));
  EXPECT_EQ(sets[1].count(), 3u);
  EXPECT_TRUE(sets[1].test(2) && sets[1].test(6) && sets[1].test(7));
}

TEST_F(MemoryModelTest, AReadBringsNothingThatCameAfterIt) {
  MemoryModel source("source", Bytes{1});
  const auto read = model_.Begin(0, source.Observe(0, 1, Bytes{1}), {}, 1,
                                 MemoryModel::Growth::kGrows);
  source.Store(0, Bytes{9});
  model_.Finish(read, 2);
  source.Store(0, Bytes{8});
  EXPECT_FALSE(Accepts({8, 2, 3, 4}));
  EXPECT_TRUE(Accepts({9, 2, 3, 4}));
}

}  // namespace
}  // namespace rpma::sim
