// SPDX-License-Identifier: BSD-3-Clause
// The send queue: slots, unsignaled requests, fences and READs that take effect
// late.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint64_t> WrIds(const std::vector<ibv_wc>& completions) {
  std::vector<uint64_t> ids;
  for (const ibv_wc& wc : completions) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    ids.push_back(wc.wr_id);
  }
  return ids;
}

// --- Slots

PairOptions FourSlots() {
  PairOptions options;
  options.max_wr = 4;
  return options;
}

int Write(ConnectedPair& pair, uint64_t wr_id, unsigned flags) {
  return pair.client.Write(wr_id, 0, 8, pair.server, 0, flags);
}

TEST(SendSlotsTest, UnsignaledRequestsFillTheQueueThoughTheyAreExecuted) {
  ConnectedPair pair(FourSlots());
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Write(pair, i, 0), 0);
  EXPECT_EQ(Write(pair, 4, IBV_SEND_SIGNALED), ENOMEM);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
}

TEST(SendSlotsTest, PollingALaterSignaledCompletionFreesThemAll) {
  ConnectedPair pair(FourSlots());
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Write(pair, i, 0), 0);
    EXPECT_EQ(Write(pair, 3, IBV_SEND_SIGNALED), 0);
    // The completion is there, but not polled.
    EXPECT_EQ(Write(pair, 4, IBV_SEND_SIGNALED), ENOMEM);
    EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(3));
  }
}

TEST(SendSlotsTest, RequestsBehindThePolledCompletionKeepTheirSlots) {
  ConnectedPair pair(FourSlots());
  EXPECT_EQ(Write(pair, 0, 0), 0);
  EXPECT_EQ(Write(pair, 1, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(Write(pair, 2, 0), 0);
  EXPECT_EQ(Write(pair, 3, 0), 0);
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(1));
  EXPECT_EQ(Write(pair, 4, 0), 0);
  EXPECT_EQ(Write(pair, 5, 0), 0);
  EXPECT_EQ(Write(pair, 6, 0), ENOMEM);
}

TEST(SendSlotsTest, ErrorCompletionsOfUnsignaledRequestsFreeSlotsToo) {
  ConnectedPair pair(FourSlots());
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Write(pair, i, 0), 0);
  ASSERT_EQ(pair.client.qp->ToError(), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());  // all four had succeeded
  EXPECT_EQ(Write(pair, 4, 0), ENOMEM);

  ConnectedPair other(FourSlots());
  ASSERT_EQ(other.client.qp->ToError(), 0);
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Write(other, i, 0), 0);
    EXPECT_EQ(Write(other, 4, 0), ENOMEM);
    EXPECT_EQ(other.client.PollSend().size(), 4u);
  }
}

TEST(SendSlotsTest, AQueueThatSignalsAllCompletesEveryRequest) {
  PairOptions options;
  options.sq_sig_all = true;
  ConnectedPair pair(options);
  EXPECT_EQ(Write(pair, 0, 0), 0);
  EXPECT_EQ(Write(pair, 1, 0), 0);
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(0, 1));
}

TEST(SendSlotsTest, CompletionsThatOutliveTheirQueuePairCanBePolled) {
  ConnectedPair pair;
  EXPECT_EQ(Write(pair, 0, IBV_SEND_SIGNALED), 0);
  pair.client.DestroyQp();
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(0));
}

TEST(SendSlotsTest, AResetQueueHasAllItsSlots) {
  ConnectedPair pair(FourSlots());
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Write(pair, i, 0), 0);
  EXPECT_EQ(Write(pair, 3, IBV_SEND_SIGNALED), 0);
  ASSERT_EQ(pair.client.qp->ToReset(), 0);
  ASSERT_EQ(pair.client.qp->ToInit(), 0);
  ASSERT_EQ(pair.client.qp->ToReadyToReceive(pair.server.qp, {}), 0);
  ASSERT_EQ(pair.client.qp->ToReadyToSend(), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);  // of before: frees nothing
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Write(pair, i, 0), 0);
  EXPECT_EQ(Write(pair, 4, 0), ENOMEM);
}

// --- Late READs: they read "before" or "after", what a later WRITE stores.

PairOptions LateReads(uint8_t max_rd_atomic = 4) {
  PairOptions options;
  options.profile.reads = ReadOrder::kLate;
  options.connection.max_rd_atomic = max_rd_atomic;
  options.connection.max_dest_rd_atomic = 4;
  options.time_divisor = 1;  // no READ becomes due by time during a test
  return options;
}

constexpr size_t kTarget = 256;  // offset at the server
constexpr size_t kSink = 512;    // of the READ at the client

void SetUpTexts(ConnectedPair& pair) {
  pair.server.SetText(kTarget, "before");
  pair.client.SetText(0, "after!");
}

int ReadTarget(ConnectedPair& pair, uint64_t wr_id, unsigned flags = 0) {
  return pair.client.Read(wr_id, kSink, 6, pair.server, kTarget,
                          IBV_SEND_SIGNALED | flags);
}

