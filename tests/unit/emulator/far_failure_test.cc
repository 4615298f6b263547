// SPDX-License-Identifier: BSD-3-Clause
// Remotes in other processes that fall silent, die, send late or send rubbish;
// and faults, of which each process has its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "tests/unit/emulator/far_pair.h"

namespace rpma::emu {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StrEq;

constexpr size_t kPart = wire::kMaxPart;

std::vector<ibv_wc_status> Statuses(const std::vector<ibv_wc>& completions) {
  std::vector<ibv_wc_status> statuses;
  for (const ibv_wc& wc : completions) statuses.push_back(wc.status);
  return statuses;
}

PairOptions OneTry(const char* profile = "roce") {
  PairOptions options;
  options.profile = *FindProfile(profile);
  options.profile.timers.tcp_retries = 0;
  options.connection.retry_count = 0;
  return options;
}

// --- Silence

TEST(SilenceTest, EndsTheRetries) {
  FarPair pair(OneTry());
  pair.link.StopServer(true);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Recv(3, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_THAT(pair.client.Explanation(), HasSubstr("did not answer 1 try"));
}

TEST(SilenceTest, OnIwarpEndsInFlushing) {
  FarPair pair(OneTry("iwarp"));
  pair.link.StopServer(true);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_WR_FLUSH_ERR);
}

TEST(SilenceTest, IsNotWhatAShortPauseIs) {
  PairOptions options = OneTry();
  options.time_divisor = 1;  // an ACK timeout of seconds
  FarPair pair(options);
  pair.link.StopServer(true);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  pair.link.StopServer(false);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
}

TEST(SilenceTest, BeforeARequestIsNotCountedAgainstIt) {
  // The watch that the first request set expires during the second one.
  FarPair pair(OneTry());
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  std::atomic<bool> has_expired = false;
  Timer later(pair.client_world.timers(), [&] { has_expired = true; });
  ASSERT_TRUE(later.Arm(milliseconds(250)));
  pair.link.StopServer(true);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);
  EXPECT_TRUE(Eventually([&] { return has_expired.load(); }));
  pair.link.StopServer(false);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
}

// --- Late answers

TEST(LateReplyTest, DoesNotAnswerTheNextRequest) {
  FarPair pair;
  pair.SetProgress(nullptr);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.qp->ToReset(), 0);
  ASSERT_EQ(pair.client.qp->ToInit(), 0);
  ASSERT_EQ(
      pair.client.qp->ToReadyToReceive(pair.link.ServerQp(*pair.server.qp), {}),
      0);
  ASSERT_EQ(pair.client.qp->ToReadyToSend(), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);  // finds no receive
  ASSERT_TRUE(pair.link.HandleOneAtServer());
  ASSERT_TRUE(pair.link.HandleOneAtClient());
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  ASSERT_TRUE(pair.link.HandleOneAtServer());
  ASSERT_TRUE(pair.link.HandleOneAtClient());
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 1u);
}

TEST(LateReplyTest, ToAFlushedRequestIsIgnored) {
  FarPair pair;
  pair.SetProgress(nullptr);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.qp->ToError(), 0);
  EXPECT_THAT(Statuses(pair.client.PollSend()),
              ElementsAre(IBV_WC_WR_FLUSH_ERR));
  pair.SetProgress(&pair.link);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
}

// --- Hints that are lost

TEST(LostResumeTest, AReceiveIsFoundAllTheSame) {
  FarPair pair;
  pair.link.lets_pass = [](const wire::Message& message) {
    return message.head.type != wire::Type::kResume;
  };
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
}

