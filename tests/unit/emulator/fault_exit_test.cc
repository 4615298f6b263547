// SPDX-License-Identifier: BSD-3-Clause
// The process on a node ends, and the kernel cleans up after it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/emulator/two_nodes.h"

namespace rpma::emu {
namespace {

using ExitTest = TwoNodes;
INSTANTIATE_TEST_SUITE_P(Profiles, ExitTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

// On InfiniBand and RoCE.
using ExitRetryTest = TwoNodes;
INSTANTIATE_TEST_SUITE_P(Profiles, ExitRetryTest, testing::Values("roce", "ib"),
                         ProfileName);

TEST_P(ExitTest, ItsPeersAreDisconnected) {
  const Connection one = ConnectedToServer();
  const Connection other = ConnectedToServer();
  Strike(FaultAction::kExit);
  for (const Connection* const ends : {&one, &other}) {
    EXPECT_EQ(ends->active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
    EXPECT_EQ(ends->active->qp().State(), iwarp() ? IBV_QPS_ERR : IBV_QPS_RTS);
    EXPECT_EQ(cm().Disconnect(ends->active->id()), 0);
  }
}

TEST_P(ExitTest, WhatItHadIsOver) {
  const Connection ends = ConnectedToServer();
  Receive(*ends.passive);
  Strike(FaultAction::kExit);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(Await(*server_cq_), IBV_WC_WR_FLUSH_ERR);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
  EXPECT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_EQ(cm().Accept(ends.passive->id(), Param()), EINVAL);
  EXPECT_EQ(cm().Listen(listener_->id(), 0), EINVAL);
  char text[512];
  ends.passive->qp().Explain(text, sizeof(text));
  EXPECT_THAT(text, testing::HasSubstr("the process"));
}

TEST_P(ExitTest, EventsThatItHadNotReadAreGone) {
  const Connection ends = RequestedOnServer();
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  ASSERT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_FALSE(ends.passive->channel().IsEmpty());
  Strike(FaultAction::kExit);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

TEST_P(ExitTest, RequestsToItAreRejected) {
  const Connection fetched = RequestedOnServer();
  const auto waiting = NewClient();
  ASSERT_EQ(cm().Connect(waiting->id(), Param()), 0);
  Strike(FaultAction::kExit);
  EXPECT_EQ(fetched.active->Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(waiting->Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_TRUE(listener_->channel().IsEmpty());
}

TEST_P(ExitTest, ItsOwnRequestIsWithdrawn) {
  const Connection ends = RequestedOnServer();
  Strike(FaultAction::kExit, "emu0");
  EXPECT_EQ(cm().Accept(ends.passive->id(), Param()), EINVAL);
}

TEST_P(ExitRetryTest, AResponseThatItDidNotFetchIsRejected) {
  const Connection ends = RequestedOnServer();
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  Strike(FaultAction::kExit, "emu0");
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
}

TEST_P(ExitTest, ItListensNoMoreAndAnotherProcessMay) {
  Strike(FaultAction::kExit);
  const auto refused = NewClient();
  ASSERT_EQ(cm().Connect(refused->id(), Param()), 0);
  EXPECT_EQ(refused->Next().type, RDMA_CM_EVENT_REJECTED);
  listener_ = NewListener(kServerIp);
  const Connection ends = ConnectedToServer();
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_RTS);
}

TEST_P(ExitRetryTest, RequestsToItsQueuePairsExceedTheRetries) {
  const Connection ends = ConnectedToServer();
  Strike(FaultAction::kExit);
  ASSERT_EQ(Send(*ends.active), 0);
  EXPECT_EQ(Await(*cq_), IBV_WC_RETRY_EXC_ERR);
}

TEST_P(ExitTest, ItEndsJustBeforeItSendsTheNthMessage) {
  SetFaults({{.action = FaultAction::kExit, .nth = 2, .device = "server"}});
  const Connection ends = RequestedOnServer();
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);  // its REP
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
}

TEST_P(ExitTest, ItEndsJustBeforeItsOwnGoodbye) {
  const Connection ends = ConnectedToServer();
  SetFaults({{.action = FaultAction::kExit, .nth = 1, .device = "server"}});
  ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

TEST_P(ExitTest, ItEndsJustBeforeItGetsTheNthMessage) {
  SetFaults({{.action = FaultAction::kExit, .nth = 1, .device = "server"}});
  const auto active = NewClient();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_TRUE(listener_->channel().IsEmpty());
}

TEST_P(ExitTest, ItEndsJustBeforeItTriesTheNthRequest) {
  const Connection ends = ConnectedToServer();
  Receive(*ends.active);
  SetFaults({{.action = FaultAction::kExit, .nth = 1, .device = "server"}});
  ASSERT_EQ(Send(*ends.passive), 0);
  EXPECT_EQ(Await(*server_cq_), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

}  // namespace
}  // namespace rpma::emu
