// SPDX-License-Identifier: BSD-3-Clause
// Ending connections: disconnecting, failing, and destroying an id in each of
// its states.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

// On InfiniBand and RoCE.
using CmDisconnectTest = CmProfileTest;
INSTANTIATE_TEST_SUITE_P(Profiles, CmDisconnectTest,
                         testing::Values("roce", "ib"), ProfileName);

using CmIwarpTest = CmProfileTest;
INSTANTIATE_TEST_SUITE_P(Profiles, CmIwarpTest, testing::Values("iwarp"),
                         ProfileName);

// On all.
using CmDestroyTest = CmProfileTest;
INSTANTIATE_TEST_SUITE_P(Profiles, CmDestroyTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

void PostReceive(QueuePair& qp, uint64_t wr_id) {
  ibv_recv_wr receive{};
  receive.wr_id = wr_id;
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(qp.PostRecv(&receive, &bad), 0);
}

void ExpectFlushed(CompletionQueue& cq, uint64_t wr_id) {
  ibv_wc wc{};
  ASSERT_EQ(cq.Poll(1, &wc), 1);
  EXPECT_EQ(wc.wr_id, wr_id);
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

TEST_P(CmDisconnectTest, TheInitiatorFlushesAndThePeerIsTold) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  PostReceive(ends.active->qp(), 1);
  PostReceive(ends.passive->qp(), 2);

  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);

  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
  ExpectFlushed(*cq_, 1);
  const Seen told = ends.passive->Next();
  EXPECT_EQ(told.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(told.status, 0);
  EXPECT_EQ(told.id, ends.passive->id());
  // The peer's queue pair is its own business.
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_RTS);
  ibv_wc wc{};
  EXPECT_EQ(cq_->Poll(1, &wc), 0);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
}

TEST_P(CmDisconnectTest, ThePeersDisconnectAnswersAndBothPassTimeWait) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
  ASSERT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  PostReceive(ends.active->qp(), 1);

  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);

  ExpectFlushed(*cq_, 1);
  const Seen answered = ends.passive->Next();
  EXPECT_EQ(answered.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(answered.status, 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

TEST_P(CmDisconnectTest, ADestroyedPeerAnswersToo) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);

  ends.passive->Destroy();

  const Seen answered = ends.active->Next();
  EXPECT_EQ(answered.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(answered.status, 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

TEST_P(CmDisconnectTest, WithoutAnAnswerTheRetriesRunOut) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);

  const Seen gave_up = ends.active->Next();

  const TimerValues& timers = profile().timers;
  EXPECT_GE(std::chrono::steady_clock::now() - begin,
            timers.cm_response * (timers.cm_retries + 1) / 1000);
  EXPECT_EQ(gave_up.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(gave_up.status, -ETIMEDOUT);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  // The peer's late answer reaches nobody.
  ASSERT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
}

TEST_P(CmDisconnectTest, DisconnectingAgainDoesNothing) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

TEST_P(CmDisconnectTest, DisconnectingAnUnfetchedResponseFailsTheConnection) {
  const auto listener = NewListener();
  const Connection ends = Accepted(*listener);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_CONNECT_ERROR);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_P(CmDisconnectTest, AFailedQueuePairEndsNoConnection) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  cm().QueuePairFailed(ends.active->qp().qp_num);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_RTS);
}

TEST_P(CmDisconnectTest, AnAcceptedIdDestroyedUnfetchedIsAConnectError) {
  const auto listener = NewListener();
  const Connection ends = Accepted(*listener);

  ends.passive->Destroy();

  // The rejection behind the response is not shown: the program knows.
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_CONNECT_ERROR);
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(cm().GetEvent(ends.active->channel().get(), &event), EAGAIN);
}

TEST_P(CmDisconnectTest, AResponseDestroyedUnfetchedRejectsThePassiveSide) {
  const auto listener = NewListener();
  const Connection ends = Accepted(*listener);

  ends.active->Destroy();

  const Seen rejected = ends.passive->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, 28);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
}

TEST_P(CmIwarpTest, DisconnectingFlushesAndTellsBothSides) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  PostReceive(ends.active->qp(), 1);
  PostReceive(ends.passive->qp(), 2);

  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);

  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
  ExpectFlushed(*cq_, 1);
  ExpectFlushed(*cq_, 2);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(cm().Disconnect(ends.passive->id()), 0);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

TEST_P(CmIwarpTest, AQueuePairErrorDisconnectsBothSides) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  ibv_send_wr send{};  // no receive is posted: iWARP knows no RNR NAK
  send.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;

  ASSERT_EQ(ends.active->qp().PostSend(&send, &bad), 0);

  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

TEST_P(CmIwarpTest, DestroyingOneSideDisconnectsTheOther) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  PostReceive(ends.active->qp(), 1);

  ends.passive->Destroy();

  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
  ExpectFlushed(*cq_, 1);
}