TEST(LostResumeTest, AReadyQueuePairIsFoundAllTheSame) {
  FarPair pair(OneTry());
  ASSERT_EQ(pair.server.qp->ToReset(), 0);
  ASSERT_EQ(pair.server.qp->ToInit(), 0);
  pair.link.lets_pass = [](const wire::Message& message) {
    return message.head.type != wire::Type::kResume;
  };
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(
      pair.server.qp->ToReadyToReceive(pair.link.ClientQp(*pair.client.qp), {}),
      0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
}

// --- Late READs

TEST(LateReadTest, AFailureThatWasHeldWaitsForTheReadsWhateverExpired) {
  PairOptions options;
  options.profile.reads = ReadOrder::kLate;
  FarPair pair(options);
  pair.SetProgress(nullptr);
  ASSERT_EQ(pair.client.Read(1, 0, 8, pair.server, 0), 0);
  ibv_sge sge = pair.client.Sge(0, 8);
  ibv_send_wr failing = End::RdmaRequest(2, IBV_WR_RDMA_WRITE, &sge,
                                         IBV_SEND_SIGNALED, pair.server, 0);
  failing.wr.rdma.rkey = 0;
  ASSERT_EQ(pair.client.Post(failing), 0);
  // The READ becomes due while the WRITE is away.
  std::atomic<bool> has_expired = false;
  Timer later(pair.client_world.timers(), [&] { has_expired = true; });
  ASSERT_TRUE(later.Arm(milliseconds(2)));
  ASSERT_TRUE(Eventually([&] { return has_expired.load(); }));
  ASSERT_TRUE(pair.link.HandleOneAtServer());
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
  pair.SetProgress(&pair.link);
  EXPECT_THAT(Statuses(pair.client.PollSend()),
              ElementsAre(IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR));
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
}

// --- The end of the other process

TEST(DeadLinkTest, OutstandingRequestsEndAndReceivesStay) {
  FarPair pair;
  pair.link.StopServer(true);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.server.Recv(3, 0, 8), 0);
  pair.link.Kill();
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
  EXPECT_THAT(pair.server.PollRecv(), IsEmpty());
}

TEST(DeadLinkTest, OnIwarpRequestsAreFlushed) {
  FarPair pair(OneTry("iwarp"));
  pair.link.StopServer(true);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  pair.link.Kill();
  EXPECT_THAT(Statuses(pair.client.PollSend()),
              ElementsAre(IBV_WC_WR_FLUSH_ERR));
}

TEST(DeadLinkTest, LaterRequestsHaveNoAnswer) {
  FarPair pair;
  pair.link.Kill();
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_THAT(pair.client.Explanation(), HasSubstr("did not answer"));
}

TEST(DeadLinkTest, EndsTheWaitForAReceive) {
  FarPair pair;
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 1u);
  pair.link.Kill();
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
}

TEST(DeadLinkTest, EndsTheWaitForRoom) {
  FarPair pair;
  Memory memory(pair.client, 4 * kPart);
  pair.link.StopServer(true);
  pair.link.client().SetCapacity(wire::kMaxRecord);
  ASSERT_EQ(pair.Rdma(1, IBV_WR_SEND, memory, memory), 0);
  pair.link.Kill();
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
}

// --- Rubbish

class RubbishTest : public ::testing::Test {
 protected:
  RubbishTest() {
    request_ = wire::NewMessage(wire::Type::kRequest);
    request_.head.to = pair_.server.qp->qp_num;
    request_.head.from = pair_.client.qp->qp_num;
    request_.request.seq = 1000;
    request_.request.operation = wire::Operation::kSend;
    reply_ = wire::NewMessage(wire::Type::kReply);
    reply_.head.to = pair_.client.qp->qp_num;
    reply_.head.from = pair_.server.qp->qp_num;
    reply_.reply.seq = 1;
  }
  const char* TellServer(size_t payload) {
    return pair_.server.device.OnData(pair_.link.server(), request_,
                                      std::span(bytes_).first(payload));
  }
  const char* TellClient(size_t payload) {
    return pair_.client.device.OnData(pair_.link.client(), reply_,
                                      std::span(bytes_).first(payload));
  }
  void SetPart(uint64_t total, uint64_t skip, uint32_t part) {
    request_.request.total = total;
    request_.request.skip = skip;
    request_.request.part = part;
    request_.head.flags = skip + part == total ? wire::kLast : uint8_t{0};
  }

