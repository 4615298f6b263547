// SPDX-License-Identifier: BSD-3-Clause
// A link that goes down and up, and a node that loses power: nothing gets
// through, and everybody learns it by their own retries.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>

#include "tests/unit/emulator/two_nodes.h"

namespace rpma::emu {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// On all.
using LinkTest = TwoNodes;
INSTANTIATE_TEST_SUITE_P(Profiles, LinkTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

// On InfiniBand and RoCE.
using LinkRetryTest = TwoNodes;
INSTANTIATE_TEST_SUITE_P(Profiles, LinkRetryTest, testing::Values("roce", "ib"),
                         ProfileName);

TEST_P(LinkTest, TheDeviceTellsOfItsLink) {
  ibv_port_attr port{};
  Inject({.action = FaultAction::kLink, .device = "server"});
  EXPECT_THAT(AsyncEvents(*server_), ElementsAre(IBV_EVENT_PORT_ERR));
  ASSERT_EQ(QueryPort(*server_, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_DOWN);
  Inject({.action = FaultAction::kLink, .device = "server"});
  EXPECT_THAT(AsyncEvents(*server_), IsEmpty());
  Inject({.action = FaultAction::kLink, .link_up = true, .device = "server"});
  EXPECT_THAT(AsyncEvents(*server_), ElementsAre(IBV_EVENT_PORT_ACTIVE));
  ASSERT_EQ(QueryPort(*server_, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_THAT(AsyncEvents(*device_), IsEmpty());
}

TEST_P(LinkTest, ARequestWaitsUntilTheLinkIsBack) {
  const Connection ends = ConnectedToServer();
  Receive(*ends.passive);
  Inject({.action = FaultAction::kLink,
          .time = milliseconds(3000),
          .device = "server"});
  ASSERT_EQ(Send(*ends.active), 0);
  EXPECT_EQ(Await(*cq_), IBV_WC_SUCCESS);
  EXPECT_EQ(Await(*server_cq_), IBV_WC_SUCCESS);
  EXPECT_THAT(AsyncEvents(*server_),
              ElementsAre(IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE));
}

TEST_P(LinkTest, EitherEndsLinkIsNeeded) {
  const Connection ends = ConnectedToServer();
  Receive(*ends.passive);
  Inject({.action = FaultAction::kLink,
          .time = milliseconds(3000),
          .device = "emu0"});
  ASSERT_EQ(Send(*ends.active), 0);
  ibv_wc wc;
  EXPECT_EQ(server_cq_->Poll(1, &wc), 0);
  EXPECT_EQ(Await(*cq_), IBV_WC_SUCCESS);
}

TEST_P(LinkRetryTest, WithoutItTheRetriesRunOut) {
  const Connection ends = ConnectedToServer();
  Inject({.action = FaultAction::kLink, .device = "server"});
  ASSERT_EQ(Send(*ends.active), 0);
  EXPECT_EQ(Await(*cq_), IBV_WC_RETRY_EXC_ERR);
  char text[512];
  ends.active->qp().Explain(text, sizeof(text));
  EXPECT_THAT(text, HasSubstr("server had its link down"));
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_RTS);
}

TEST_P(LinkTest, WithoutItNobodyIsReachable) {
  Inject({.action = FaultAction::kLink, .device = "server"});
  const auto active = NewClient();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  const Seen unreachable = active->Next();
  EXPECT_EQ(unreachable.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(unreachable.status, -ETIMEDOUT);
  EXPECT_TRUE(listener_->channel().IsEmpty());
}

TEST_P(LinkRetryTest, ItBreaksJustBeforeTheNthMessage) {
  // REQ, REP, and the RTU is lost.
  SetFaults({{.action = FaultAction::kLink,
              .nth = 3,
              .time = milliseconds(1000),
              .device = "server"}});
  const Connection ends = RequestedOnServer();
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(Messages(), 5u);
  EXPECT_EQ(fabric().FaultFired(0), 1u);
}

TEST_P(LinkRetryTest, RequestsAndMessagesAreCountedTogether) {
  SetFaults({{.action = FaultAction::kLink, .nth = 5, .device = "server"}});
  const Connection ends = ConnectedToServer();
  Receive(*ends.passive);
  ASSERT_EQ(Send(*ends.active), 0);  // the fourth
  EXPECT_EQ(Await(*cq_), IBV_WC_SUCCESS);
  Receive(*ends.passive);
  ASSERT_EQ(Send(*ends.active), 0);
  EXPECT_EQ(Await(*cq_), IBV_WC_RETRY_EXC_ERR);
}

TEST_P(LinkTest, ItStaysDownWhenThePlanIsGone) {
  Inject({.action = FaultAction::kLink, .device = "server"});
  SetFaults({});
  fabric().ClearFaults();
  const auto active = NewClient();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_UNREACHABLE);
}

TEST_P(LinkRetryTest, ARequestThatWaitsForItsAnswerTimesOut) {
  const Connection ends = RequestedOnServer();
  Inject({.action = FaultAction::kLink, .device = "server"});
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_UNREACHABLE);
}

TEST_P(LinkRetryTest, ARequestWaitsOnWhenTheLinkIsBack) {
  const Connection ends = RequestedOnServer();
  Inject({.action = FaultAction::kLink,
          .time = milliseconds(1000),
          .device = "server"});
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
}

// --- Power

TEST_P(LinkTest, WithoutPowerNoEventTellsThePeer) {
  const Connection ends = ConnectedToServer();
  Strike(FaultAction::kPowerOff);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_RTS);
  EXPECT_THAT(AsyncEvents(*server_), IsEmpty());
}

TEST_P(LinkRetryTest, ThePeerOfAnodeWithoutPowerLearnsItByItsRetries) {
  const Connection ends = ConnectedToServer();
  Strike(FaultAction::kPowerOff);
  ASSERT_EQ(Send(*ends.active), 0);
  EXPECT_EQ(Await(*cq_), IBV_WC_RETRY_EXC_ERR);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  char text[512];
  ends.active->qp().Explain(text, sizeof(text));
  EXPECT_THAT(text, HasSubstr("server had lost its power"));
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  const Seen gave_up = ends.active->Next();
  EXPECT_EQ(gave_up.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(gave_up.status, -ETIMEDOUT);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

TEST_P(LinkRetryTest, ARequestToANodeThatLosesPowerTimesOut) {
  const Connection ends = RequestedOnServer();
  Strike(FaultAction::kPowerOff);
  const Seen unreachable = ends.active->Next();
  EXPECT_EQ(unreachable.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(unreachable.status, -ETIMEDOUT);
}

TEST_P(LinkRetryTest, AResponseToANodeThatLostPowerTimesOut) {
  const Connection ends = RequestedOnServer();
  Strike(FaultAction::kPowerOff, "emu0");
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_UNREACHABLE);
}

TEST_P(LinkRetryTest, PowerIsLostJustBeforeTheNthMessage) {
  SetFaults({{.action = FaultAction::kPowerOff, .nth = 4, .device = "server"}});
  const Connection ends = ConnectedToServer();
  EXPECT_EQ(fabric().FaultFired(0), 0u);
  ASSERT_EQ(Send(*ends.active), 0);
  EXPECT_EQ(fabric().FaultFired(0), 1u);
  EXPECT_EQ(Await(*cq_), IBV_WC_RETRY_EXC_ERR);
}

// --- iWARP

class LinkIwarpTest : public TwoNodes {};
INSTANTIATE_TEST_SUITE_P(Profiles, LinkIwarpTest, testing::Values("iwarp"),
                         ProfileName);

TEST_P(LinkIwarpTest, WhatIsSentToANodeWithoutPowerEndsTheConnection) {
  const Connection ends = ConnectedToServer();
  Strike(FaultAction::kPowerOff);
  ASSERT_EQ(Send(*ends.active), 0);
  EXPECT_EQ(Await(*cq_), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

TEST_P(LinkIwarpTest, ANodeWithoutPowerDoesNotLearnThatItsPeerEnds) {
  const Connection ends = ConnectedToServer();
  Strike(FaultAction::kPowerOff);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

}  // namespace
}  // namespace rpma::emu
