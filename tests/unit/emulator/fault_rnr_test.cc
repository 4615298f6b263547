// SPDX-License-Identifier: BSD-3-Clause
// A responder that answers RNR NAK for a time, although receives are posted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Fault Rnr(std::chrono::nanoseconds time) {
  return {.action = FaultAction::kRnr, .time = time};
}

PairOptions Options(int time_divisor = 1000) {
  PairOptions options;
  options.time_divisor = time_divisor;
  return options;
}

TEST(RnrFaultTest, ASendWaitsAlthoughAReceiveIsPosted) {
  ConnectedPair pair(Options(/*time_divisor=*/1));
  pair.SetFaults({Rnr(hours(1))});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 1u);
}

TEST(RnrFaultTest, AWriteWithoutImmediateDoesNotWait) {
  ConnectedPair pair(Options(/*time_divisor=*/1));
  pair.SetFaults({Rnr(hours(1))});
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  EXPECT_EQ(pair.Counts().fired, 0u);
}

TEST(RnrFaultTest, AWriteWithImmediateWaitsAndStoresNothing) {
  ConnectedPair pair(Options(/*time_divisor=*/1));
  pair.client.SetText(0, "imm");
  pair.SetFaults({Rnr(hours(1))});
  ASSERT_EQ(pair.server.Recv(7, 0, 0), 0);
  ibv_sge sge = pair.client.Sge(0, 3);
  ASSERT_EQ(
      pair.client.Post(End::RdmaRequest(1, IBV_WR_RDMA_WRITE_WITH_IMM, &sge,
                                        IBV_SEND_SIGNALED, pair.server, 64)),
      0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.server.Text(64, 1), std::string(1, '\0'));
}

TEST(RnrFaultTest, ItGoesOnWhenTheTimeIsOver) {
  ConnectedPair pair(Options());
  pair.SetFaults({Rnr(milliseconds(20000))});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_GE(pair.client.qp->rnr_naks_received(), 2u);
  EXPECT_EQ(pair.Counts().fired, 1u);
}

TEST(RnrFaultTest, TheRetriesOfTheConnectionEndBeforeALongerTime) {
  PairOptions options = Options();
  options.connection.rnr_retry = 2;
  ConnectedPair pair(options);
  pair.SetFaults({Rnr(hours(1))});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 3u);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("fault rule 0 answered with RNR NAKs"));
}

TEST(RnrFaultTest, TheNthMessageOpensTheTime) {
  ConnectedPair pair(Options(/*time_divisor=*/1));
  Fault fault = Rnr(hours(1));
  fault.nth = 2;
  pair.SetFaults({fault});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
}

TEST(RnrFaultTest, FromMeansATimeForEachMessage) {
  ConnectedPair pair(Options());
  Fault fault = Rnr(milliseconds(1000));
  fault.from = true;
  pair.SetFaults({fault});
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.server.Recv(i, 0, 8), 0);
    ASSERT_EQ(pair.client.Send(i, 0, 8), 0);
    EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  }
  EXPECT_EQ(pair.Counts().fired, 3u);
  EXPECT_GE(pair.client.qp->rnr_naks_received(), 3u);
}

TEST(RnrFaultTest, ADeviceIsTheOneThatAnswers) {
  ConnectedPair pair(Options(/*time_divisor=*/1));
  Fault fault = Rnr(hours(1));
  fault.device = "client";
  pair.SetFaults({fault});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  ASSERT_EQ(pair.server.Send(2, 0, 8), 0);
  EXPECT_THAT(pair.server.PollSend(), IsEmpty());
}

TEST(RnrFaultTest, RetriesAreNotCounted) {
  ConnectedPair pair(Options());
  Fault fault = Rnr(hours(1));
  fault.nth = 2;
  pair.SetFaults({{.site = FaultSite::kSend}, fault});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);  // lost, and tried again
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_GE(pair.client.qp->rnr_naks_received(), 1u);
}

TEST(RnrFaultTest, ASendWhoseAnswerWasLostIsAcknowledgedAllTheSame) {
  ConnectedPair pair(Options());
  Fault fault = Rnr(hours(1));
  fault.nth = 2;
  pair.SetFaults({{.site = FaultSite::kSend, .response = true}, fault});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.server.Send(2, 0, 8), 0);  // RNR NAKs on both sides from now
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 0u);
  EXPECT_GE(pair.server.qp->rnr_naks_received(), 1u);
}

TEST(RnrFaultTest, IwarpKnowsNoRnrNak) {
  PairOptions options;
  options.profile = *FindProfile("iwarp");
  ConnectedPair pair(options);
  pair.SetFaults({Rnr(hours(1))});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  EXPECT_EQ(pair.Counts().fired, 0u);
}

}  // namespace
}  // namespace rpma::emu