  FarPair pair_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kPart);
  wire::Message request_;
  wire::Message reply_;
};

TEST_F(RubbishTest, PartsOutOfOrder) {
  SetPart(4 * kPart, 0, kPart);
  EXPECT_EQ(TellServer(kPart), nullptr);
  SetPart(4 * kPart, 2 * kPart, kPart);
  EXPECT_THAT(TellServer(kPart), StrEq("a part out of order"));
}

TEST_F(RubbishTest, PartsOfAMessageThatGrows) {
  SetPart(2 * kPart, 0, kPart);
  EXPECT_EQ(TellServer(kPart), nullptr);
  SetPart(4 * kPart, kPart, kPart);
  EXPECT_THAT(TellServer(kPart), StrEq("a message that changes"));
}

TEST_F(RubbishTest, PartsThatTurnIntoAnotherOperation) {
  SetPart(4 * kPart, 0, kPart);
  request_.request.operation = wire::Operation::kWrite;
  request_.request.remote_addr = pair_.server.Address();
  request_.request.rkey = pair_.server.mr->rkey;
  Memory memory(pair_.server, 4 * kPart);
  request_.request.remote_addr = memory.address();
  request_.request.rkey = memory.key();
  EXPECT_EQ(TellServer(kPart), nullptr);
  SetPart(4 * kPart, kPart, kPart);
  request_.request.operation = wire::Operation::kSend;
  EXPECT_THAT(TellServer(kPart), StrEq("a message that changes"));
}

TEST_F(RubbishTest, PartsOfNothingAreIgnored) {
  SetPart(4 * kPart, kPart, kPart);
  EXPECT_EQ(TellServer(kPart), nullptr);
  EXPECT_EQ(pair_.link.server().waiting(), 0u);
}

TEST_F(RubbishTest, RequestsOfAStrangerHaveNoAnswer) {
  request_.head.from = 4711;
  SetPart(8, 0, 8);
  pair_.SetProgress(nullptr);
  EXPECT_EQ(TellServer(8), nullptr);
  EXPECT_EQ(pair_.link.server().waiting(), 1u);
  EXPECT_EQ(pair_.server.qp->State(), IBV_QPS_RTS);
}

TEST_F(RubbishTest, AReplyWithBytesThatNobodyAskedFor) {
  pair_.SetProgress(nullptr);
  ASSERT_EQ(pair_.client.Write(1, 0, 8, pair_.server, 0), 0);
  reply_.reply.part = 8;
  EXPECT_THAT(TellClient(8), StrEq("a part out of order"));
}

TEST_F(RubbishTest, AReplyWithMoreThanWasAskedFor) {
  pair_.SetProgress(nullptr);
  ASSERT_EQ(pair_.client.Read(1, 0, 8, pair_.server, 0), 0);
  reply_.reply.part = 16;
  EXPECT_THAT(TellClient(16), StrEq("a part out of order"));
}

TEST_F(RubbishTest, AReplyForAnUnknownReason) {
  pair_.SetProgress(nullptr);
  ASSERT_EQ(pair_.client.Write(1, 0, 8, pair_.server, 0), 0);
  reply_.reply.outcome = wire::Outcome::kFailed;
  reply_.reply.status = IBV_WC_REM_ACCESS_ERR;
  reply_.reply.cause = 1000;
  EXPECT_THAT(TellClient(0), StrEq("an unknown cause"));
}

TEST_F(RubbishTest, ATextThatIsNoneIsMadeOne) {
  pair_.SetProgress(nullptr);
  ASSERT_EQ(pair_.client.Write(1, 0, 8, pair_.server, 0), 0);
  reply_.reply.outcome = wire::Outcome::kFailed;
  reply_.reply.status = IBV_WC_REM_ACCESS_ERR;
  bytes_[0] = std::byte{'a'};
  bytes_[1] = std::byte{'\n'};
  bytes_[2] = std::byte{0xff};
  EXPECT_EQ(TellClient(4), nullptr);
  EXPECT_EQ(pair_.client.Explanation(), "a???");
}

