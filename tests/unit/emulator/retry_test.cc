// SPDX-License-Identifier: BSD-3-Clause
// Requests that have to wait: for a receive, for a remote that is not ready,
// for an answer that never comes. And shared receive queues, where many may
// wait.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RetryTest : public ::testing::TestWithParam<const char*> {
 protected:
  static PairOptions Options() {
    PairOptions options;
    options.profile = *FindProfile(GetParam());
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(ProfilesThatRetry, RetryTest,
                         ::testing::Values("roce", "ib"),
                         [](const auto& name) { return name.param; });

// --- No receive

TEST_P(RetryTest, ASendWaitsForAReceiveForEver) {
  ConnectedPair pair(Options());
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 1u);

  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].wr_id, 1u);
  EXPECT_EQ(sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 2u);

  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].wr_id, 2u);
  const auto received = pair.server.PollRecv();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].wr_id, 7u);
  EXPECT_EQ(received[1].wr_id, 8u);
  EXPECT_THAT(pair.client.Explanation(), "");
}

TEST_P(RetryTest, RequestsBehindAWaitingSendWait) {
  ConnectedPair pair(Options());
  pair.client.SetText(0, "behind");
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 6, pair.server, 64), 0);
  EXPECT_EQ(pair.server.Text(64, 1), std::string(1, '\0'));
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  EXPECT_EQ(pair.server.Text(64, 6), "behind");
  EXPECT_EQ(pair.client.PollSend().size(), 2u);
}

TEST_P(RetryTest, WriteWithImmWaitsForAReceiveBeforeItStores) {
  ConnectedPair pair(Options());
  pair.client.SetText(0, "imm");
  ibv_sge sge = pair.client.Sge(0, 3);
  ASSERT_EQ(
      pair.client.Post(End::RdmaRequest(1, IBV_WR_RDMA_WRITE_WITH_IMM, &sge,
                                        IBV_SEND_SIGNALED, pair.server, 64)),
      0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 1u);
  ASSERT_EQ(pair.server.Recv(7, 0, 0), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  EXPECT_EQ(pair.server.Text(64, 3), "imm");
}

TEST_P(RetryTest, RnrRetriesEndWithTheRequesterOnly) {
  PairOptions options = Options();
  options.connection.rnr_retry = 2;
  ConnectedPair pair(options);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 3u);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
  EXPECT_THAT(pair.server.AsyncEvents(), IsEmpty());
  EXPECT_THAT(pair.client.Explanation(), HasSubstr("no receive was posted"));
}

TEST_P(RetryTest, AReceiveInTimeEndsTheRetries) {
  PairOptions options = Options();
  options.connection.rnr_retry = 1;
  options.time_divisor = 1;
  ConnectedPair pair(options);
  for (uint64_t i = 0; i < 3; ++i) {  // each message has its own retries
    ASSERT_EQ(pair.client.Send(i, 0, 8), 0);
    EXPECT_THAT(pair.client.PollSend(), IsEmpty());
    ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
    const auto sent = pair.client.PollSend();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].status, IBV_WC_SUCCESS);
  }
}

TEST_P(RetryTest, TheProfileCanReplaceForEver) {
  PairOptions options = Options();
  options.profile.rnr_retry = 0;
  ConnectedPair pair(options);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, IBV_WC_RNR_RETRY_EXC_ERR);
}

// --- No answer

TEST_P(RetryTest, ARemoteInErrorAnswersNoTry) {
  ConnectedPair pair(Options());
  ASSERT_EQ(pair.server.qp->ToError(), 0);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("the remote queue pair did not answer 8 tries"));
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
}

TEST_P(RetryTest, ADestroyedRemoteAnswersNoTry) {
  PairOptions options = Options();
  options.connection.retry_count = 0;
  ConnectedPair pair(options);
  pair.server.DestroyQp();
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("the remote queue pair did not answer 1 try"));
}

TEST_P(RetryTest, ARemoteConnectedToAnotherAnswersNoTry) {
  ConnectedPair pair(Options());
  const auto other = pair.client.MakeQp();
  ASSERT_EQ(pair.server.qp->ToReset(), 0);
  ASSERT_EQ(pair.server.qp->ToInit(), 0);
  ASSERT_EQ(pair.server.qp->ToReadyToReceive(other, {}), 0);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.client.device.DestroyQp(other.get()), 0);
}

TEST_P(RetryTest, ASendThatWaitsForAReceiveTimesOutWhenTheRemoteDies) {
  ConnectedPair pair(Options());
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.server.qp->ToError(), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);

  ConnectedPair other(Options());
  ASSERT_EQ(other.client.Send(1, 0, 8), 0);
  other.server.DestroyQp();
  EXPECT_EQ(other.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
}

TEST_P(RetryTest, RetriesStopWhenTheRequesterIsDestroyed) {
  ConnectedPair pair(Options());
  ASSERT_EQ(pair.server.qp->ToError(), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  pair.client.DestroyQp();
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
}

// --- Not ready

// The client in RTS, the server still in INIT.
struct HalfConnectedPair : ConnectedPair {
  explicit HalfConnectedPair(const PairOptions& options)
      : ConnectedPair(options) {
    EXPECT_EQ(server.qp->ToReset(), 0);
    EXPECT_EQ(server.qp->ToInit(), 0);
  }
};

TEST_P(RetryTest, ARemoteThatIsNotReadyIsAwaitedWithoutRetries) {
  PairOptions options = Options();
  options.connection.retry_count = 0;
  HalfConnectedPair pair(options);
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  ASSERT_EQ(pair.server.qp->ToReadyToReceive(pair.ClientQp(pair.client.qp), {}),
            0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.server.PollRecv().size(), 1u);
}

TEST_P(RetryTest, ARemoteThatDiesBeforeItIsReadyTimesOut) {
  HalfConnectedPair pair(Options());
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  pair.server.DestroyQp();
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
}

// --- iWARP has none of these waits.

PairOptions Iwarp() {
  PairOptions options;
  options.profile = *FindProfile("iwarp");
  return options;
}

TEST(IwarpTest, ASendWithoutAReceiveSucceedsAndEndsTheConnection) {
  ConnectedPair pair(Iwarp());
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.environment.failed_qps().size(), 2u);
  EXPECT_THAT(pair.client.Explanation(), HasSubstr("no receive was posted"));
}

TEST(IwarpTest, ADeadRemoteEndsTheConnectionWithoutRetries) {
  ConnectedPair pair(Iwarp());
  ASSERT_EQ(pair.server.qp->ToError(), 0);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_THAT(pair.environment.failed_qps(),
              ElementsAre(pair.client.qp->qp_num));
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("the remote queue pair had ended the connection"));
}

}  // namespace
}  // namespace rpma::emu
