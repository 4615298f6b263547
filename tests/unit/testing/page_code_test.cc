// SPDX-License-Identifier: BSD-3-Clause
// Code of docs/testing-your-application.md that stands in no example.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rpma_testing.h>

#include <cstdint>

namespace {

using ::rpma_testing::AddHost;
using ::rpma_testing::FailedWith;
using ::rpma_testing::FaultsFired;
using ::rpma_testing::FaultSweepOptions;
using ::rpma_testing::FaultSweepResult;
using ::rpma_testing::ForEachFault;
using ::rpma_testing::IsOk;
using ::rpma_testing::RcIs;
using ::rpma_testing::Succeeded;
using ::testing::IsEmpty;
using ::testing::Not;

rpma_peer* NewPeer() {
  ibv_context* device = nullptr;
  rpma_peer* peer = nullptr;
  if (rpma_utils_get_ibv_context("127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                 &device) == 0) {
    rpma_peer_new(device, &peer);
  }
  return peer;
}

void Scenario() {
  rpma_peer* peer = NewPeer();
  rpma_peer_delete(&peer);
}

// Expects a peer in any case, which is too much to expect.
void BuggyScenario() {
  rpma_peer* peer = NewPeer();
  EXPECT_NE(peer, nullptr);
  rpma_peer_delete(&peer);
}

TEST(MyTest, StillSurvivesWhatBrokeItOnce) {
  FaultSweepOptions options;
  options.rules = {"fail ibv_alloc_pd nth=1"};
  ForEachFault(Scenario, options);
}

TEST(MyTest, FindsTheBug) {
  FaultSweepOptions options;
  options.report = false;
  const FaultSweepResult result = ForEachFault(BuggyScenario, options);
  EXPECT_THAT(result.failures, Not(IsEmpty()));
}

TEST(MyTest, Matchers) {
  ibv_wc wc = {};
  wc.wr_id = 7;
  wc.opcode = IBV_WC_RDMA_WRITE;
  EXPECT_THAT(rpma_peer_new(nullptr, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(wc, Succeeded(7, IBV_WC_RDMA_WRITE));
  wc.status = IBV_WC_RETRY_EXC_ERR;
  EXPECT_THAT(wc, FailedWith(7, IBV_WC_RETRY_EXC_ERR));
}

}  // namespace
