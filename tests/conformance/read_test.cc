// SPDX-License-Identifier: BSD-3-Clause
// rpma_read(): bytes of the other side arrive, and only the requester hears of
// it.

#include <algorithm>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;

class ReadTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, ReadTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

TEST_P(ReadTest, BringsTheBytesOfTheOtherSide) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  pair.server.region->Fill(0x5a);
  ASSERT_THAT(client.Read(1, 16, 32, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(1, 8, client.qp_num));

  EXPECT_THAT(client.region->bytes().subspan(16, 8), Each(0x5a));
  EXPECT_THAT(client.region->bytes().first(16), Each(0));
  EXPECT_THAT(client.region->bytes().subspan(24), Each(0));
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_TRUE(IsEmpty(pair.server.cq));
}

TEST_P(ReadTest, WorksFromBothSides) {
  const Pair pair = ConnectedPair();
  pair.client.region->Fill(0xc1);
  ASSERT_THAT(pair.server.Read(1, 0, 0, 64), IsOk());
  EXPECT_THAT(Poll(pair.server.cq), ReadSucceeded(1, 64, pair.server.qp_num));
  EXPECT_THAT(pair.server.region->bytes().first(64), Each(0xc1));
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

TEST_P(ReadTest, CopiesFromTheOffsetOfTheSourceToThatOfTheDestination) {
  const Pair pair = ConnectedPair();
  Number(pair.server.region->bytes(), 0);
  ASSERT_THAT(pair.client.Read(1, 5, 201, 31), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(1, 31, pair.client.qp_num));
  EXPECT_TRUE(std::ranges::equal(pair.client.region->bytes().subspan(5, 31),
                                 pair.server.region->bytes().subspan(201, 31)));
}

TEST_P(ReadTest, ReachesTheLastByteOfBothRegions) {
  const Pair pair = ConnectedPair({.region_size = 100});
  pair.server.region->Fill(0x77);
  ASSERT_THAT(pair.client.Read(1, 99, 99, 1), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(1, 1, pair.client.qp_num));
  EXPECT_EQ(pair.client.region->bytes()[99], 0x77);
  EXPECT_EQ(pair.client.region->bytes()[98], 0);
}

TEST_P(ReadTest, BringsAMebibyte) {
  const Pair pair = ConnectedPair({.region_size = 1 << 20});
  Number(pair.server.region->bytes(), 1);
  ASSERT_THAT(pair.client.Read(1, 0, 0, 1 << 20), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              ReadSucceeded(1, 1 << 20, pair.client.qp_num));
  EXPECT_TRUE(std::ranges::equal(pair.client.region->bytes(),
                                 pair.server.region->bytes()));
}

TEST_P(ReadTest, OfNoBytesMayTouchNoMemory) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(rpma_read(client.conn, nullptr, 0, nullptr, 0, 0,
                        RPMA_F_COMPLETION_ALWAYS, Context(1)),
              IsOk());
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(1, 0, client.qp_num));
}

TEST_P(ReadTest, OfNoBytesMayStandAnywhereInARegion) {
  const Pair pair = ConnectedPair();
  pair.server.region->Fill(0x5a);
  ASSERT_THAT(pair.client.Read(1, 0, 0, 0), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(1, 0, pair.client.qp_num));
  ASSERT_THAT(pair.client.Read(2, 4096, 4096, 0), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(2, 0, pair.client.qp_num));
  EXPECT_THAT(pair.client.region->bytes(), Each(0));
}

TEST_P(ReadTest, WithoutACompletionStillBringsItsBytes) {
  const Pair pair = ConnectedPair();
  pair.server.region->Fill(0x5a);
  ASSERT_THAT(pair.client.Read(1, 0, 0, 8, RPMA_F_COMPLETION_ON_ERROR), IsOk());
  ASSERT_THAT(pair.client.Read(2, 8, 8, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(2, 8, pair.client.qp_num));
  EXPECT_TRUE(IsEmpty(pair.client.cq));
  EXPECT_THAT(pair.client.region->bytes().first(16), Each(0x5a));
}

TEST_P(ReadTest, ContextMayBeNull) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.client.Read(0, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(0, 8, pair.client.qp_num));
}

}  // namespace
}  // namespace rpma::test
