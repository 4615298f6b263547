// SPDX-License-Identifier: BSD-3-Clause
// The control of faults: what a plan does to a program, what is counted, and
// what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>
#include <librpma_emu.h>

#include <cstddef>
#include <cstdint>

#include "tests/support/handle.h"
#include "tests/support/log_guard.h"
#include "tests/support/matchers.h"

namespace rpma::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EmuFaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(rpma_emu_fabric_new(nullptr, &fabric_), IsOk());
    ASSERT_THAT(rpma_emu_fabric_select(fabric_), IsOk());
    ASSERT_THAT(rpma_utils_get_ibv_context(
                    "127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &context_),
                IsOk());
  }
  void TearDown() override {
    EXPECT_THAT(rpma_emu_fabric_delete(&fabric_), IsOk());
  }

  int SetFaults(const char* plan) { return rpma_emu_set_faults(fabric_, plan); }
  rpma_emu_fault_counts Counts() {
    rpma_emu_fault_counts counts{};
    EXPECT_THAT(rpma_emu_get_fault_counts(fabric_, &counts), IsOk());
    return counts;
  }
  uint64_t Fired(size_t rule) {
    uint64_t fired = ~uint64_t{0};
    EXPECT_THAT(rpma_emu_get_fired(fabric_, rule, &fired), IsOk());
    return fired;
  }
  // Creates a peer and deletes it again.
  int TryPeer() {
    Peer peer;
    return rpma_peer_new(context_, peer.address());
  }

  LogGuard log_;
  rpma_emu_fabric* fabric_ = nullptr;
  ibv_context* context_ = nullptr;
};

TEST_F(EmuFaultsTest, APlanMakesCallsFail) {
  ASSERT_THAT(SetFaults("fail ibv_alloc_pd errno=ENETDOWN\n"
                        "fail ibv_alloc_pd from=3 errno=none"),
              IsOk());
  EXPECT_THAT(TryPeer(), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log_.TakeErrors(), ElementsAre(HasSubstr("Network is down")));
  EXPECT_THAT(TryPeer(), IsOk());
  EXPECT_EQ(Fired(0), 1u);
  EXPECT_EQ(Fired(1), 0u);
  EXPECT_THAT(TryPeer(), RcIs(RPMA_E_UNKNOWN));
  EXPECT_THAT(TryPeer(), RcIs(RPMA_E_UNKNOWN));
  EXPECT_EQ(Fired(1), 2u);
  EXPECT_EQ(Counts().fired, 3u);
  log_.TakeErrors();
}

TEST_F(EmuFaultsTest, APlanWithoutRulesCounts) {
  ASSERT_THAT(SetFaults(""), IsOk());
  EXPECT_EQ(Counts().calls, 0u);
  EXPECT_THAT(TryPeer(), IsOk());
  // ibv_query_device_ex, ibv_alloc_pd, ibv_dealloc_pd
  EXPECT_EQ(Counts().calls, 3u);
  EXPECT_EQ(Counts().fired, 0u);
  ASSERT_THAT(SetFaults(""), IsOk());
  EXPECT_EQ(Counts().calls, 0u);
}

TEST_F(EmuFaultsTest, WithoutAPlanNothingIsCounted) {
  ASSERT_THAT(SetFaults("fail any from=1"), IsOk());
  ASSERT_THAT(SetFaults(nullptr), IsOk());
  EXPECT_THAT(TryPeer(), IsOk());
  EXPECT_EQ(Counts().calls, 0u);
  uint64_t fired = 5;
  EXPECT_THAT(rpma_emu_get_fired(fabric_, 0, &fired), RcIs(RPMA_E_INVAL));
  EXPECT_EQ(fired, 5u);
  EXPECT_THAT(log_.TakeErrors(), ElementsAre(HasSubstr("no rule 0")));
}

