// SPDX-License-Identifier: BSD-3-Clause
// Completion queues and channels: order, capacity, overrun, arming, events.

#include "emulator/completion_queue.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <syslog.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Cqe Completion(uint64_t wr_id, ibv_wc_status status = IBV_WC_SUCCESS,
               bool solicited = false) {
  return {.wc = MakeCompletion(wr_id, status, 1), .solicited = solicited};
}

std::vector<uint64_t> PollWrIds(CompletionQueue& cq) {
  std::vector<uint64_t> ids;
  for (const ibv_wc& wc : End::Poll(cq)) ids.push_back(wc.wr_id);
  return ids;
}

// --- The queue

TEST(CompletionQueueTest, GivesCompletionsInOrderAsManyAsAskedFor) {
  CompletionQueue cq(nullptr, 4, CqOverrun::kError, nullptr);
  EXPECT_EQ(cq.cqe, 4);
  ibv_wc wc[4];
  EXPECT_EQ(cq.Poll(4, wc), 0);
  for (uint64_t round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(cq.Push(Completion(i)), CompletionQueue::PushResult::kOk);
    }
    EXPECT_EQ(cq.Poll(0, wc), 0);
    ASSERT_EQ(cq.Poll(2, wc), 2);
    EXPECT_EQ(wc[0].wr_id, 0u);
    EXPECT_EQ(wc[1].wr_id, 1u);
    ASSERT_EQ(cq.Poll(4, wc), 1);
    EXPECT_EQ(wc[0].wr_id, 2u);
  }
}

TEST(CompletionQueueTest, OverrunIsReportedOnceAndLosesAllThatFollows) {
  CompletionQueue cq(nullptr, 1, CqOverrun::kError, nullptr);
  EXPECT_EQ(cq.Push(Completion(1)), CompletionQueue::PushResult::kOk);
  EXPECT_FALSE(cq.overrun());
  EXPECT_EQ(cq.Push(Completion(2)), CompletionQueue::PushResult::kOverrun);
  EXPECT_TRUE(cq.overrun());
  EXPECT_EQ(cq.Push(Completion(3)), CompletionQueue::PushResult::kLost);
  ibv_wc wc;
  EXPECT_EQ(cq.Poll(1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 1u);
  EXPECT_LT(cq.Poll(1, &wc), 0);
  EXPECT_EQ(cq.Push(Completion(4)), CompletionQueue::PushResult::kLost);
}

TEST(CompletionQueueTest, ADroppingQueueGoesOnAfterALoss) {
  CompletionQueue cq(nullptr, 1, CqOverrun::kDrop, nullptr);
  EXPECT_EQ(cq.Push(Completion(1)), CompletionQueue::PushResult::kOk);
  EXPECT_EQ(cq.Push(Completion(2)), CompletionQueue::PushResult::kLost);
  EXPECT_FALSE(cq.overrun());
  EXPECT_THAT(PollWrIds(cq), ElementsAre(1));
  EXPECT_EQ(cq.Push(Completion(3)), CompletionQueue::PushResult::kOk);
  EXPECT_THAT(PollWrIds(cq), ElementsAre(3));
}

// --- Overrun of a queue pair's queue

PairOptions SmallCqs(const char* profile) {
  PairOptions options;
  options.profile = *FindProfile(profile);
  options.send_cqe = options.recv_cqe = 2;
  return options;
}

TEST(CqOverrunTest, MovesItsQueuePairsToErrorAndSaysSo) {
  ConnectedPair pair(SmallCqs("roce"));
  const auto other = pair.client.MakeQp();  // uses the same queues
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.client.Write(i, 0, 8, pair.server, 0), 0);
  }
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(other->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
  EXPECT_THAT(PollWrIds(*pair.client.send_cq), ElementsAre(0, 1));
  EXPECT_THAT(
      pair.client.AsyncEvents(),
      ElementsAre(IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL));
  EXPECT_THAT(pair.environment.failed_qps(),
              ElementsAre(pair.client.qp->qp_num, other->qp_num));
  EXPECT_THAT(pair.client.Explanation(), HasSubstr("overrun"));
  const auto log = pair.environment.log();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].level, LOG_ERR);
  EXPECT_THAT(log[0].text, HasSubstr("of 2 entries has overrun"));
  EXPECT_EQ(pair.client.device.DestroyQp(other.get()), 0);
}

