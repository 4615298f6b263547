// SPDX-License-Identifier: BSD-3-Clause
// Lost and late messages of connections on iWARP, which TCP carries.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

class FaultCmIwarpTest : public CmFixture {
 protected:
  void SetUp() override { Start("profile=iwarp"); }
  void Lose(FaultSite site) { SetFaults({{.site = site}}); }
  void LoseAll(FaultSite site) { SetFaults({{.site = site, .from = true}}); }
  uint64_t tries() { return profile().timers.tcp_retries + 1u; }
};

TEST_F(FaultCmIwarpTest, ALostMessageComesLater) {
  const auto listener = NewListener();
  for (const FaultSite site : {FaultSite::kReq, FaultSite::kRep}) {
    Lose(site);
    const Connection ends = Connect(*listener);
    EXPECT_EQ(fabric().FaultFired(0), 1u);
  }
}

TEST_F(FaultCmIwarpTest, ALateResponseEstablishesTheActiveSideLater) {
  const auto listener = NewListener();
  SetFaults({{.action = FaultAction::kDelay,
              .site = FaultSite::kRep,
              .time = std::chrono::hours(1)}});
  const Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
}

// The passive side is connected since its response.
TEST_F(FaultCmIwarpTest, AnActiveSideThatDoesNotWaitEndsTheConnection) {
  const auto listener = NewListener();
  SetFaults({{.action = FaultAction::kDelay,
              .site = FaultSite::kRep,
              .time = std::chrono::hours(1)}});
  Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  ends.active.reset();
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
}

TEST_F(FaultCmIwarpTest, WithoutARequestThePeerIsUnreachable) {
  const auto listener = NewListener();
  LoseAll(FaultSite::kReq);
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  const Seen unreachable = active->Next();
  EXPECT_EQ(unreachable.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(unreachable.status, -ETIMEDOUT);
  EXPECT_TRUE(listener->channel().IsEmpty());
}

TEST_F(FaultCmIwarpTest, WithoutAResponseBothSidesGiveUp) {
  const auto listener = NewListener();
  LoseAll(FaultSite::kRep);
  const Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  const Seen unreachable = ends.active->Next();
  EXPECT_EQ(unreachable.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(unreachable.status, -ETIMEDOUT);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(Messages(), 1 + tries());
}

TEST_F(FaultCmIwarpTest, ALostRejectionComesLater) {
  const auto listener = NewListener();
  Lose(FaultSite::kRej);
  const Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Reject(ends.passive->id(), nullptr, 0), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_F(FaultCmIwarpTest, WithoutARejectionThePeerIsUnreachable) {
  const auto listener = NewListener();
  LoseAll(FaultSite::kRej);
  const Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Reject(ends.passive->id(), nullptr, 0), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_UNREACHABLE);
}

TEST_F(FaultCmIwarpTest, TheEndOfAConnectionReachesThePeerLater) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  Lose(FaultSite::kDreq);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(Messages(), 2u);
}

TEST_F(FaultCmIwarpTest, TheEndOvertakesNoResponseThatIsLate) {
  const auto listener = NewListener();
  Lose(FaultSite::kRep);
  const Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(FaultCmIwarpTest, MessagesOfTheGoneLeaveRoomForOthers) {
  const auto listener = NewListener();
  LoseAll(FaultSite::kRej);
  for (int i = 0; i < 10; ++i) {
    const Connection ends = Requested(*listener);
    ASSERT_EQ(cm().Reject(ends.passive->id(), nullptr, 0), 0);
  }
  const Connection ends = Connect(*listener);
}

TEST_F(FaultCmIwarpTest, AMessageThatComesTwiceHasNoEffectTwice) {
  const auto listener = NewListener();
  SetFaults({{.action = FaultAction::kDuplicate,
              .site = FaultSite::kRep,
              .from = true},
             {.action = FaultAction::kDuplicate,
              .site = FaultSite::kDreq,
              .from = true}});
  const Connection ends = Connect(*listener);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

}  // namespace
}  // namespace rpma::emu
