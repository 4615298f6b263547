// SPDX-License-Identifier: BSD-3-Clause
// rpma_write() and rpma_write_with_imm(): bytes arrive at the other side, which
// hears of it only with immediate data.

#include <algorithm>

#include "tests/conformance/arrival.h"
#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WriteTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, WriteTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

TEST_P(WriteTest, BringsTheBytesToTheOtherSide) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const std::span<uint8_t> target = pair.server.region->bytes();
  client.region->Fill(0xa5);
  ASSERT_THAT(client.Write(1, 32, 16, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num));
  AwaitArrival(provider(), client);

  EXPECT_THAT(target.subspan(32, 8), Each(0xa5));
  EXPECT_THAT(target.first(32), Each(0));
  EXPECT_THAT(target.subspan(40), Each(0));
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_TRUE(IsEmpty(pair.server.cq));
}

TEST_P(WriteTest, WorksFromBothSides) {
  const Pair pair = ConnectedPair();
  pair.server.region->Fill(0x51);
  ASSERT_THAT(pair.server.Write(1, 0, 0, 64), IsOk());
  EXPECT_THAT(Poll(pair.server.cq),
              Succeeded(1, IBV_WC_RDMA_WRITE, pair.server.qp_num));
  AwaitArrival(provider(), pair.server);
  EXPECT_THAT(pair.client.region->bytes().first(64), Each(0x51));
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

TEST_P(WriteTest, CopiesFromTheOffsetOfTheSourceToThatOfTheDestination) {
  const Pair pair = ConnectedPair();
  Number(pair.client.region->bytes(), 0);
  ASSERT_THAT(pair.client.Write(1, 5, 201, 31), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
  AwaitArrival(provider(), pair.client);
  EXPECT_TRUE(std::ranges::equal(pair.server.region->bytes().subspan(5, 31),
                                 pair.client.region->bytes().subspan(201, 31)));
}

TEST_P(WriteTest, ReachesTheLastByteOfBothRegions) {
  const Pair pair = ConnectedPair({.region_size = 100});
  pair.client.region->Fill(0x77);
  ASSERT_THAT(pair.client.Write(1, 99, 99, 1), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
  AwaitArrival(provider(), pair.client);
  EXPECT_EQ(pair.server.region->bytes()[99], 0x77);
  EXPECT_EQ(pair.server.region->bytes()[98], 0);
}

TEST_P(WriteTest, BringsAMebibyte) {
  const Pair pair = ConnectedPair({.region_size = 1 << 20});
  Number(pair.client.region->bytes(), 1);
  ASSERT_THAT(pair.client.Write(1, 0, 0, 1 << 20), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
  AwaitArrival(provider(), pair.client);
  EXPECT_TRUE(std::ranges::equal(pair.client.region->bytes(),
                                 pair.server.region->bytes()));
}

TEST_P(WriteTest, OfNoBytesMayTouchNoMemory) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(rpma_write(client.conn, nullptr, 0, nullptr, 0, 0,
                         RPMA_F_COMPLETION_ALWAYS, Context(1)),
              IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num));
}

TEST_P(WriteTest, OfNoBytesMayStandAnywhereInARegion) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  client.region->Fill(0xa5);
  ASSERT_THAT(client.Write(1, 0, 0, 0), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num));
  ASSERT_THAT(client.Write(2, 4096, 4096, 0), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));
}

TEST_P(WriteTest, WithoutACompletionStillBringsItsBytes) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  client.region->Fill(0xa5);
  ASSERT_THAT(client.Write(1, 0, 0, 8, RPMA_F_COMPLETION_ON_ERROR), IsOk());
  ASSERT_THAT(client.Write(2, 8, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_RDMA_WRITE, client.qp_num));
  AwaitArrival(provider(), client);
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_THAT(pair.server.region->bytes().first(16), Each(0xa5));
}

TEST_P(WriteTest, ReadOnlyMemoryCanBeTheSource) {
  static const char kText[16] = "constant memory";
  LocalMr source;
  ASSERT_THAT(
      rpma_mr_reg(client_peer(), const_cast<char*>(kText), sizeof(kText),
                  RPMA_MR_USAGE_WRITE_SRC, source.address()),
      IsOk());
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(rpma_write(client.conn, client.remote, 0, source, 0,
                         sizeof(kText), RPMA_F_COMPLETION_ALWAYS, Context(1)),
              IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num));
  AwaitArrival(provider(), client);
  EXPECT_TRUE(std::ranges::equal(
      pair.server.region->bytes().first(sizeof(kText)), kText));
}