TEST(CqOverrunTest, ThePeerLearnsByItsRetries) {
  ConnectedPair pair(SmallCqs("roce"));
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.client.Write(i, 0, 8, pair.server, 0), 0);
  }
  ASSERT_EQ(pair.server.Write(9, 0, 8, pair.client, 0), 0);
  EXPECT_EQ(pair.server.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
}

TEST(CqOverrunTest, OfTheResponderFailsTheResponder) {
  ConnectedPair pair(SmallCqs("roce"));
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.server.Recv(i, 0, 8), 0);
    ASSERT_EQ(pair.client.Send(i, 0, 8, /*flags=*/0), 0);
  }
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_RTS);
  EXPECT_THAT(pair.server.AsyncEvents(),
              ElementsAre(IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL));
  EXPECT_THAT(PollWrIds(*pair.server.recv_cq), ElementsAre(0, 1));
}

TEST(CqOverrunTest, ByFlushesIsNothingToWorryAbout) {
  ConnectedPair pair(SmallCqs("roce"));
  for (uint64_t i = 0; i < 4; ++i) ASSERT_EQ(pair.client.Recv(i, 0, 8), 0);
  ASSERT_EQ(pair.client.qp->ToError(), 0);
  EXPECT_THAT(PollWrIds(*pair.client.recv_cq), ElementsAre(0, 1));
  EXPECT_THAT(pair.client.AsyncEvents(), ElementsAre(IBV_EVENT_CQ_ERR));
  EXPECT_THAT(pair.environment.failed_qps(), IsEmpty());
  const auto log = pair.environment.log();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].level, LOG_INFO);
}

TEST(CqOverrunTest, OnIwarpLosesCompletionsSilently) {
  ConnectedPair pair(SmallCqs("iwarp"));
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(pair.client.Write(i, 0, 8, pair.server, 0), 0);
  }
  EXPECT_THAT(PollWrIds(*pair.client.send_cq), ElementsAre(0, 1));
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_RTS);
  EXPECT_THAT(pair.client.AsyncEvents(), IsEmpty());
  EXPECT_THAT(pair.environment.log(), IsEmpty());
}

// --- Events

class CompletionChannelTest : public ::testing::Test {
 protected:
  CompletionChannelTest() {
    EXPECT_EQ(channel_.Open(), 0);
    fcntl(channel_.fd, F_SETFL, fcntl(channel_.fd, F_GETFL) | O_NONBLOCK);
  }
  ~CompletionChannelTest() override {
    first_.WaitForAcks();
    second_.WaitForAcks();
  }
  bool IsReadable() const {
    pollfd entry{channel_.fd, POLLIN, 0};
    return poll(&entry, 1, 0) == 1;
  }
  // The CQ of the next event, acknowledged; nullptr: there is none.
  CompletionQueue* NextEvent() {
    CompletionQueue* cq = nullptr;
    if (channel_.GetEvent(&cq) == EAGAIN) return nullptr;
    cq->AckEvents(1);
    return cq;
  }

  CompletionChannel channel_{nullptr};
  CompletionQueue first_{nullptr, 16, CqOverrun::kError, &channel_};
  CompletionQueue second_{nullptr, 16, CqOverrun::kError, &channel_};
};

TEST_F(CompletionChannelTest, CountsItsQueues) {
  EXPECT_EQ(channel_.cqs(), 2);
  { CompletionQueue third(nullptr, 1, CqOverrun::kError, &channel_); }
  EXPECT_EQ(channel_.cqs(), 2);
}

TEST_F(CompletionChannelTest, AnUnarmedQueueRaisesNoEvent) {
  first_.Push(Completion(1));
  EXPECT_FALSE(IsReadable());
  EXPECT_EQ(NextEvent(), nullptr);
}

