// SPDX-License-Identifier: BSD-3-Clause
// Plans of both kinds of rules through the control of the emulator: what fires,
// under which number, and what is counted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>
#include <librpma_emu.h>

#include <cstddef>
#include <cstdint>

#include "tests/support/matchers.h"
#include "tests/support/world.h"

namespace rpma::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EmuNetworkFaultsTest : public testing::Test {
 protected:
  rpma_emu_fabric* fabric() { return world_.emulation().fabric(); }
  int SetFaults(const char* plan) {
    return rpma_emu_set_faults(fabric(), plan);
  }
  rpma_emu_fault_counts Counts() {
    rpma_emu_fault_counts counts{};
    EXPECT_THAT(rpma_emu_get_fault_counts(fabric(), &counts), IsOk());
    return counts;
  }
  uint64_t Fired(size_t rule) {
    uint64_t fired = ~uint64_t{0};
    EXPECT_THAT(rpma_emu_get_fired(fabric(), rule, &fired), IsOk());
    return fired;
  }

  World world_;
};

TEST_F(EmuNetworkFaultsTest, RulesOfBothKindsFireUnderTheirNumbers) {
  const Pair pair = world_.ConnectedPair();
  ASSERT_THAT(SetFaults("complete flush status=REM_OP_ERR\n"
                        "fail ibv_post_send nth=2 errno=ENODEV\n"
                        "complete write status=REM_ACCESS_ERR nth=2\n"
                        "fail ibv_post_recv"),
              IsOk());
  EXPECT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_THAT(pair.client.Write(2, 0, 0, 8), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(world_.log().TakeErrors(),
              ElementsAre(HasSubstr("No such device")));
  EXPECT_THAT(pair.client.Write(3, 0, 0, 8), IsOk());
  EXPECT_EQ(Poll(pair.client.cq).status, IBV_WC_SUCCESS);
  EXPECT_THAT(Poll(pair.client.cq),
              FailedWith(3, IBV_WC_REM_ACCESS_ERR, pair.client.qp_num));
  EXPECT_EQ(Fired(0), 0u);
  EXPECT_EQ(Fired(1), 1u);
  EXPECT_EQ(Fired(2), 1u);
  EXPECT_EQ(Fired(3), 0u);
  EXPECT_EQ(Counts().fired, 2u);
}

TEST_F(EmuNetworkFaultsTest, APlanWithoutRulesCounts) {
  ASSERT_THAT(SetFaults(""), IsOk());
  const Pair pair = world_.ConnectedPair();
  const rpma_emu_fault_counts connected = Counts();
  EXPECT_GT(connected.calls, 0u);
  EXPECT_EQ(connected.requests, 0u);
  EXPECT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_EQ(Poll(pair.client.cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(Counts().requests, 1u);
  EXPECT_EQ(Counts().completions, connected.completions + 1);
  EXPECT_EQ(Counts().fired, 0u);
  ASSERT_THAT(SetFaults(nullptr), IsOk());
  EXPECT_THAT(pair.client.Write(2, 0, 0, 8), IsOk());
  EXPECT_EQ(Counts().requests, 0u);
}

TEST_F(EmuNetworkFaultsTest, WithoutItsPlanNothingGoesWrong) {
  const Pair pair = world_.ConnectedPair();
  ASSERT_THAT(SetFaults("complete any status=FATAL_ERR from=1"), IsOk());
  ASSERT_THAT(SetFaults(nullptr), IsOk());
  EXPECT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_EQ(Poll(pair.client.cq).status, IBV_WC_SUCCESS);
}

TEST_F(EmuNetworkFaultsTest, APlanOnAnUnknownDeviceIsRefusedAndTheOldOneStays) {
  const Pair pair = world_.ConnectedPair();
  ASSERT_THAT(SetFaults("fail ibv_post_send; complete write status=FATAL_ERR"),
              IsOk());
  EXPECT_THAT(SetFaults("fail any nth=100; drop any device=emu7"),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(world_.log().TakeErrors(), ElementsAre(HasSubstr("\"emu7\"")));
  EXPECT_THAT(pair.client.Write(1, 0, 0, 8), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(pair.client.Write(2, 0, 0, 8), IsOk());
  EXPECT_EQ(Poll(pair.client.cq).status, IBV_WC_FATAL_ERR);
  EXPECT_EQ(Fired(0), 1u);
  EXPECT_EQ(Fired(1), 1u);
  world_.log().TakeErrors();
}

TEST_F(EmuNetworkFaultsTest, WhatIsInjectedHappensAtOnce) {
  const Pair pair = world_.ConnectedPair();
  ASSERT_THAT(SetFaults(""), IsOk());
  EXPECT_THAT(rpma_emu_inject(fabric(), "link device=emu0 state=down"), IsOk());
  EXPECT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              FailedWith(1, IBV_WC_RETRY_EXC_ERR, pair.client.qp_num));
  EXPECT_EQ(Counts().fired, 0u);
}

TEST_F(EmuNetworkFaultsTest, OnlyActionsOnDevicesOfTheFabricCanBeInjected) {
  EXPECT_THAT(rpma_emu_inject(fabric(), nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_emu_inject(fabric(), ""), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_emu_inject(fabric(), "fail any"), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_emu_inject(fabric(), "remove device=emu7"),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(world_.log().TakeErrors(),
              ElementsAre(HasSubstr("action"), HasSubstr("no action"),
                          HasSubstr("column 1: there is no rule \"fail\""),
                          HasSubstr("\"emu7\"")));
}

}  // namespace
}  // namespace rpma::test
