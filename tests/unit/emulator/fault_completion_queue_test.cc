// SPDX-License-Identifier: BSD-3-Clause
// Completion queues that a fault lets overrun, and events of a foreign one.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;

TEST(OverrunFaultTest, TheNthCompletionFindsItsQueueFull) {
  ConnectedPair pair;
  pair.SetFaults({{.action = FaultAction::kOverrun, .nth = 2}});
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);

  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  ibv_wc wc;
  EXPECT_LT(pair.client.send_cq->Poll(1, &wc), 0);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_THAT(pair.client.AsyncEvents(),
              ElementsAre(IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL));
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
  EXPECT_EQ(pair.Counts().fired, 1u);
}

TEST(OverrunFaultTest, AProfileThatDropsLosesTheCompletionSilently) {
  PairOptions options;
  options.profile.cq_overrun = CqOverrun::kDrop;
  ConnectedPair pair(options);
  pair.SetFaults({{.action = FaultAction::kOverrun, .nth = 2}});
  for (uint64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(pair.client.Write(i, 0, 8, pair.server, 0), 0);
  }
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].wr_id, 3u);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_RTS);
}

class ForeignCqTest : public ::testing::Test {
 protected:
  // A receive that completes on the server's armed CQ.
  void RaiseEvent() {
    pair_.server.recv_cq->Arm(/*solicited_only=*/false);
    ASSERT_EQ(pair_.server.Recv(1, 0, 8), 0);
    ASSERT_EQ(pair_.client.Send(1, 0, 8), 0);
  }
  CompletionQueue* NextEvent() {
    CompletionQueue* cq = nullptr;
    EXPECT_EQ(pair_.server.channel->GetEvent(&cq), 0);
    return cq;
  }

  ConnectedPair pair_;
};

TEST_F(ForeignCqTest, ItComesBeforeTheEventThatWaits) {
  pair_.SetFaults({{.action = FaultAction::kForeignCq}});
  RaiseEvent();
  CompletionQueue* const foreign = NextEvent();
  EXPECT_NE(foreign, pair_.server.recv_cq);
  EXPECT_EQ(foreign->context, pair_.server.device.context());
  foreign->AckEvents(1);

  CompletionQueue* const own = NextEvent();
  EXPECT_EQ(own, pair_.server.recv_cq);
  own->AckEvents(1);
  ASSERT_EQ(fcntl(pair_.server.channel->fd, F_SETFL, O_NONBLOCK), 0);
  CompletionQueue* none = nullptr;
  EXPECT_EQ(pair_.server.channel->GetEvent(&none), EAGAIN);
}

TEST_F(ForeignCqTest, AnUnacknowledgedOneHoldsUpNoDestruction) {
  pair_.SetFaults({{.action = FaultAction::kForeignCq}});
  RaiseEvent();
  EXPECT_NE(NextEvent(), pair_.server.recv_cq);
  // The end of the test destroys the queue and its unread event.
}

TEST_F(ForeignCqTest, TheNthEventThatIsFetchedIsForeign) {
  pair_.SetFaults({{.action = FaultAction::kForeignCq, .nth = 2}});
  RaiseEvent();
  CompletionQueue* const first = NextEvent();
  EXPECT_EQ(first, pair_.server.recv_cq);
  first->AckEvents(1);
  RaiseEvent();
  EXPECT_NE(NextEvent(), pair_.server.recv_cq);
  CompletionQueue* const second = NextEvent();
  EXPECT_EQ(second, pair_.server.recv_cq);
  second->AckEvents(1);
  EXPECT_EQ(pair_.Counts().fired, 1u);
}

}  // namespace
}  // namespace rpma::emu
