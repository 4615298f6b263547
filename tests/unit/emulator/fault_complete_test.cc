// SPDX-License-Identifier: BSD-3-Clause
// Requests and receives that a fault completes with a chosen status.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Fault Complete(FaultSite site, ibv_wc_status status) {
  return {.action = FaultAction::kComplete, .site = site, .status = status};
}

std::vector<ibv_wc_status> Statuses(const std::vector<ibv_wc>& completions) {
  std::vector<ibv_wc_status> statuses;
  for (const ibv_wc& wc : completions) statuses.push_back(wc.status);
  return statuses;
}

// Of which only the requester knows.
class LocalStatusTest : public ::testing::TestWithParam<ibv_wc_status> {};

INSTANTIATE_TEST_SUITE_P(
    Statuses, LocalStatusTest,
    ::testing::Values(
        IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_EEC_OP_ERR,
        IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_MW_BIND_ERR,
        IBV_WC_BAD_RESP_ERR, IBV_WC_LOC_ACCESS_ERR, IBV_WC_RETRY_EXC_ERR,
        IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_LOC_RDD_VIOL_ERR,
        IBV_WC_REM_INV_RD_REQ_ERR, IBV_WC_INV_EECN_ERR,
        IBV_WC_INV_EEC_STATE_ERR, IBV_WC_FATAL_ERR, IBV_WC_RESP_TIMEOUT_ERR,
        IBV_WC_GENERAL_ERR, IBV_WC_TM_ERR, IBV_WC_TM_RNDV_INCOMPLETE));

TEST_P(LocalStatusTest, FailsTheRequesterAndTheResponderKnowsNothing) {
  ConnectedPair pair;
  pair.client.SetText(0, "text");
  pair.SetFaults({Complete(FaultSite::kWrite, GetParam())});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Recv(8, 0, 8), 0);

  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0, /*flags=*/0), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 4), 0);

  const auto sent = pair.client.PollSend();
  EXPECT_THAT(Statuses(sent), ElementsAre(GetParam(), IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(sent[0].wr_id, 1u);
  EXPECT_EQ(sent[0].qp_num, pair.client.qp->qp_num);
  EXPECT_EQ(sent[0].opcode, kPoisonOpcode);
  EXPECT_THAT(Statuses(pair.client.PollRecv()),
              ElementsAre(IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
  EXPECT_THAT(pair.server.PollRecv(), IsEmpty());
  EXPECT_THAT(pair.server.AsyncEvents(), IsEmpty());
  EXPECT_EQ(pair.server.Text(0, 1), std::string(1, '\0'));
  EXPECT_THAT(pair.environment.failed_qps(),
              ElementsAre(pair.client.qp->qp_num));
}

// That the responder answers with.
struct Refused {
  ibv_wc_status status;
  ibv_event_type event;
};

class RemoteStatusTest : public ::testing::TestWithParam<Refused> {};

INSTANTIATE_TEST_SUITE_P(
    Statuses, RemoteStatusTest,
    ::testing::Values(Refused{IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                      Refused{IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR},
                      Refused{IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL},
                      Refused{IBV_WC_REM_ABORT_ERR, IBV_EVENT_QP_FATAL}));

TEST_P(RemoteStatusTest, FailsBothEnds) {
  ConnectedPair pair;
  pair.client.SetText(0, "text");
  pair.SetFaults({Complete(FaultSite::kWrite, GetParam().status)});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);

  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);

  EXPECT_THAT(Statuses(pair.client.PollSend()), ElementsAre(GetParam().status));
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
  EXPECT_THAT(Statuses(pair.server.PollRecv()),
              ElementsAre(IBV_WC_WR_FLUSH_ERR));
  EXPECT_THAT(pair.server.AsyncEvents(), ElementsAre(GetParam().event));
  EXPECT_EQ(pair.server.Text(0, 1), std::string(1, '\0'));
  EXPECT_EQ(pair.environment.failed_qps().size(), 2u);
}

TEST_P(RemoteStatusTest, EndsAnIwarpConnectionWithThatStatus) {
  PairOptions options;
  options.profile = *FindProfile("iwarp");
  ConnectedPair pair(options);
  pair.SetFaults({Complete(FaultSite::kWrite, GetParam().status)});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_THAT(Statuses(pair.client.PollSend()), ElementsAre(GetParam().status));
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
}

TEST(CompleteTest, ASendRefusedForItsReceiveFailsTheReceiveToo) {
  for (const auto& [sender, receiver] :
       {std::pair{IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR},
        std::pair{IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR}}) {
    ConnectedPair pair;
    pair.SetFaults({Complete(FaultSite::kSend, sender)});
    ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
    ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);

    ASSERT_EQ(pair.client.Send(1, 0, 8), 0);

    EXPECT_THAT(Statuses(pair.client.PollSend()), ElementsAre(sender));
    const auto received = pair.server.PollRecv();
    EXPECT_THAT(Statuses(received), ElementsAre(receiver, IBV_WC_WR_FLUSH_ERR));
    EXPECT_EQ(received[0].wr_id, 7u);
    EXPECT_THAT(pair.server.AsyncEvents(), IsEmpty());
  }
}

TEST(CompleteTest, EachOperationIsASiteOfItsOwn) {
  const uint64_t value = 1;
  for (const FaultSite site :
       {FaultSite::kSend, FaultSite::kWrite, FaultSite::kRead,
        FaultSite::kAtomicWrite, FaultSite::kFlush}) {
    PairOptions options;
    options.profile.native_atomic_write = options.profile.native_flush = true;
    ConnectedPair pair(options);
    pair.SetFaults({Complete(site, IBV_WC_GENERAL_ERR)});
    ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);

    ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
    ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);
    ASSERT_EQ(pair.client.Read(3, 0, 8, pair.server, 0), 0);
    ASSERT_EQ(
        pair.client.qp->PostAtomicWrite({.wr_id = 4,
                                         .remote_addr = pair.server.Address(),
                                         .source = &value,
                                         .rkey = pair.server.mr->rkey,
                                         .send_flags = IBV_SEND_SIGNALED}),
        0);
    ASSERT_EQ(pair.client.qp->PostFlush(
                  {.wr_id = 5, .send_flags = IBV_SEND_SIGNALED}),
              0);

    const auto sent = pair.client.PollSend();
    ASSERT_EQ(sent.size(), 5u);
    const auto failed =
        static_cast<size_t>(site) - static_cast<size_t>(FaultSite::kSend);
    for (size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(sent[i].status, i < failed    ? IBV_WC_SUCCESS
                                : i == failed ? IBV_WC_GENERAL_ERR
                                              : IBV_WC_WR_FLUSH_ERR)
          << i;
    }
    EXPECT_EQ(pair.Counts().requests, failed + 1);
  }
}