TEST_F(CompletionChannelTest, OneArmingIsOneEventForTheNextCompletion) {
  first_.Push(Completion(1));
  first_.Arm(false);
  EXPECT_FALSE(IsReadable());  // what waits already raises none
  first_.Push(Completion(2));
  first_.Push(Completion(3));
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(NextEvent(), &first_);
  EXPECT_FALSE(IsReadable());
  EXPECT_EQ(NextEvent(), nullptr);
}

TEST_F(CompletionChannelTest, SolicitedArmingWaitsForSolicitedOrFailed) {
  first_.Arm(true);
  first_.Push(Completion(1));
  EXPECT_EQ(NextEvent(), nullptr);
  first_.Push(Completion(2, IBV_WC_SUCCESS, /*solicited=*/true));
  EXPECT_EQ(NextEvent(), &first_);
  first_.Arm(true);
  first_.Push(Completion(3, IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(NextEvent(), &first_);
}

TEST_F(CompletionChannelTest, ArmingForAllIsNotWeakenedBySolicitedArming) {
  first_.Arm(false);
  first_.Arm(true);
  first_.Push(Completion(1));
  EXPECT_EQ(NextEvent(), &first_);
  first_.Arm(true);
  first_.Arm(false);
  first_.Push(Completion(2));
  EXPECT_EQ(NextEvent(), &first_);
}

TEST_F(CompletionChannelTest, QueuesWithEventsTakeTurns) {
  for (int i = 0; i < 2; ++i) {
    first_.Arm(false);
    first_.Push(Completion(1));
  }
  second_.Arm(false);
  second_.Push(Completion(2));
  EXPECT_EQ(NextEvent(), &first_);
  EXPECT_EQ(NextEvent(), &second_);
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(NextEvent(), &first_);
  EXPECT_FALSE(IsReadable());
}

TEST_F(CompletionChannelTest, DestroyingAQueueRetractsItsUnreadEvents) {
  first_.Arm(false);
  first_.Push(Completion(1));
  second_.Arm(false);
  second_.Push(Completion(2));
  first_.WaitForAcks();
  EXPECT_TRUE(IsReadable());
  EXPECT_EQ(NextEvent(), &second_);
  second_.Arm(false);
  second_.Push(Completion(3));
  second_.WaitForAcks();
  EXPECT_FALSE(IsReadable());
}

TEST_F(CompletionChannelTest, DestroyingAQueueWaitsForItsEventsToBeAcked) {
  for (int i = 0; i < 2; ++i) {
    first_.Arm(false);
    first_.Push(Completion(1));
  }
  CompletionQueue* cq = nullptr;
  ASSERT_EQ(channel_.GetEvent(&cq), 0);
  ASSERT_EQ(channel_.GetEvent(&cq), 0);
  std::atomic<bool> acked = false;
  std::thread destroyer([&] {
    first_.WaitForAcks();
    EXPECT_TRUE(acked);
  });
  cq->AckEvents(1);
  acked = true;
  cq->AckEvents(1);
  destroyer.join();
}

TEST_F(CompletionChannelTest, ABlockingWaitEndsWithTheEvent) {
  fcntl(channel_.fd, F_SETFL, fcntl(channel_.fd, F_GETFL) & ~O_NONBLOCK);
  second_.Arm(false);
  std::thread pusher([&] { second_.Push(Completion(1)); });
  EXPECT_EQ(NextEvent(), &second_);
  pusher.join();
}

TEST(SolicitedTest, OnlyTheReceiverOfASolicitedSendIsWoken) {
  ConnectedPair pair;
  fcntl(pair.server.channel->fd, F_SETFL, O_NONBLOCK);
  ASSERT_EQ(pair.server.Recv(1, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(2, 0, 8), 0);
  pair.server.recv_cq->Arm(/*solicited_only=*/true);
  CompletionQueue* cq = nullptr;
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.server.channel->GetEvent(&cq), EAGAIN);
  ASSERT_EQ(pair.client.Send(2, 0, 8, IBV_SEND_SOLICITED), 0);
  ASSERT_EQ(pair.server.channel->GetEvent(&cq), 0);
  EXPECT_EQ(cq, pair.server.recv_cq);
  cq->AckEvents(1);
}

}  // namespace
}  // namespace rpma::emu