TEST_P(CmIwarpTest, AFailureOfAnUnknownQueuePairIsIgnored) {
  const auto listener = NewListener();
  const Connection ends = Requested(*listener);
  cm().QueuePairFailed(0xffffff);
  cm().QueuePairFailed(ends.active->qp().qp_num);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
}

TEST_P(CmDestroyTest, DisconnectingWhatNeverConnectedIsInvalid) {
  const auto listener = NewListener();
  const auto active = NewActive();
  End idle(cm());
  EXPECT_EQ(cm().Disconnect(idle.id()), EINVAL);
  EXPECT_EQ(cm().Disconnect(listener->id()), EINVAL);
  EXPECT_EQ(cm().Disconnect(active->id()), EINVAL);
  EXPECT_EQ(active->qp().State(), IBV_QPS_INIT);
}

TEST_P(CmDestroyTest, AConnectionsEndTellsThePeer) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);

  ends.active->Destroy();

  const Seen told = ends.passive->Next();
  EXPECT_EQ(told.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(told.status, 0);
  EXPECT_EQ(cm().Disconnect(ends.passive->id()), 0);
  if (!iwarp()) {
    EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  }
}

TEST_P(CmDestroyTest, AWithdrawnRequestCannotBeAccepted) {
  const auto listener = NewListener();
  const Connection ends = Requested(*listener);

  ends.active->Destroy();

  EXPECT_TRUE(ends.passive->channel().IsEmpty());
  EXPECT_EQ(cm().Accept(ends.passive->id(), Param()), EINVAL);
  EXPECT_EQ(cm().Reject(ends.passive->id(), nullptr, 0), EINVAL);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_INIT);
}

TEST_P(CmDestroyTest, AWithdrawnRequestIsStillFetched) {
  const auto listener = NewListener();
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);

  active->Destroy();

  const auto passive = TakeRequest(*listener);
  EXPECT_EQ(cm().Accept(passive->id(), Param()), EINVAL);
}

TEST_P(CmDestroyTest, ARequestDestroyedUnansweredIsRejected) {
  const auto listener = NewListener();
  const Connection ends = Requested(*listener);

  ends.passive->Destroy();

  const Seen rejected = ends.active->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, iwarp() ? -ECONNRESET : 28);
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
}

TEST_P(CmDestroyTest, AListenersUnfetchedRequestsAreRejected) {
  const auto listener = NewListener();
  const auto first = NewActive();
  const auto second = NewActive();
  ASSERT_EQ(cm().Connect(first->id(), Param()), 0);
  ASSERT_EQ(cm().Connect(second->id(), Param()), 0);
  const auto fetched = TakeRequest(*listener);

  listener->Destroy();

  const Seen rejected = second->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, iwarp() ? -ECONNRESET : 28);
  // The one that was fetched outlives its listener.
  EXPECT_TRUE(first->channel().IsEmpty());
  ASSERT_EQ(cm().Accept(fetched->id(), Param()), 0);
  EXPECT_EQ(first->Next().type, RDMA_CM_EVENT_ESTABLISHED);
}

TEST_P(CmDestroyTest, AnEndOfAConnectionUnderWayToASilentHost) {
  std::string error;
  ASSERT_EQ(fabric().AddRoute("192.0.2.1", "emu0", &error), 0) << error;
  const auto active = NewActive("192.0.2.1");
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  active->Destroy();
}

TEST_P(CmDestroyTest, BothEndsMayBeDestroyedWithoutReadingAnyEvent) {
  const auto listener = NewListener();
  for (const bool active_first : {true, false}) {
    const Connection ends = Connect(*listener);
    ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
    (active_first ? ends.active : ends.passive)->Destroy();
    (active_first ? ends.passive : ends.active)->Destroy();
  }
}

TEST_P(CmDestroyTest, AQueuePairThatOutlivesItsIdIsReported) {
  static std::string logged;
  logged.clear();
  fabric().SetLogSink([](int, const char* text) { logged = text; });
  rdma_cm_id* const id = NewRouted("127.0.0.1", kPort);
  GiveQp(id);
  QueuePair& left = *static_cast<QueuePair*>(id->qp);

  EXPECT_EQ(cm().DestroyId(id), 0);

  EXPECT_THAT(logged, testing::HasSubstr("before its queue pair"));
  EXPECT_EQ(fabric().TakeCensus().verbs.qps, 1u);
  EXPECT_EQ(left.State(), IBV_QPS_INIT);
  EXPECT_EQ(device_->DestroyQp(&left), 0);
}

TEST_P(CmDestroyTest, AQueuePairMayBeDestroyedInEveryState) {
  const auto listener = NewListener();
  const Connection ends = Accepted(*listener);
  EXPECT_EQ(cm().DestroyQp(ends.passive->id()), 0);
  EXPECT_EQ((*ends.passive)->qp, nullptr);
  EXPECT_EQ(cm().DestroyQp(ends.passive->id()), EINVAL);
  const Seen outcome = ends.active->Next();
  EXPECT_EQ(outcome.type,
            iwarp() ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_ERROR);
}

}  // namespace
}  // namespace rpma::emu