// --- Faults

TEST(FarFaultTest, ARefusalOfTheSendersPlanFailsBoth) {
  FarPair pair;
  pair.SetClientFaults({{.action = FaultAction::kComplete,
                         .site = FaultSite::kSend,
                         .status = IBV_WC_REM_OP_ERR,
                         .rule = 5}});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(pair.server.AwaitRecv().status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(pair.server.Explanation(), pair.client.Explanation());
  EXPECT_THAT(pair.server.Explanation(), HasSubstr("by fault rule 5"));
}

TEST(FarFaultTest, ARefusalOfALongMessageActsOnce) {
  FarPair pair;
  Memory ours(pair.client, 4 * kPart);
  Memory theirs(pair.server, 4 * kPart);
  ours.Fill(1);
  pair.SetClientFaults({{.action = FaultAction::kComplete,
                         .site = FaultSite::kWrite,
                         .status = IBV_WC_REM_ACCESS_ERR}});
  ASSERT_EQ(pair.Rdma(1, IBV_WR_RDMA_WRITE, ours, theirs), 0);
  EXPECT_THAT(Statuses(pair.client.PollSend()),
              ElementsAre(IBV_WC_REM_ACCESS_ERR));
  EXPECT_THAT(pair.server.AsyncEvents(), ElementsAre(IBV_EVENT_QP_ACCESS_ERR));
  EXPECT_EQ(theirs.bytes[0], 0);
}

TEST(FarFaultTest, ALostAnswerIsGivenAgain) {
  FarPair pair;
  pair.SetClientFaults({{.action = FaultAction::kDrop,
                         .site = FaultSite::kSend,
                         .response = true}});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.server.PollRecv().size(), 1u);
}

TEST(FarFaultTest, RnrNaksAreOfTheReceiversPlan) {
  FarPair pair;
  const Fault rnr{.action = FaultAction::kRnr, .time = milliseconds(20000)};
  pair.SetClientFaults({rnr});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 0u);

  pair.SetServerFaults({rnr});
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_GE(pair.client.qp->rnr_naks_received(), 1u);
  EXPECT_EQ(pair.server_world.faults().counts().fired, 1u);
}

TEST(FarFaultTest, RnrNaksOfAPlanCountMessagesNotTries) {
  PairOptions options;
  options.connection.rnr_retry = 3;
  FarPair pair(options);
  pair.SetServerFaults(
      {{.action = FaultAction::kRnr, .nth = 2, .time = std::chrono::hours(1)}});
  for (uint64_t i = 0; i < 2; ++i) ASSERT_EQ(pair.server.Recv(i, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(pair.server_world.faults().counts().fired, 1u);
}

TEST(FarFaultTest, ReceivesFailByTheReceiversPlan) {
  FarPair pair;
  pair.SetServerFaults({{.action = FaultAction::kComplete,
                         .site = FaultSite::kReceive,
                         .status = IBV_WC_LOC_QP_OP_ERR}});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(pair.server.AwaitRecv().status, IBV_WC_LOC_QP_OP_ERR);
  EXPECT_THAT(pair.client.Explanation(), HasSubstr("by fault rule"));
}

TEST(FarFaultTest, ADeviceWithoutALinkDoesNotAnswer) {
  FarPair pair;
  std::string error;
  ASSERT_EQ(pair.server_world.faults().Inject(
                {.action = FaultAction::kLink, .device = "server"},
                [&](std::string_view) { return &pair.server.device; }, &error),
            0);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_THAT(pair.client.Explanation(), HasSubstr("; server had its link"));
  EXPECT_EQ(pair.server.qp->State(), IBV_QPS_RTS);
}

}  // namespace
}  // namespace rpma::emu
