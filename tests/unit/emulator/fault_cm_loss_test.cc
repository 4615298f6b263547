// SPDX-License-Identifier: BSD-3-Clause
// Lost messages of the connection manager, on InfiniBand and RoCE: they are
// sent again, and if all tries are lost somebody gives up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

class FaultCmLossTest : public CmProfileTest {
 protected:
  void Lose(FaultSite site) { SetFaults({{.site = site}}); }
  void LoseAll(FaultSite site) { SetFaults({{.site = site, .from = true}}); }

  void ExpectEstablished(const Connection& ends) {
    EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  }
  static void ExpectTimedOut(const Seen& event, rdma_cm_event_type type) {
    EXPECT_EQ(event.type, type);
    EXPECT_EQ(event.status, -ETIMEDOUT);
  }
  uint64_t tries() { return profile().timers.cm_retries + 1u; }
};

INSTANTIATE_TEST_SUITE_P(Profiles, FaultCmLossTest,
                         testing::Values("roce", "ib"), ProfileName);

// --- REQ

TEST_P(FaultCmLossTest, ALostRequestIsSentAgain) {
  const auto listener = NewListener();
  Lose(FaultSite::kReq);
  const std::vector<uint8_t> data = {1, 2, 3};
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param(data)), 0);
  const Seen request = listener->Next();
  EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(request.data[2], 3);
  EXPECT_EQ(Messages(), 2u);
  End passive(cm(), request.id);
  GiveQp(passive.id());
  ASSERT_EQ(cm().Accept(passive.id(), Param()), 0);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(passive.Next().type, RDMA_CM_EVENT_ESTABLISHED);
}

TEST_P(FaultCmLossTest, WithoutARequestThePeerIsUnreachable) {
  const auto listener = NewListener();
  LoseAll(FaultSite::kReq);
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  ExpectTimedOut(active->Next(), RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(Messages(), tries());
  EXPECT_TRUE(listener->channel().IsEmpty());
}

TEST_P(FaultCmLossTest, TheLogSaysWhatTookTheMessages) {
  static std::promise<std::string> logged;
  logged = std::promise<std::string>();
  LoseAll(FaultSite::kReq);
  const auto active = NewActive();
  fabric().SetLogSink([](int, const char* text) { logged.set_value(text); });
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  EXPECT_EQ(logged.get_future().get(),
            "connection to 127.0.0.1:7204 given up: no answer to 16 tries of "
            "REQ; fault rule 0 took the last one");
}

// --- REP

TEST_P(FaultCmLossTest, ALostResponseIsSentAgain) {
  const auto listener = NewListener();
  Lose(FaultSite::kRep);
  const Connection ends = Requested(*listener);
  const std::vector<uint8_t> data = {4, 5, 6};
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param(data)), 0);
  const Seen established = ends.active->Next();
  EXPECT_EQ(established.type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(established.data[2], 6);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
}

TEST_P(FaultCmLossTest, WithoutAResponseThePassiveSideGivesUp) {
  auto listener = NewListener();
  LoseAll(FaultSite::kRep);
  const Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  ExpectTimedOut(ends.passive->Next(), RDMA_CM_EVENT_UNREACHABLE);

  // The active side asks again, which to the listener is another request.
  const auto second = TakeRequest(*listener);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  ASSERT_EQ(cm().Reject(second->id(), nullptr, 0), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_P(FaultCmLossTest, ARequestIsNotAskedForEver) {
  auto listener = NewListener();
  LoseAll(FaultSite::kRep);
  const Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  // Nobody takes the requests that follow.
  ExpectTimedOut(ends.active->Next(), RDMA_CM_EVENT_UNREACHABLE);
  const auto late = TakeRequest(*listener);
  EXPECT_EQ(cm().Accept(late->id(), Param()), 0);
}

// --- RTU

TEST_P(FaultCmLossTest, ALostRtuIsAnsweredForWhenTheResponseComesAgain) {
  const auto listener = NewListener();
  Lose(FaultSite::kRtu);
  const Connection ends = Connect(*listener);
  EXPECT_EQ(Messages(), 5u);  // REQ, REP, RTU, REP, RTU
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_P(FaultCmLossTest, WithoutAnRtuThePassiveSideGivesUp) {
  const auto listener = NewListener();
  LoseAll(FaultSite::kRtu);
  const Connection ends = Accepted(*listener);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  ExpectTimedOut(ends.passive->Next(), RDMA_CM_EVENT_UNREACHABLE);
  // It answers no DREQ any more.
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  ExpectTimedOut(ends.active->Next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_P(FaultCmLossTest,
       ADisconnectionOvertakesTheEstablishingOfThePassiveSide) {
  const auto listener = NewListener();
  LoseAll(FaultSite::kRtu);
  const Connection ends = Accepted(*listener);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_EQ(ends.active->Next().status, 0);
}

// --- REJ

TEST_P(FaultCmLossTest, ALostRejectionIsAskedForAgain) {
  const auto listener = NewListener();
  Lose(FaultSite::kRej);
  const Connection ends = Requested(*listener);
  ASSERT_EQ(cm().Reject(ends.passive->id(), nullptr, 0), 0);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  const auto second = TakeRequest(*listener);
  ASSERT_EQ(cm().Reject(second->id(), nullptr, 0), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_P(FaultCmLossTest, ARejectionByTheNodeIsAskedForAgain) {
  Lose(FaultSite::kRej);
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  const Seen rejected = active->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, 8);
  EXPECT_EQ(Messages(), 4u);
}

TEST_P(FaultCmLossTest, WithoutARejectionThePeerIsUnreachable) {
  LoseAll(FaultSite::kRej);
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  ExpectTimedOut(active->Next(), RDMA_CM_EVENT_UNREACHABLE);
}

TEST_P(FaultCmLossTest, ARequestWhoseWithdrawalWasLostIsAcceptedInVain) {
  const auto listener = NewListener();
  LoseAll(FaultSite::kRej);
  const Connection ends = Requested(*listener);
  ends.active->Destroy();
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  ExpectTimedOut(ends.passive->Next(), RDMA_CM_EVENT_UNREACHABLE);
}

// --- DREQ, DREP

TEST_P(FaultCmLossTest, ALostDreqIsSentAgain) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  Lose(FaultSite::kDreq);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_EQ(ends.active->Next().status, 0);
}

TEST_P(FaultCmLossTest, WithoutADreqThePeerLearnsNothing) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  LoseAll(FaultSite::kDreq);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  ExpectTimedOut(ends.active->Next(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(Messages(), tries());
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_RTS);
}

TEST_P(FaultCmLossTest, ALostDrepIsAskedForAgain) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  Lose(FaultSite::kDrep);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  ends.passive->Destroy();
  const Seen answered = ends.active->Next();
  EXPECT_EQ(answered.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(answered.status, 0);
  EXPECT_EQ(fabric().FaultFired(0), 1u);
}

TEST_P(FaultCmLossTest, WithoutADrepTheInitiatorGivesUp) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  LoseAll(FaultSite::kDrep);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
  ExpectTimedOut(ends.active->Next(), RDMA_CM_EVENT_DISCONNECTED);
}

TEST_P(FaultCmLossTest, ANodeAnswersForAnIdThatIsGone) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  Lose(FaultSite::kDreq);
  ends.passive->Destroy();  // its DREQ is lost, and not sent again
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  const Seen answered = ends.active->Next();
  EXPECT_EQ(answered.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(answered.status, 0);
}

}  // namespace
}  // namespace rpma::emu
