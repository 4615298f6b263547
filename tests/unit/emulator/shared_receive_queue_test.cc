// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues: who gets a receive, who waits, and their events.

#include "emulator/shared_receive_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PairOptions WithSrq() {
  PairOptions options;
  options.with_srq = true;
  return options;
}

// A pair of which the server shares its receives between two connections.
struct TwoClients : ConnectedPair {
  TwoClients() : ConnectedPair(WithSrq()) {
    second_server_qp = server.MakeQp();
    second_client_qp = client.MakeQp();
    Connect(second_client_qp, ClientQp(second_client_qp), second_server_qp,
            ServerQp(second_server_qp), {});
  }
  ~TwoClients() {
    EXPECT_EQ(client.device.DestroyQp(second_client_qp.get()), 0);
    EXPECT_EQ(server.device.DestroyQp(second_server_qp.get()), 0);
  }
  int Send(QueuePair& qp, uint64_t wr_id) {
    auto wr = End::Request(wr_id, IBV_WR_SEND, nullptr, IBV_SEND_SIGNALED);
    ibv_send_wr* bad = nullptr;
    return qp.PostSend(&wr, &bad);
  }
  std::vector<uint64_t> SentWrIds() {
    std::vector<uint64_t> ids;
    for (const ibv_wc& wc : client.PollSend()) ids.push_back(wc.wr_id);
    return ids;
  }

  std::shared_ptr<QueuePair> second_server_qp;
  std::shared_ptr<QueuePair> second_client_qp;
};

TEST(SharedReceiveQueueTest, MessagesOfAllQueuePairsTakeReceivesInOrder) {
  TwoClients world;
  ASSERT_EQ(world.server.Recv(1, 0, 8), 0);
  ASSERT_EQ(world.server.Recv(2, 0, 8), 0);
  ASSERT_EQ(world.Send(*world.second_client_qp, 10), 0);
  ASSERT_EQ(world.Send(*world.client.qp, 11), 0);
  const auto received = world.server.PollRecv();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].wr_id, 1u);
  EXPECT_EQ(received[0].qp_num, world.second_server_qp->qp_num);
  EXPECT_EQ(received[1].wr_id, 2u);
  EXPECT_EQ(received[1].qp_num, world.server.qp->qp_num);
}

TEST(SharedReceiveQueueTest, WaitingSendersAreServedOldestFirst) {
  TwoClients world;
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(world.Send(*world.client.qp, i), 0);  // floods
  }
  ASSERT_EQ(world.Send(*world.second_client_qp, 100), 0);
  EXPECT_THAT(world.SentWrIds(), IsEmpty());

  ASSERT_EQ(world.server.Recv(1, 0, 8), 0);
  EXPECT_THAT(world.SentWrIds(), ElementsAre(0));
  // The first came back to the end of the line: the second is next.
  ASSERT_EQ(world.server.Recv(2, 0, 8), 0);
  EXPECT_THAT(world.SentWrIds(), ElementsAre(100));
  ASSERT_EQ(world.server.Recv(3, 0, 8), 0);
  ASSERT_EQ(world.server.Recv(4, 0, 8), 0);
  EXPECT_THAT(world.SentWrIds(), ElementsAre(1, 2));
}

TEST(SharedReceiveQueueTest, AChainOfReceivesWakesAsManyAsItServes) {
  TwoClients world;
  ASSERT_EQ(world.Send(*world.client.qp, 1), 0);
  ASSERT_EQ(world.Send(*world.second_client_qp, 2), 0);
  ibv_recv_wr second{21, nullptr, nullptr, 0};
  ibv_recv_wr first{20, &second, nullptr, 0};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(world.server.srq->PostRecv(&first, &bad), 0);
  EXPECT_THAT(world.SentWrIds(), ElementsAre(1, 2));
}

TEST(SharedReceiveQueueTest, ADestroyedQueuePairLeavesTheLine) {
  TwoClients world;
  ASSERT_EQ(world.Send(*world.client.qp, 1), 0);
  ASSERT_EQ(world.Send(*world.second_client_qp, 2), 0);
  world.server.DestroyQp();
  ASSERT_EQ(world.server.Recv(1, 0, 8), 0);
  EXPECT_THAT(world.SentWrIds(), ElementsAre(2));
}

TEST(SharedReceiveQueueTest, AQueuePairWithOneHasNoReceivesOfItsOwn) {
  ConnectedPair pair(WithSrq());
  ibv_recv_wr receive{1, nullptr, nullptr, 0};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(pair.server.qp->PostRecv(&receive, &bad), EINVAL);
  EXPECT_EQ(bad, &receive);
}