// --- With immediate data -----------------------------------------------------

class WriteWithImmTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, WriteWithImmTest,
                         ::testing::ValuesIn(With(&Provider::write_with_imm,
                                                  Providers())),
                         ProviderName);

TEST_P(WriteWithImmTest, CompletesAReceiveWhoseBufferItLeavesAlone) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  client.region->Fill(0xa5);
  ASSERT_THAT(server.Recv(1, 512, 64), IsOk());
  ASSERT_THAT(client.WriteWithImm(2, 32, 0, 16, 0x01020304), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_THAT(Poll(server.cq), ReceivedWithImm(1, IBV_WC_RECV_RDMA_WITH_IMM, 16,
                                               0x01020304, server.qp_num));
  EXPECT_THAT(server.region->bytes().subspan(32, 16), Each(0xa5));
  EXPECT_THAT(server.region->bytes().subspan(48), Each(0));
}

TEST_P(WriteWithImmTest, MayBeLongerThanTheReceive) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.client.WriteWithImm(2, 1024, 0, 1024, 7), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(2, IBV_WC_RDMA_WRITE, pair.client.qp_num));
  EXPECT_THAT(Poll(pair.server.cq),
              ReceivedWithImm(1, IBV_WC_RECV_RDMA_WITH_IMM, 1024, 7,
                              pair.server.qp_num));
}

TEST_P(WriteWithImmTest, OfNoBytesConsumesAReceive) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  ASSERT_THAT(server.Recv(1, 0, 0), IsOk());
  ASSERT_THAT(rpma_recv(server.conn, nullptr, 0, 0, Context(2)), IsOk());
  ASSERT_THAT(client.WriteWithImm(3, 0, 0, 0, 10), IsOk());
  ASSERT_THAT(rpma_write_with_imm(client.conn, nullptr, 0, nullptr, 0, 0,
                                  RPMA_F_COMPLETION_ALWAYS, 11, Context(4)),
              IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(3, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_THAT(Poll(client.cq), Succeeded(4, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_THAT(Poll(server.cq), ReceivedWithImm(1, IBV_WC_RECV_RDMA_WITH_IMM, 0,
                                               10, server.qp_num));
  EXPECT_THAT(Poll(server.cq), ReceivedWithImm(2, IBV_WC_RECV_RDMA_WITH_IMM, 0,
                                               11, server.qp_num));
}

TEST_P(WriteWithImmTest, CarriesAllValuesOfTheImmediate) {
  const Pair pair = ConnectedPair();
  for (const uint32_t imm : {0u, 1u, 0x80000000u, 0xffffffffu}) {
    ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
    ASSERT_THAT(pair.client.WriteWithImm(2, 0, 0, 8, imm), IsOk());
    EXPECT_THAT(Poll(pair.client.cq),
                Succeeded(2, IBV_WC_RDMA_WRITE, pair.client.qp_num));
    EXPECT_THAT(Poll(pair.server.cq),
                ReceivedWithImm(1, IBV_WC_RECV_RDMA_WITH_IMM, 8, imm,
                                pair.server.qp_num));
  }
}

TEST_P(WriteWithImmTest, WithoutACompletionStillTellsTheOtherSide) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(
      pair.client.WriteWithImm(2, 0, 0, 8, 3, RPMA_F_COMPLETION_ON_ERROR),
      IsOk());
  EXPECT_THAT(
      Poll(pair.server.cq),
      ReceivedWithImm(1, IBV_WC_RECV_RDMA_WITH_IMM, 8, 3, pair.server.qp_num));
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

class NoWriteWithImmTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, NoWriteWithImmTest,
                         ::testing::ValuesIn(Without(&Provider::write_with_imm,
                                                     Providers())),
                         ProviderName);

TEST_P(NoWriteWithImmTest, ItIsRefusedWhenPosted) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  EXPECT_THAT(client.WriteWithImm(2, 0, 0, 8, 3), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_post_send")));
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_TRUE(IsEmpty(pair.server.cq));

  ASSERT_THAT(client.Write(3, 0, 0, 8), IsOk());  // the connection goes on
  EXPECT_THAT(Poll(client.cq), Succeeded(3, IBV_WC_RDMA_WRITE, client.qp_num));
}

}  // namespace
}  // namespace rpma::test
