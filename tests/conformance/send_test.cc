// SPDX-License-Identifier: BSD-3-Clause
// rpma_send(), rpma_send_with_imm() and the receives that take what they send:
// rpma_recv(), rpma_conn_req_recv().

#include <algorithm>
#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class SendTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, SendTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

TEST_P(SendTest, BringsTheBytesIntoTheReceive) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  Number(client.region->bytes(), 1);
  ASSERT_THAT(server.Recv(1, 100, 64), IsOk());
  ASSERT_THAT(client.Send(2, 7, 16), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(server.cq), Received(1, 16, server.qp_num));

  EXPECT_TRUE(std::ranges::equal(server.region->bytes().subspan(100, 16),
                                 client.region->bytes().subspan(7, 16)));
  EXPECT_THAT(server.region->bytes().first(100), Each(0));
  EXPECT_THAT(server.region->bytes().subspan(116), Each(0));
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_TRUE(IsEmpty(server.cq));
}

TEST_P(SendTest, ReceivesAreConsumedInTheOrderPosted) {
  const Pair pair = ConnectedPair();
  const std::span<uint8_t> received = pair.server.region->bytes();
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_THAT(pair.server.Recv(10 + i, 8 * i, 8), IsOk());
    pair.client.region->bytes()[i] = static_cast<uint8_t>(0xa0 + i);
  }
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_THAT(pair.client.Send(20 + i, i, 1), IsOk());
  }
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(Poll(pair.client.cq),
                Succeeded(20 + i, IBV_WC_SEND, pair.client.qp_num));
    EXPECT_THAT(Poll(pair.server.cq), Received(10 + i, 1, pair.server.qp_num));
    EXPECT_EQ(received[8 * i], 0xa0 + i);
    EXPECT_EQ(received[8 * i + 1], 0);
  }
}

TEST_P(SendTest, MayFillTheReceive) {
  const Pair pair = ConnectedPair({.region_size = 1 << 20});
  pair.client.region->Fill(0x3c);
  ASSERT_THAT(pair.server.Recv(1, 0, 1 << 20), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 1 << 20), IsOk());
  EXPECT_THAT(Poll(pair.server.cq), Received(1, 1 << 20, pair.server.qp_num));
  EXPECT_THAT(pair.server.region->bytes(), Each(0x3c));
}

TEST_P(SendTest, EmptyMessageMayTouchNoMemory) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  ASSERT_THAT(rpma_recv(server.conn, nullptr, 0, 0, Context(1)), IsOk());
  ASSERT_THAT(server.Recv(2, 0, 8), IsOk());
  ASSERT_THAT(rpma_send(client.conn, nullptr, 0, 0, RPMA_F_COMPLETION_ALWAYS,
                        Context(3)),
              IsOk());
  ASSERT_THAT(client.Send(4, 4096, 0), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(3, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(client.cq), Succeeded(4, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(server.cq), Received(1, 0, server.qp_num));
  EXPECT_THAT(Poll(server.cq), Received(2, 0, server.qp_num));
  EXPECT_THAT(server.region->bytes(), Each(0));
}

TEST_P(SendTest, WithoutACompletionStillArrives) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 8, RPMA_F_COMPLETION_ON_ERROR), IsOk());
  EXPECT_THAT(Poll(pair.server.cq), Received(1, 8, pair.server.qp_num));
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

TEST_P(SendTest, SidesMaySendToEachOtherAtTheSameTime) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.client.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.server.Recv(2, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Send(3, 8, 8), IsOk());
  ASSERT_THAT(pair.server.Send(4, 8, 4), IsOk());
  const std::vector<ibv_wc> client = {Poll(pair.client.cq),
                                      Poll(pair.client.cq)};
  EXPECT_THAT(client, UnorderedElementsAre(
                          Succeeded(3, IBV_WC_SEND, pair.client.qp_num),
                          Received(1, 4, pair.client.qp_num)));
  const std::vector<ibv_wc> server = {Poll(pair.server.cq),
                                      Poll(pair.server.cq)};
  EXPECT_THAT(server, UnorderedElementsAre(
                          Received(2, 8, pair.server.qp_num),
                          Succeeded(4, IBV_WC_SEND, pair.server.qp_num)));
}

TEST_P(SendTest, ReceivesOfTheRequestComeBeforeThoseOfTheConnection) {
  const Pair pair = ConnectedPair({
      .before_server_connects =
          [](rpma_conn_req* request, const Region& region) {
            EXPECT_THAT(
                rpma_conn_req_recv(request, region.mr(), 0, 8, Context(1)),
                IsOk());
            EXPECT_THAT(
                rpma_conn_req_recv(request, region.mr(), 8, 8, Context(2)),
                IsOk());
          },
  });
  pair.client.region->Fill(0x42);
  ASSERT_THAT(pair.server.Recv(3, 16, 8), IsOk());
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_THAT(pair.client.Send(10 + i, 0, 8), IsOk());
    EXPECT_THAT(Poll(pair.server.cq), Received(1 + i, 8, pair.server.qp_num));
  }
  EXPECT_THAT(pair.server.region->bytes().first(24), Each(0x42));
}

// --- With immediate data -----------------------------------------------------

class SendWithImmTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, SendWithImmTest,
                         ::testing::ValuesIn(With(&Provider::send_with_imm,
                                                  Providers())),
                         ProviderName);

TEST_P(SendWithImmTest, ReceiveGetsBytesAndImmediate) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  client.region->Fill(0x6d);
  ASSERT_THAT(server.Recv(1, 0, 64), IsOk());
  ASSERT_THAT(client.SendWithImm(2, 0, 16, 0x01020304), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(server.cq),
              ReceivedWithImm(1, IBV_WC_RECV, 16, 0x01020304, server.qp_num));
  EXPECT_THAT(server.region->bytes().first(16), Each(0x6d));
  EXPECT_THAT(server.region->bytes().subspan(16), Each(0));
}