TEST(SharedReceiveQueueTest, AFullQueueRefusesTheRestOfAChain) {
  PairOptions options = WithSrq();
  options.max_wr = 2;
  ConnectedPair pair(options);
  ibv_recv_wr third{3, nullptr, nullptr, 0};
  ibv_recv_wr second{2, &third, nullptr, 0};
  ibv_recv_wr first{1, &second, nullptr, 0};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(pair.server.srq->PostRecv(&first, &bad), ENOMEM);
  EXPECT_EQ(bad, &third);
}

TEST(SharedReceiveQueueTest, TheLimitEventComesOnce) {
  PairOptions options = WithSrq();
  options.srq_limit = 2;
  ConnectedPair pair(options);
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.server.Recv(i, 0, 8), 0);
  }
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_THAT(pair.server.AsyncEvents(), IsEmpty());
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  ibv_async_event event;
  ASSERT_EQ(pair.server.device.GetAsyncEvent(&event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, pair.server.srq);
  ASSERT_EQ(pair.client.Send(3, 0, 8), 0);
  EXPECT_THAT(pair.server.AsyncEvents(), IsEmpty());
}

TEST(SharedReceiveQueueTest, ErrorKeepsTheReceivesAndReportsTheLastWqe) {
  TwoClients world;
  ASSERT_EQ(world.server.Recv(1, 0, 8), 0);
  ASSERT_EQ(world.server.qp->ToError(), 0);
  ASSERT_EQ(world.server.qp->ToError(), 0);
  EXPECT_THAT(world.server.PollRecv(), IsEmpty());
  EXPECT_THAT(world.server.AsyncEvents(),
              ElementsAre(IBV_EVENT_QP_LAST_WQE_REACHED));
  ASSERT_EQ(world.Send(*world.second_client_qp, 2), 0);
  EXPECT_EQ(world.server.PollRecv().size(), 1u);
}

TEST(SharedReceiveQueueTest, AReceiveThatFailsNamesTheQueuePairOfTheMessage) {
  TwoClients world;
  ASSERT_EQ(world.server.Recv(1, 0, 4), 0);
  ASSERT_EQ(world.server.Recv(2, 0, 4), 0);
  ASSERT_EQ(world.client.Send(10, 0, 5), 0);
  const auto received = world.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);  // the other receive is for other messages
  EXPECT_EQ(received[0].wr_id, 1u);
  EXPECT_EQ(received[0].status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(received[0].qp_num, world.server.qp->qp_num);
  EXPECT_THAT(world.server.AsyncEvents(),
              ElementsAre(IBV_EVENT_QP_LAST_WQE_REACHED));
}

TEST(SharedReceiveQueueTest, ReceivesAreCheckedAgainstItsOwnDomain) {
  ConnectedPair pair(WithSrq());
  End& server = pair.server;
  ProtectionDomain* other = nullptr;
  ASSERT_EQ(server.device.AllocPd(&other), 0);
  SharedReceiveQueue* srq = nullptr;
  ASSERT_EQ(server.device.CreateSrq(other, 4, 1, 0, &srq), 0);
  MemoryRegion* mr = nullptr;
  ASSERT_EQ(
      server.device.RegMr(other, reinterpret_cast<void*>(server.Address()), 64,
                          IBV_ACCESS_LOCAL_WRITE, &mr),
      0);
  SharedReceiveQueue* const first_srq = server.srq;
  server.srq = srq;
  const auto server_qp = server.MakeQp();
  const auto client_qp = pair.client.MakeQp();
  Connect(client_qp, server_qp, {});
  ibv_sge sge{server.Address(), 8, mr->lkey};
  ibv_recv_wr receive{1, nullptr, &sge, 1};
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(srq->PostRecv(&receive, &bad_receive), 0);
  ibv_sge from = pair.client.Sge(0, 8);
  auto wr = End::Request(2, IBV_WR_SEND, &from, IBV_SEND_SIGNALED);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(client_qp->PostSend(&wr, &bad), 0);
  EXPECT_EQ(server.AwaitRecv().status, IBV_WC_SUCCESS);

  EXPECT_EQ(pair.client.device.DestroyQp(client_qp.get()), 0);
  EXPECT_EQ(server.device.DestroyQp(server_qp.get()), 0);
  EXPECT_EQ(server.device.DestroySrq(srq), 0);
  EXPECT_EQ(server.device.DeregMr(mr), 0);
  EXPECT_EQ(server.device.DeallocPd(other), 0);
  server.srq = first_srq;
}

}  // namespace
}  // namespace rpma::emu
