// SPDX-License-Identifier: BSD-3-Clause
// Messages of the connection manager that come late, or twice, on InfiniBand
// and RoCE.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class FaultCmDelayTest : public CmProfileTest {
 protected:
  void Delay(FaultSite site, std::chrono::nanoseconds time, bool from = false) {
    SetFaults({{.action = FaultAction::kDelay,
                .site = site,
                .from = from,
                .time = time}});
  }
  void ExpectDisconnects(const Connection& ends) {
    ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
    EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
    ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
    const Seen answered = ends.active->Next();
    EXPECT_EQ(answered.type, RDMA_CM_EVENT_DISCONNECTED);
    EXPECT_EQ(answered.status, 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Profiles, FaultCmDelayTest,
                         testing::Values("roce", "ib"), ProfileName);

TEST_P(FaultCmDelayTest, EveryMessageArrivesLater) {
  const auto listener = NewListener();
  for (const FaultSite site :
       {FaultSite::kReq, FaultSite::kRep, FaultSite::kRtu, FaultSite::kDreq,
        FaultSite::kDrep}) {
    Delay(site, milliseconds(1000));
    ExpectDisconnects(Connect(*listener));
    EXPECT_EQ(fabric().FaultFired(0), 1u) << static_cast<int>(site);
  }
}

TEST_P(FaultCmDelayTest, ARejectionArrivesLaterWithItsPrivateData) {
  const auto listener = NewListener();
  Delay(FaultSite::kRej, milliseconds(1000));
  const Connection ends = Requested(*listener);
  const std::vector<uint8_t> data = {7, 8, 9};
  ASSERT_EQ(cm().Reject(ends.passive->id(), data.data(), 3), 0);
  ends.passive->Destroy();
  const Seen rejected = ends.active->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.data[2], 9);
}

TEST_P(FaultCmDelayTest, WhatIsUnderWayHasNoEffectYet) {
  const auto listener = NewListener();
  Delay(FaultSite::kReq, hours(1));
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  EXPECT_TRUE(listener->channel().IsEmpty());
}

TEST_P(FaultCmDelayTest, ARetryOvertakesARequestThatIsLate) {
  const auto listener = NewListener();
  // A response time is 4.3 s.
  Delay(FaultSite::kReq, milliseconds(10'000));
  const Connection ends = Connect(*listener);
  EXPECT_EQ(Messages(), 4u);  // REQ, REQ, REP, RTU
  ExpectDisconnects(ends);
  EXPECT_TRUE(listener->channel().IsEmpty());
}

TEST_P(FaultCmDelayTest, ARequestThatWasWithdrawnMeanwhileArrivesForNobody) {
  const auto listener = NewListener();
  Delay(FaultSite::kReq, milliseconds(1000));
  auto withdrawn = NewActive();
  ASSERT_EQ(cm().Connect(withdrawn->id(), Param()), 0);
  withdrawn->Destroy();
  Delay(FaultSite::kReq, milliseconds(2000));
  const Connection ends = Connect(*listener);
  EXPECT_TRUE(listener->channel().IsEmpty());
}

TEST_P(FaultCmDelayTest, AResponseThatComesAfterTheEndHasNoEffect) {
  std::string error;
  ASSERT_EQ(fabric().AddRoute("192.0.2.1", "emu0", &error), 0) << error;
  const auto listener = NewListener();
  Delay(FaultSite::kRep, milliseconds(40'000));
  const Connection ends = Connect(*listener);
  ExpectDisconnects(ends);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  // When a host that never answers has been given up, it has arrived.
  const auto silent = NewActive("192.0.2.1");
  ASSERT_EQ(cm().Connect(silent->id(), Param()), 0);
  ASSERT_EQ(silent->Next().type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
}

TEST_P(FaultCmDelayTest, ManyLateTriesAreBounded) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  Delay(FaultSite::kDreq, hours(1), /*from=*/true);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.active->Next().status, -ETIMEDOUT);
  // Those that found no room any more were lost.
  EXPECT_LT(Messages(), profile().timers.cm_retries + 1u);
  EXPECT_GT(Messages(), 0u);
}

TEST_P(FaultCmDelayTest, DisconnectionsThatCrossAreSeenByBoth) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  Delay(FaultSite::kDreq, milliseconds(1000), /*from=*/true);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  ASSERT_EQ(cm().Disconnect(ends.passive->id()), 0);
  for (End* const end : {ends.active.get(), ends.passive.get()}) {
    const Seen told = end->Next();
    EXPECT_EQ(told.type, RDMA_CM_EVENT_DISCONNECTED);
    EXPECT_EQ(told.status, 0);
  }
  // Each answers the other's.
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

// --- Twice

TEST_P(FaultCmDelayTest, MessagesThatComeTwiceHaveNoEffectTwice) {
  const auto listener = NewListener();
  std::vector<Fault> faults;
  for (const FaultSite site :
       {FaultSite::kReq, FaultSite::kRep, FaultSite::kRtu, FaultSite::kRej,
        FaultSite::kDreq, FaultSite::kDrep}) {
    faults.push_back(
        {.action = FaultAction::kDuplicate, .site = site, .from = true});
  }
  SetFaults(faults);
  {
    const Connection ends = Connect(*listener);
    ExpectDisconnects(ends);
    EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
    EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
    EXPECT_TRUE(ends.active->channel().IsEmpty());
    EXPECT_TRUE(ends.passive->channel().IsEmpty());
  }
  EXPECT_EQ(fabric().fault_counts().fired, 5u);
  EXPECT_EQ(Messages(), 5u);
  const Connection refused = Requested(*listener);
  ASSERT_EQ(cm().Reject(refused.passive->id(), nullptr, 0), 0);
  EXPECT_EQ(refused.active->Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_TRUE(refused.active->channel().IsEmpty());
  EXPECT_TRUE(listener->channel().IsEmpty());
}

}  // namespace
}  // namespace rpma::emu