int WriteTarget(ConnectedPair& pair, uint64_t wr_id, unsigned flags = 0) {
  return pair.client.Write(wr_id, 0, 6, pair.server, kTarget,
                           IBV_SEND_SIGNALED | flags);
}

TEST(PostedOrderTest, AReadSeesWhatWasThereWhenItWasPosted) {
  ConnectedPair pair;
  SetUpTexts(pair);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  ASSERT_EQ(WriteTarget(pair, 2), 0);
  EXPECT_EQ(pair.client.Text(kSink, 6), "before");
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(1, 2));
}

TEST(LateReadTest, LaterRequestsOvertakeTheReadButNotItsCompletion) {
  ConnectedPair pair(LateReads());
  SetUpTexts(pair);
  ASSERT_EQ(pair.server.Recv(9, 1024, 8), 0);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  ASSERT_EQ(WriteTarget(pair, 2), 0);
  ASSERT_EQ(pair.client.Send(3, 0, 6), 0);
  EXPECT_EQ(pair.server.Text(kTarget, 6), "after!");
  EXPECT_THAT(WrIds(pair.server.PollRecv()), ElementsAre(9));
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());

  ASSERT_EQ(WriteTarget(pair, 4, IBV_SEND_FENCE), 0);
  EXPECT_EQ(pair.client.Text(kSink, 6), "after!");
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(1, 2, 3, 4));
}

TEST(LateReadTest, AFencedRequestWaitsForTheRead) {
  ConnectedPair pair(LateReads());
  SetUpTexts(pair);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  ASSERT_EQ(WriteTarget(pair, 2, IBV_SEND_FENCE), 0);
  EXPECT_EQ(pair.client.Text(kSink, 6), "before");
  EXPECT_EQ(pair.server.Text(kTarget, 6), "after!");
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(1, 2));
}

TEST(LateReadTest, AReadBeyondTheLimitWaitsForTheEarlierOnes) {
  ConnectedPair pair(LateReads(/*max_rd_atomic=*/2));
  SetUpTexts(pair);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  ASSERT_EQ(ReadTarget(pair, 2), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  ASSERT_EQ(ReadTarget(pair, 3), 0);
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(1, 2));
  EXPECT_EQ(pair.client.Text(kSink, 6), "before");
}

TEST(LateReadTest, MoreReadsThanTheResponderServesAreAnInvalidRequest) {
  PairOptions options = LateReads(/*max_rd_atomic=*/3);
  options.connection.max_dest_rd_atomic = 2;
  ConnectedPair pair(options);
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(ReadTarget(pair, i), 0);
  ASSERT_EQ(WriteTarget(pair, 4, IBV_SEND_FENCE), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent[1].status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent[2].status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(sent[3].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
}

TEST(LateReadTest, ALonelyReadIsExecutedInTime) {
  PairOptions options = LateReads();
  options.time_divisor = 1000;
  ConnectedPair pair(options);
  SetUpTexts(pair);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  const ibv_wc wc = pair.client.AwaitSend();
  EXPECT_EQ(wc.wr_id, 1u);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.byte_len, 6u);
  EXPECT_EQ(pair.client.Text(kSink, 6), "before");
}

TEST(LateReadTest, ReadsBeforeAFailureSucceedAndThoseBehindItFlush) {
  ConnectedPair pair(LateReads());
  SetUpTexts(pair);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, End::kSize), 0);
  ASSERT_EQ(ReadTarget(pair, 3), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent[1].status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(sent[2].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.client.Text(kSink, 6), "before");
}

TEST(LateReadTest, ASendThatFailsAfterReadsConsumesItsReceiveOnce) {
  ConnectedPair pair(LateReads());
  ASSERT_EQ(pair.server.Recv(20, 0, 4), 0);
  ASSERT_EQ(pair.server.Recv(21, 0, 64), 0);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 5), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent[1].status, IBV_WC_REM_INV_REQ_ERR);
  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].wr_id, 20u);
  EXPECT_EQ(received[0].status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(received[1].status, IBV_WC_WR_FLUSH_ERR);
}

TEST(LateReadTest, ErrorFlushesTheReadAndAllBehindIt) {
  ConnectedPair pair(LateReads());
  SetUpTexts(pair);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  ASSERT_EQ(WriteTarget(pair, 2), 0);
  ASSERT_EQ(pair.client.qp->ToError(), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(sent[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.client.Text(kSink, 6), std::string(6, '\0'));
}

TEST(LateReadTest, ASendWithoutAReceiveDoesNotHoldTheReadBack) {
  ConnectedPair pair(LateReads());
  SetUpTexts(pair);
  ASSERT_EQ(ReadTarget(pair, 1), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 5), 0);
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(1));
  ASSERT_EQ(pair.server.Recv(20, 0, 64), 0);
  EXPECT_THAT(WrIds(pair.client.PollSend()), ElementsAre(2));
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 1u);
}

}  // namespace
}  // namespace rpma::emu