TEST_P(SendWithImmTest, EmptyMessageMayTouchNoMemory) {
  const Pair pair = ConnectedPair();
  const End& server = pair.server;
  ASSERT_THAT(rpma_recv(server.conn, nullptr, 0, 0, Context(1)), IsOk());
  ASSERT_THAT(
      rpma_send_with_imm(pair.client.conn, nullptr, 0, 0,
                         RPMA_F_COMPLETION_ALWAYS, 0xffffffff, Context(2)),
      IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(2, IBV_WC_SEND, pair.client.qp_num));
  EXPECT_THAT(Poll(server.cq),
              ReceivedWithImm(1, IBV_WC_RECV, 0, 0xffffffff, server.qp_num));
}

TEST_P(SendWithImmTest, OnlyItsOwnReceiveHasAnImmediate) {
  const Pair pair = ConnectedPair();
  const End& server = pair.server;
  for (uint64_t i = 1; i <= 3; ++i) {
    ASSERT_THAT(server.Recv(i, 0, 8), IsOk());
  }
  ASSERT_THAT(pair.client.Send(4, 0, 8), IsOk());
  ASSERT_THAT(pair.client.SendWithImm(5, 0, 8, 9, RPMA_F_COMPLETION_ON_ERROR),
              IsOk());
  ASSERT_THAT(pair.client.Send(6, 0, 8), IsOk());
  EXPECT_THAT(Poll(server.cq), Received(1, 8, server.qp_num));
  EXPECT_THAT(Poll(server.cq),
              ReceivedWithImm(2, IBV_WC_RECV, 8, 9, server.qp_num));
  EXPECT_THAT(Poll(server.cq), Received(3, 8, server.qp_num));
}

class NoSendWithImmTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, NoSendWithImmTest,
                         ::testing::ValuesIn(Without(&Provider::send_with_imm,
                                                     Providers())),
                         ProviderName);

TEST_P(NoSendWithImmTest, ItIsRefusedWhenPosted) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  EXPECT_THAT(pair.client.SendWithImm(2, 0, 8, 3), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_post_send")));
  EXPECT_TRUE(IsEmpty(pair.client.cq));

  ASSERT_THAT(pair.client.Send(3, 0, 8), IsOk());  // the connection goes on
  EXPECT_THAT(Poll(pair.server.cq), Received(1, 8, pair.server.qp_num));
}

// --- Without a receive -------------------------------------------------------

class LateReceiveTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, LateReceiveTest,
                         ::testing::ValuesIn(With(&Provider::waits_for_receive,
                                                  Providers())),
                         ProviderName);

TEST_P(LateReceiveTest, MessageWaitsAndArrivesOnce) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  client.region->Fill(0x2b);
  ASSERT_THAT(client.Send(1, 0, 8), IsOk());
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_TRUE(IsEmpty(server.cq));

  ASSERT_THAT(server.Recv(2, 0, 8), IsOk());
  EXPECT_THAT(Poll(server.cq), Received(2, 8, server.qp_num));
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(server.region->bytes().first(8), Each(0x2b));

  ASSERT_THAT(server.Recv(3, 0, 8), IsOk());
  ASSERT_THAT(client.Send(4, 8, 4), IsOk());
  EXPECT_THAT(Poll(server.cq), Received(3, 4, server.qp_num));
  EXPECT_TRUE(IsEmpty(server.cq));
}

TEST_P(LateReceiveTest, RequestsBehindAMessageWaitForItsReceive) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  client.region->Fill(0x2b);
  ASSERT_THAT(client.Send(1, 0, 8), IsOk());
  ASSERT_THAT(client.Write(2, 1024, 0, 8), IsOk());
  ASSERT_THAT(client.Send(3, 0, 16), IsOk());
  ASSERT_THAT(client.Read(4, 0, 2048, 8), IsOk());
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_EQ(server.region->bytes()[1024], 0);

  ASSERT_THAT(server.Recv(5, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_THAT(server.region->bytes().subspan(1024, 8), Each(0x2b));
  EXPECT_TRUE(IsEmpty(client.cq));

  ASSERT_THAT(server.Recv(6, 0, 16), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(3, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(4, 8, client.qp_num));
  EXPECT_THAT(Poll(server.cq), Received(5, 8, server.qp_num));
  EXPECT_THAT(Poll(server.cq), Received(6, 16, server.qp_num));
}

TEST_P(LateReceiveTest, WriteWithImmWaitsToo) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.WriteWithImm(1, 0, 0, 8, 4), IsOk());
  EXPECT_TRUE(IsEmpty(client.cq));
  ASSERT_THAT(rpma_recv(pair.server.conn, nullptr, 0, 0, Context(2)), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_THAT(
      Poll(pair.server.cq),
      ReceivedWithImm(2, IBV_WC_RECV_RDMA_WITH_IMM, 8, 4, pair.server.qp_num));
}

class NoReceiveTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(
    , NoReceiveTest,
    ::testing::ValuesIn(Without(&Provider::waits_for_receive, Providers())),
    ProviderName);

TEST_P(NoReceiveTest, MessageEndsTheConnection) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.client.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              EndedRefused(2, provider().RefusedSend(IBV_WC_WR_FLUSH_ERR),
                           pair.client.qp_num));
  EXPECT_THAT(Poll(pair.client.cq), Flushed(1, pair.client.qp_num));
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_TRUE(IsEmpty(pair.server.cq));
  ExpectExplained(pair.client, HasSubstr("no receive was posted"));
}

}  // namespace
}  // namespace rpma::test
