// SPDX-License-Identifier: BSD-3-Clause
// Connections that compete for the receives of one shared queue: a flood on one
// does not starve the others, and an end of one leaves the receives to them.

#include <string>
#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

class SrqFairnessTest : public ConformanceTest {
 protected:
  // A server whose connections share four receives.
  void SetUp() override {
    ConformanceTest::SetUp();
    SrqCfg srq_cfg;
    ASSERT_THAT(rpma_srq_cfg_new(srq_cfg.address()), IsOk());
    ASSERT_THAT(rpma_srq_cfg_set_rq_size(srq_cfg, 4), IsOk());
    ASSERT_THAT(rpma_srq_new(server_peer(), srq_cfg, srq_.address()), IsOk());
    ASSERT_THAT(rpma_srq_get_rcq(srq_, &rcq_), IsOk());
    ASSERT_THAT(rpma_conn_cfg_new(cfg_.address()), IsOk());
    ASSERT_THAT(rpma_conn_cfg_set_srq(cfg_, srq_), IsOk());
  }
  void TearDown() override {
    cfg_.reset();
    srq_.reset();
    ConformanceTest::TearDown();
  }

  Pair PairOnSrq() { return ConnectedPair({.server_cfg = cfg_}); }
  void PostReceive(uint64_t wr_id) {
    ASSERT_THAT(rpma_srq_recv(srq_, nullptr, 0, 0, Context(wr_id)), IsOk());
  }
  rpma_cq* rcq() const { return rcq_; }

 private:
  Srq srq_;
  rpma_cq* rcq_ = nullptr;
  ConnCfg cfg_;
};

INSTANTIATE_TEST_SUITE_P(, SrqFairnessTest,
                         ::testing::ValuesIn(With(&Provider::waits_for_receive,
                                                  Providers())),
                         ProviderName);

TEST_P(SrqFairnessTest, FloodDoesNotStarveOtherClients) {
  const Pair flooding = PairOnSrq();
  const Pair modest = PairOnSrq();
  for (uint64_t i = 1; i <= 4; ++i) PostReceive(i);
  for (uint64_t i = 1; i <= 10; ++i) {
    ASSERT_THAT(flooding.client.Send(i, 0, 0), IsOk());
  }
  ASSERT_THAT(modest.client.Send(99, 0, 0), IsOk());
  for (uint64_t i = 1; i <= 4; ++i) {
    EXPECT_THAT(Poll(rcq()), Received(i, 0, flooding.server.qp_num));
  }
  EXPECT_TRUE(IsEmpty(rcq()));

  // The flooding client waits for the longest time, then it is modest's turn.
  PostReceive(5);
  PostReceive(6);
  EXPECT_THAT(Poll(rcq()), Received(5, 0, flooding.server.qp_num));
  EXPECT_THAT(Poll(rcq()), Received(6, 0, modest.server.qp_num));
  EXPECT_THAT(Poll(modest.client.cq),
              Succeeded(99, IBV_WC_SEND, modest.client.qp_num));
}

TEST_P(SrqFairnessTest, EveryMessageArrivesOnce) {
  constexpr uint64_t kClients = 3;
  constexpr uint64_t kMessages = 8;  // that a client can have outstanding
  std::vector<Pair> pairs;
  for (uint64_t i = 0; i < kClients; ++i) pairs.push_back(PairOnSrq());
  for (uint64_t i = 0; i < kMessages; ++i) {
    for (const Pair& pair : pairs) {
      ASSERT_THAT(pair.client.Send(i, 0, 0), IsOk());
    }
  }
  for (uint64_t i = 0; i < kClients * kMessages; ++i) {
    PostReceive(i);
    EXPECT_EQ(Poll(rcq()).wr_id, i);
  }
  for (const Pair& pair : pairs) {
    for (uint64_t i = 0; i < kMessages; ++i) {
      EXPECT_THAT(Poll(pair.client.cq),
                  Succeeded(i, IBV_WC_SEND, pair.client.qp_num));
    }
  }
  EXPECT_TRUE(IsEmpty(rcq()));
}

TEST_P(SrqFairnessTest, ClientThatWaitsAndLeavesTakesNoReceive) {
  const Pair staying = PairOnSrq();
  {
    const Pair leaving = PairOnSrq();
    ASSERT_THAT(leaving.client.Send(1, 0, 0), IsOk());
    ASSERT_THAT(rpma_conn_disconnect(leaving.client.conn), IsOk());
    EXPECT_EQ(NextEvent(leaving.server.conn), RPMA_CONN_CLOSED);
  }
  ASSERT_THAT(staying.client.Send(2, 0, 0), IsOk());
  PostReceive(3);
  EXPECT_THAT(Poll(rcq()), Received(3, 0, staying.server.qp_num));
}

TEST_P(SrqFairnessTest, FailureOfOneConnectionLeavesTheReceivesToOthers) {
  const Pair failing = PairOnSrq();
  const Pair other = PairOnSrq();
  PostReceive(1);
  PostReceive(2);
  ASSERT_THAT(failing.client.Send(3, 0, 8), IsOk());  // too long
  EXPECT_THAT(Poll(rcq()),
              FailedWith(1, provider().short_receive, failing.server.qp_num));
  EXPECT_THAT(Poll(failing.client.cq),
              FailedWith(3, provider().too_long_send, failing.client.qp_num));
  EXPECT_TRUE(IsEmpty(rcq()));

  ASSERT_THAT(other.client.Send(4, 0, 0), IsOk());
  EXPECT_THAT(Poll(rcq()), Received(2, 0, other.server.qp_num));
}

}  // namespace
}  // namespace rpma::test
