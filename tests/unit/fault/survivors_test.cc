// SPDX-License-Identifier: BSD-3-Clause
// What failed calls left alive, and how it ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/fault/fault_injecting_transport.h"
#include "tests/unit/fault/every_call.h"

namespace rpma::fault {
namespace {

using testing::ElementsAre;
using Faults = std::vector<CallFault>;

std::vector<Call> CallsThatCanLeaveSurvivors() {
  std::vector<Call> calls = CallsThatFree();
  std::erase(calls, Call::kDeallocPd);
  return calls;
}

std::string NameOfParam(const testing::TestParamInfo<Call>& info) {
  return std::string(NameOf(info.param));
}

class SurvivorsTest : public testing::Test {
 protected:
  int Make(Call call) { return every_.Make(call, transport_); }
  test::MockTransport& mock() { return every_.mock(); }

  EveryCall every_;
  FaultInjectingTransport transport_{every_.mock()};
};

class EverySurvivorTest : public SurvivorsTest,
                          public testing::WithParamInterface<Call> {};

INSTANTIATE_TEST_SUITE_P(, EverySurvivorTest,
                         testing::ValuesIn(CallsThatCanLeaveSurvivors()),
                         NameOfParam);

TEST_P(EverySurvivorTest, IsReclaimedOnce) {
  transport_.SetPlan(Faults{{.call = GetParam(), .and_later = true}});
  EXPECT_EQ(Make(GetParam()), EIO);
  EXPECT_EQ(Make(GetParam()), EIO);
  const size_t live = mock().live();
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_EQ(mock().live(), live - 1);
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_EQ(every_.reached(), 1u);
}

TEST_P(EverySurvivorTest, IsNoneAnyMoreOnceACallFreedIt) {
  transport_.SetPlan(Faults{{.call = GetParam()}});
  EXPECT_EQ(Make(GetParam()), EIO);
  transport_.ClearPlan();
  EXPECT_EQ(Make(GetParam()), 0);
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_EQ(every_.reached(), 1u);
}

TEST_P(EverySurvivorTest, IsNoneIfTheFailingCallFreedIt) {
  transport_.SetPlan(Faults{{.call = GetParam(), .outcome = Outcome::kFreed}});
  EXPECT_EQ(Make(GetParam()), EIO);
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_EQ(every_.reached(), 1u);
}

TEST_F(SurvivorsTest, APdIsLeftToTheNextCall) {
  transport_.SetPlan(Faults{{.call = Call::kDeallocPd}});
  EXPECT_EQ(Make(Call::kDeallocPd), EIO);
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_EQ(Make(Call::kDeallocPd), 0);
}

TEST_F(SurvivorsTest, APdGoesWithAll) {
  transport_.SetPlan(Faults{{.call = Call::kDeallocPd}});
  EXPECT_EQ(Make(Call::kDeallocPd), EIO);
  EXPECT_TRUE(transport_.ReclaimAll());
  EXPECT_TRUE(transport_.ReclaimAll());
  EXPECT_EQ(every_.reached(), 1u);
}

TEST_F(SurvivorsTest, TheChannelOfAnIdGoesWithAll) {
  transport_.SetPlan(Faults{{.call = Call::kDestroyId}});
  EXPECT_EQ(Make(Call::kDestroyId), EIO);
  EXPECT_TRUE(transport_.ReclaimAll());
  EXPECT_THAT(mock().calls(), ElementsAre("DestroyId", "DestroyEventChannel"));
}

TEST_F(SurvivorsTest, WhatTheOtherTransportFailsToFreeSurvivesToo) {
  transport_.SetPlan({});
  mock().FailMethod("DestroyCq", Errno{EBUSY});
  EXPECT_EQ(Make(Call::kDestroyCq), EBUSY);
  EXPECT_FALSE(transport_.Reclaim());
  mock().FailMethod("DestroyCq", Errno::kOk);
  const size_t live = mock().live();
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_EQ(mock().live(), live - 1);
}

TEST_F(SurvivorsTest, AQueuePairGoesWithItsId) {
  transport_.SetPlan(Faults{{.call = Call::kDestroyQp}});
  EXPECT_EQ(Make(Call::kDestroyQp), EIO);
  EXPECT_EQ(Make(Call::kDestroyId), 0);
  EXPECT_THAT(mock().calls(), ElementsAre("DestroyQp", "DestroyId"));
  EXPECT_TRUE(transport_.Reclaim());
}

TEST_F(SurvivorsTest, AnEventGoesBeforeItsId) {
  every_.AccountEventToId();
  transport_.SetPlan(Faults{{.call = Call::kAckCmEvent}});
  EXPECT_EQ(Make(Call::kAckCmEvent), EIO);
  EXPECT_EQ(Make(Call::kDestroyId), 0);
  EXPECT_THAT(mock().calls(), ElementsAre("AckCmEvent", "DestroyId"));
}

TEST_F(SurvivorsTest, AnEventChannelOutlivesTheIdsOnIt) {
  transport_.SetPlan(Faults{{.call = Call::kDestroyId}});
  EXPECT_EQ(Make(Call::kDestroyId), EIO);
  EXPECT_EQ(Make(Call::kDestroyEventChannel), 0);
  EXPECT_EQ(every_.reached(), 0u);
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_THAT(mock().calls(), ElementsAre("DestroyId", "DestroyEventChannel"));
}

TEST_F(SurvivorsTest, GoInAnOrderThatWorks) {
  transport_.SetPlan(Faults{{.and_later = true}});
  for (const Call call : CallsThatCanLeaveSurvivors()) {
    EXPECT_EQ(Make(call), EIO);
  }
  EXPECT_EQ(Make(Call::kDestroyEventChannel), 0);
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_THAT(mock().calls(),
              ElementsAre("AckCmEvent", "DestroyQp", "DestroyId", "DestroyCq",
                          "DestroyCompChannel", "DestroySrq", "DeregMr",
                          "DestroyEventChannel"));
}

TEST_F(SurvivorsTest, TooManyAreForgotten) {
  transport_.SetPlan(Faults{{.and_later = true}});
  std::vector<ibv_mr*> regions(Survivors::kMost + 1);
  for (ibv_mr*& mr : regions) {
    ASSERT_EQ(mock().RegMr(nullptr, nullptr, 1, 0, &mr), Errno::kOk);
    EXPECT_EQ(transport_.DeregMr(mr), Errno{EIO});
  }
  const size_t live = mock().live();
  EXPECT_TRUE(transport_.Reclaim());
  EXPECT_EQ(mock().live(), live - Survivors::kMost);
}

}  // namespace
}  // namespace rpma::fault