TEST_F(EmuFaultsTest, AWrongPlanIsRefusedAndTheOldOneStays) {
  ASSERT_THAT(SetFaults("fail ibv_alloc_pd nth=2"), IsOk());
  EXPECT_THAT(TryPeer(), IsOk());
  EXPECT_THAT(SetFaults("fail any\nfail any nth=0"), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(
      log_.TakeErrors(),
      ElementsAre(HasSubstr("rpma_emu_set_faults() failed: line 2, column 14: "
                            "nth cannot be \"0\"; allowed are 1 to")));
  EXPECT_THAT(TryPeer(), RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(Fired(0), 1u);
  log_.TakeErrors();
}

TEST_F(EmuFaultsTest, AResetDropsThePlan) {
  ASSERT_THAT(SetFaults("fail ibv_alloc_pd from=1"), IsOk());
  ASSERT_THAT(rpma_emu_fabric_reset(fabric_, nullptr), IsOk());
  ASSERT_THAT(rpma_utils_get_ibv_context(
                  "127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &context_),
              IsOk());
  EXPECT_THAT(TryPeer(), IsOk());
  EXPECT_EQ(Counts().calls, 0u);
}

TEST_F(EmuFaultsTest, APlanIsThatOfOneFabric) {
  rpma_emu_fabric* other = nullptr;
  ASSERT_THAT(rpma_emu_fabric_new(nullptr, &other), IsOk());
  ASSERT_THAT(rpma_emu_set_faults(other, "fail any from=1"), IsOk());
  EXPECT_THAT(TryPeer(), IsOk());
  EXPECT_THAT(rpma_emu_fabric_delete(&other), IsOk());
}

TEST_F(EmuFaultsTest, WhatOutlivesItsProgramIsReclaimed) {
  Peer peer;
  ASSERT_THAT(rpma_peer_new(context_, peer.address()), IsOk());
  rpma_srq* srq = nullptr;
  ASSERT_THAT(rpma_srq_new(peer, nullptr, &srq), IsOk());
  ASSERT_THAT(SetFaults("fail ibv_destroy_srq; fail ibv_destroy_cq"), IsOk());
  EXPECT_THAT(rpma_srq_delete(&srq), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(rpma_peer_delete(peer.address()), RcIs(RPMA_E_PROVIDER));
  // The completion channel is in use by the queue.
  EXPECT_EQ(log_.TakeErrors().size(), 4u);
  EXPECT_THAT(rpma_emu_reclaim(fabric_), IsOk());
  EXPECT_THAT(rpma_peer_delete(peer.address()), IsOk());
}

TEST_F(EmuFaultsTest, AProgramThatEndedTakesWithItWhatItFailedToDelete) {
  // Static, as LeakSanitizer wants to see what stays.
  static rpma_peer* peer = nullptr;
  static rpma_ep* endpoint = nullptr;
  ASSERT_THAT(rpma_peer_new(context_, &peer), IsOk());
  ASSERT_THAT(rpma_ep_listen(peer, "127.0.0.1", "7300", &endpoint), IsOk());
  ASSERT_THAT(SetFaults("fail any from=1"), IsOk());
  EXPECT_THAT(rpma_ep_shutdown(&endpoint), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(rpma_peer_delete(&peer), RcIs(RPMA_E_PROVIDER));
  log_.TakeErrors();
  EXPECT_THAT(rpma_emu_reclaim_all(fabric_), IsOk());
  rpma_emu_census census{};
  EXPECT_THAT(rpma_emu_get_census(fabric_, &census), IsOk());
  EXPECT_EQ(census.pds + census.cm_ids + census.event_channels, 0u);
}

TEST_F(EmuFaultsTest, NullIsTheDefaultFabric) {
  ASSERT_THAT(rpma_emu_set_faults(nullptr, "fail ibv_alloc_pd"), IsOk());
  EXPECT_THAT(TryPeer(), IsOk());
  rpma_emu_fault_counts counts{};
  ASSERT_THAT(rpma_emu_get_fault_counts(nullptr, &counts), IsOk());
  EXPECT_EQ(counts.calls, 0u);
  uint64_t fired = 5;
  ASSERT_THAT(rpma_emu_get_fired(nullptr, 0, &fired), IsOk());
  EXPECT_EQ(fired, 0u);
  ASSERT_THAT(rpma_emu_set_faults(nullptr, nullptr), IsOk());
}

TEST_F(EmuFaultsTest, MissingArgumentsAreInvalid) {
  ASSERT_THAT(SetFaults("fail any"), IsOk());
  EXPECT_THAT(rpma_emu_get_fault_counts(fabric_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_emu_get_fired(fabric_, 0, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_EQ(log_.TakeErrors().size(), 2u);
}

}  // namespace
}  // namespace rpma::test
