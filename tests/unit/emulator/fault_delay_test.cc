// SPDX-License-Identifier: BSD-3-Clause
// Messages that come late, or twice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::IsEmpty;

Fault DelayRequest(FaultSite site, std::chrono::nanoseconds time) {
  return {.action = FaultAction::kDelay, .site = site, .time = time};
}

Fault DelayResponse(FaultSite site, std::chrono::nanoseconds time) {
  return {.action = FaultAction::kDelay,
          .site = site,
          .response = true,
          .time = time};
}

Fault Duplicate(FaultSite site) {
  return {.action = FaultAction::kDuplicate, .site = site, .from = true};
}

PairOptions Options(const char* profile, int time_divisor = 1000) {
  PairOptions options;
  options.profile = *FindProfile(profile);
  options.time_divisor = time_divisor;
  return options;
}

class DelayTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Profiles, DelayTest,
                         ::testing::Values("roce", "ib", "iwarp"),
                         [](const auto& name) { return name.param; });

TEST_P(DelayTest, WhatIsUnderWayHasNoEffectYetAndHoldsUpTheRest) {
  ConnectedPair pair(Options(GetParam(), /*time_divisor=*/1));
  pair.client.SetText(0, "text");
  pair.SetFaults({DelayRequest(FaultSite::kWrite, hours(1))});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 4, pair.server, 8), 0);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.server.Text(0, 1), std::string(1, '\0'));
  EXPECT_EQ(pair.server.Text(8, 1), std::string(1, '\0'));
}

TEST_P(DelayTest, ItArrivesWithoutAnotherTry) {
  ConnectedPair pair(Options(GetParam()));
  pair.client.SetText(0, "text");
  // Less than a time-out.
  pair.SetFaults(
      {DelayRequest(FaultSite::kWrite, std::chrono::milliseconds(100))});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.server.Text(0, 4), "text");
  EXPECT_EQ(pair.Counts().requests, 1u);
}

TEST(LongDelayTest, ARetryOvertakesARequestThatIsLate) {
  ConnectedPair pair(Options("roce"));
  pair.SetFaults({DelayRequest(FaultSite::kSend, hours(1))});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.Counts().requests, 2u);
  EXPECT_EQ(pair.server.PollRecv().size(), 1u);
}

TEST(LongDelayTest, ALateRequestArrivesBetweenRetriesThatAreLost) {
  ConnectedPair pair(Options("roce"));
  pair.client.SetText(0, "text");
  // Time-outs are 2.1 s: two retries are lost before it arrives.
  pair.SetFaults({DelayRequest(FaultSite::kWrite, seconds(5)),
                  {.site = FaultSite::kWrite, .nth = 2, .from = true}});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.server.Text(0, 4), "text");
  EXPECT_EQ(pair.Counts().requests, 3u);
}

TEST(LongDelayTest, ARequestLaterThanAllRetriesHasNoEffect) {
  ConnectedPair pair(Options("roce"));
  pair.client.SetText(0, "text");
  Fault fault = DelayRequest(FaultSite::kWrite, hours(1));
  fault.from = true;
  pair.SetFaults({fault});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.server.Text(0, 1), std::string(1, '\0'));
}

TEST_P(DelayTest, ALateAnswerComesAfterTheEffect) {
  ConnectedPair pair(Options(GetParam(), /*time_divisor=*/1));
  pair.client.SetText(0, "text");
  pair.SetFaults({DelayResponse(FaultSite::kWrite, hours(1))});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.server.Text(0, 4), "text");
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
}

TEST_P(DelayTest, ALateAnswerCompletesTheRequest) {
  ConnectedPair pair(Options(GetParam()));
  pair.SetFaults(
      {DelayResponse(FaultSite::kRead, std::chrono::milliseconds(100))});
  ASSERT_EQ(pair.client.Read(1, 0, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.Counts().requests, 1u);
}

TEST(LongDelayTest, ARetryIsAnsweredBeforeAnAnswerThatIsLate) {
  ConnectedPair pair(Options("roce"));
  pair.SetFaults({DelayResponse(FaultSite::kSend, hours(1))});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.Counts().requests, 2u);
  EXPECT_EQ(pair.server.PollRecv().size(), 1u);
}

TEST(LongDelayTest, ALateRefusalIsARefusal) {
  ConnectedPair pair(Options("roce"));
  pair.SetFaults(
      {DelayResponse(FaultSite::kWrite, std::chrono::milliseconds(100))});
  ibv_sge sge = pair.client.Sge(0, 8);
  ibv_send_wr wr = End::RdmaRequest(1, IBV_WR_RDMA_WRITE, &sge,
                                    IBV_SEND_SIGNALED, pair.server, 0);
  wr.wr.rdma.rkey = 0;
  ASSERT_EQ(pair.client.Post(wr), 0);
  EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_REM_ACCESS_ERR);
}

TEST_P(DelayTest, ErrorFlushesWhatIsUnderWay) {
  ConnectedPair pair(Options(GetParam(), /*time_divisor=*/1));
  pair.SetFaults({DelayRequest(FaultSite::kWrite, hours(1))});
  ASSERT_EQ(pair.client.Write(1, 0, 4, pair.server, 0), 0);
  ASSERT_EQ(pair.client.qp->ToError(), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, IBV_WC_WR_FLUSH_ERR);
}

// --- Twice

TEST_P(DelayTest, ASendThatComesTwiceConsumesOneReceive) {
  ConnectedPair pair(Options(GetParam()));
  pair.SetFaults({Duplicate(FaultSite::kAnyRequest)});
  ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
  ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  EXPECT_EQ(pair.server.PollRecv().size(), 1u);
  ASSERT_EQ(pair.client.Send(2, 0, 8), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  EXPECT_EQ(pair.server.PollRecv().size(), 1u);
  EXPECT_EQ(pair.Counts().fired, 2u);
}

TEST_P(DelayTest, AReadThatComesTwiceCompletesOnce) {
  ConnectedPair pair(Options(GetParam()));
  pair.server.SetText(0, "text");
  pair.SetFaults({Duplicate(FaultSite::kRead)});
  ASSERT_EQ(pair.client.Read(1, 64, 4, pair.server, 0), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
  EXPECT_EQ(pair.client.Text(64, 4), "text");
}

TEST_P(DelayTest, AnAnswerThatComesTwiceCompletesOnce) {
  ConnectedPair pair(Options(GetParam()));
  Fault fault = Duplicate(FaultSite::kWrite);
  fault.response = true;
  pair.SetFaults({fault});
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  EXPECT_EQ(pair.client.PollSend().size(), 1u);
}

TEST(DuplicateTest, ARefusedRequestThatComesTwiceIsRefusedOnce) {
  ConnectedPair pair(Options("roce"));
  pair.SetFaults({Duplicate(FaultSite::kSend)});
  ASSERT_EQ(pair.server.Recv(7, 0, 4), 0);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(pair.server.PollRecv().size(), 1u);
}

}  // namespace
}  // namespace rpma::emu
