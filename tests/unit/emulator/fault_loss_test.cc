// SPDX-License-Identifier: BSD-3-Clause
// Lost requests and lost answers: retries act, and what has happened at the
// responder does not happen again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Fault DropRequest(FaultSite site, bool from = false) {
  return {.site = site, .from = from};
}

Fault DropResponse(FaultSite site, bool from = false) {
  return {.site = site, .from = from, .response = true};
}

class LossTest : public ::testing::TestWithParam<const char*> {
 protected:
  static PairOptions Options() {
    PairOptions options;
    options.profile = *FindProfile(GetParam());
    return options;
  }
  // With time that does not pass while a test looks.
  static PairOptions SlowOptions() {
    PairOptions options = Options();
    options.time_divisor = 1;
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(ProfilesThatRetry, LossTest,
                         ::testing::Values("roce", "ib"),
                         [](const auto& name) { return name.param; });

TEST_P(LossTest, ALostRequestHasNoEffectYet) {
  ConnectedPair pair(SlowOptions());
  pair.client.SetText(0, "text");
  pair.SetFaults({DropRequest(FaultSite::kWrite)});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 4, pair.server, 8), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.server.Text(0, 1), std::string(1, '\0'));
  EXPECT_EQ(pair.server.Text(8, 1), std::string(1, '\0'));
}

TEST_P(LossTest, ALostRequestIsTriedAgain) {
  ConnectedPair pair(Options());
  pair.client.SetText(0, "text");
  pair.SetFaults({DropRequest(FaultSite::kWrite)});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 4, pair.server, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.server.Text(0, 4), "text");
  EXPECT_EQ(pair.server.Text(8, 4), "text");
  EXPECT_EQ(pair.Counts().requests, 3u);
  EXPECT_EQ(pair.Counts().fired, 1u);
  EXPECT_THAT(pair.client.Explanation(), "");
}

TEST_P(LossTest, RequestsLostForEverExceedTheRetries) {
  ConnectedPair pair(Options());
  pair.SetFaults({DropRequest(FaultSite::kSend, /*from=*/true)});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.Counts().requests, 8u);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
  EXPECT_THAT(pair.server.PollRecv(), IsEmpty());
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("did not answer 8 tries; fault rule 0 took the last"));
}

TEST_P(LossTest, EachRequestHasItsOwnRetries) {
  PairOptions options = Options();
  options.connection.retry_count = 1;
  ConnectedPair pair(options);
  pair.SetFaults({{.site = FaultSite::kWrite, .nth = 1},
                  {.site = FaultSite::kWrite, .nth = 3},
                  {.site = FaultSite::kWrite, .nth = 5}});
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.client.Write(i, 0, 8, pair.server, 0), 0);
    EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  }
  EXPECT_EQ(pair.Counts().fired, 3u);
}

TEST_P(LossTest, ALostAnswerLeavesTheEffect) {
  ConnectedPair pair(SlowOptions());
  pair.client.SetText(0, "text");
  pair.SetFaults({DropResponse(FaultSite::kWrite)});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.server.Text(0, 4), "text");
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
}

TEST_P(LossTest, AWriteWhoseAnswerWasLostIsNotPerformedAgain) {
  PairOptions options = Options();
  options.time_divisor = 20;  // the first retry comes after 0.1 s
  ConnectedPair pair(options);
  pair.client.SetText(0, "text");
  pair.SetFaults({DropResponse(FaultSite::kWrite)});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  ASSERT_EQ(pair.server.Text(0, 4), "text");
  pair.server.SetText(0, "mine");
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.server.Text(0, 4), "mine");
  EXPECT_EQ(pair.Counts().requests, 2u);
}

TEST_P(LossTest, ASendWhoseAnswerWasLostConsumesOneReceive) {
  ConnectedPair pair(Options());
  pair.SetFaults({DropResponse(FaultSite::kSend)});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].wr_id, 7u);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.server.AwaitRecv().wr_id, 8u);
}

TEST_P(LossTest, AReadWhoseAnswerWasLostIsExecutedAgain) {
  PairOptions options = Options();
  options.time_divisor = 20;
  ConnectedPair pair(options);
  pair.server.SetText(0, "old");
  pair.SetFaults({DropResponse(FaultSite::kRead)});
  ASSERT_EQ(pair.client.Read(1, 64, 3, pair.server, 0), 0);
  pair.server.SetText(0, "new");
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.Text(64, 3), "new");
}

TEST_P(LossTest, AnswersLostForEverExceedTheRetriesAfterTheEffect) {
  ConnectedPair pair(Options());
  pair.client.SetText(0, "text");
  pair.SetFaults({DropResponse(FaultSite::kSend, /*from=*/true)});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 4), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.server.PollRecv().size(), 1u);
  EXPECT_EQ(pair.server.Text(0, 4), "text");
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
}

TEST_P(LossTest, ALostRefusalEndsInExceededRetries) {
  ConnectedPair pair(Options());
  pair.SetFaults({DropResponse(FaultSite::kWrite)});
  ibv_sge sge = pair.client.Sge(0, 8);
  ibv_send_wr wr = End::RdmaRequest(1, IBV_WR_RDMA_WRITE, &sge,
                                    IBV_SEND_SIGNALED, pair.server, 0);
  wr.wr.rdma.rkey = 0;
  ASSERT_EQ(pair.client.Post(wr), 0);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
}

TEST_P(LossTest, ALostRnrNakIsFollowedByAnother) {
  ConnectedPair pair(Options());
  pair.SetFaults({DropResponse(FaultSite::kSend)});
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_TRUE(Eventually([&] {
    pair.client.MakeProgress();
    return pair.client.qp->rnr_naks_received() == 1;
  }));
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
}

// --- iWARP: TCP retransmits.

PairOptions Iwarp(int time_divisor) {
  PairOptions options;
  options.profile = *FindProfile("iwarp");
  options.time_divisor = time_divisor;
  return options;
}

TEST(IwarpLossTest, ALossIsADelay) {
  ConnectedPair pair(Iwarp(1000));
  pair.client.SetText(0, "text");
  pair.SetFaults({DropRequest(FaultSite::kWrite)});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.server.Text(0, 4), "text");
}

TEST(IwarpLossTest, WhatIsLostForEverEndsTheConnection) {
  ConnectedPair pair(Iwarp(100'000));
  pair.SetFaults({DropRequest(FaultSite::kWrite, /*from=*/true)});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.Counts().requests, 16u);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_THAT(pair.client.Explanation(), HasSubstr("did not answer 16 tries"));
  // The thread of the timers reports it once the completions are there.
  const std::vector failed = {pair.client.qp->qp_num};
  EXPECT_TRUE(
      Eventually([&] { return pair.environment.failed_qps() == failed; }));
}

TEST(IwarpLossTest, AWriteHasNoAnswerToLose) {
  ConnectedPair pair(Iwarp(1));
  pair.SetFaults({DropResponse(FaultSite::kWrite, /*from=*/true)});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
}

TEST(IwarpLossTest, TheAnswerOfAReadComesLater) {
  ConnectedPair pair(Iwarp(1000));
  pair.server.SetText(0, "text");
  pair.SetFaults({DropResponse(FaultSite::kRead)});
  ASSERT_EQ(pair.client.Read(1, 64, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.Text(64, 4), "text");
  EXPECT_EQ(pair.Counts().requests, 2u);
}

}  // namespace
}  // namespace rpma::emu