TEST(CompleteTest, TheExplanationNamesTheRule) {
  ConnectedPair pair;
  Fault fault = Complete(FaultSite::kWrite, IBV_WC_REM_ACCESS_ERR);
  fault.rule = 2;
  pair.SetFaults({fault});
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_THAT(pair.client.Explanation(),
              HasSubstr("completed with REM_ACCESS_ERR by fault rule 2"));
  EXPECT_EQ(pair.server.Explanation(), pair.client.Explanation());
}

TEST(CompleteTest, AReceiveFailsAndWithItTheSend) {
  ConnectedPair pair;
  pair.client.SetText(0, "text");
  Fault fault = Complete(FaultSite::kReceive, IBV_WC_LOC_QP_OP_ERR);
  fault.nth = 2;
  pair.SetFaults({fault});
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.server.Recv(10 + i, 8 * i, 8), 0);
  }

  ASSERT_EQ(pair.client.Send(1, 0, 4), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 4), 0);

  EXPECT_THAT(Statuses(pair.client.PollSend()),
              ElementsAre(IBV_WC_SUCCESS, IBV_WC_REM_OP_ERR));
  const auto received = pair.server.PollRecv();
  EXPECT_THAT(
      Statuses(received),
      ElementsAre(IBV_WC_SUCCESS, IBV_WC_LOC_QP_OP_ERR, IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(received[1].wr_id, 11u);
  EXPECT_EQ(pair.server.Text(8, 1), std::string(1, '\0'));
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
  EXPECT_THAT(pair.server.Explanation(),
              HasSubstr("its receive completed with LOC_QP_OP_ERR by fault "
                        "rule 0"));
}

TEST(CompleteTest, AReceiveOfAWriteWithImmFailsAndNothingIsWritten) {
  ConnectedPair pair;
  pair.client.SetText(0, "imm");
  pair.SetFaults({Complete(FaultSite::kReceive, IBV_WC_GENERAL_ERR)});
  ASSERT_EQ(pair.server.Recv(7, 0, 0), 0);
  ibv_sge sge = pair.client.Sge(0, 3);

  ASSERT_EQ(
      pair.client.Post(End::RdmaRequest(1, IBV_WR_RDMA_WRITE_WITH_IMM, &sge,
                                        IBV_SEND_SIGNALED, pair.server, 64)),
      0);

  EXPECT_THAT(Statuses(pair.client.PollSend()), ElementsAre(IBV_WC_REM_OP_ERR));
  EXPECT_THAT(Statuses(pair.server.PollRecv()),
              ElementsAre(IBV_WC_GENERAL_ERR));
  EXPECT_EQ(pair.server.Text(64, 1), std::string(1, '\0'));
}

TEST(CompleteTest, AFailingReceiveOfASharedQueueIsTaken) {
  PairOptions options;
  options.with_srq = true;
  ConnectedPair pair(options);
  pair.SetFaults({Complete(FaultSite::kReceive, IBV_WC_LOC_LEN_ERR)});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  const auto received = pair.server.PollRecv();
  EXPECT_THAT(Statuses(received), ElementsAre(IBV_WC_LOC_LEN_ERR));
  EXPECT_EQ(received[0].wr_id, 7u);
}

TEST(CompleteTest, LateReadsThatCameBeforeAreExecutedFirst) {
  PairOptions options;
  options.profile.reads = ReadOrder::kLate;
  options.time_divisor = 1;
  ConnectedPair pair(options);
  pair.server.SetText(0, "read");
  pair.SetFaults({Complete(FaultSite::kWrite, IBV_WC_GENERAL_ERR)});
  ASSERT_EQ(pair.client.Read(1, 0, 4, pair.server, 0), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());

  ASSERT_EQ(pair.client.Write(2, 8, 4, pair.server, 8), 0);

  EXPECT_THAT(Statuses(pair.client.PollSend()),
              ElementsAre(IBV_WC_SUCCESS, IBV_WC_GENERAL_ERR));
  EXPECT_EQ(pair.client.Text(0, 4), "read");
  EXPECT_EQ(pair.Counts().fired, 1u);
}

}  // namespace
}  // namespace rpma::emu
