// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues: their life, their receive CQ, and connections that
// share one.

#include <optional>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SrqTest : public ConformanceTest {
 protected:
  // A shared receive queue of the server, and a configuration that uses it.
  void SetUp() override {
    ConformanceTest::SetUp();
    ASSERT_THAT(rpma_srq_new(server_peer(), nullptr, srq_.address()), IsOk());
    ASSERT_THAT(rpma_srq_get_rcq(srq_, &rcq_), IsOk());
    ASSERT_THAT(rpma_conn_cfg_new(cfg_.address()), IsOk());
    ASSERT_THAT(rpma_conn_cfg_set_srq(cfg_, srq_), IsOk());
    region_.emplace(server_peer(), size_t{4096});
  }
  void TearDown() override {
    region_.reset();
    cfg_.reset();
    srq_.reset();
    ConformanceTest::TearDown();
  }

  Pair ConnectedPairOnSrq() { return ConnectedPair({.server_cfg = cfg_}); }
  int PostReceive(uint64_t wr_id, size_t offset, size_t len) {
    return rpma_srq_recv(srq_, region_->mr(), offset, len, Context(wr_id));
  }

  rpma_srq* srq() const { return srq_; }
  rpma_cq* rcq() const { return rcq_; }
  const Region& region() const { return *region_; }

 private:
  Srq srq_;
  rpma_cq* rcq_ = nullptr;
  ConnCfg cfg_;
  std::optional<Region> region_;
};

INSTANTIATE_TEST_SUITE_P(, SrqTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

TEST_P(SrqTest, DefaultQueueHasARcq) { EXPECT_NE(rcq(), nullptr); }

TEST_P(SrqTest, QueueWithRcqSizeZeroHasNoRcq) {
  SrqCfg cfg;
  ASSERT_THAT(rpma_srq_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_srq_cfg_set_rcq_size(cfg, 0), IsOk());
  Srq without;
  ASSERT_THAT(rpma_srq_new(server_peer(), cfg, without.address()), IsOk());
  rpma_cq* none = rcq();
  ASSERT_THAT(rpma_srq_get_rcq(without, &none), IsOk());
  EXPECT_EQ(none, nullptr);
}

TEST_P(SrqTest, ConnectionsShareTheReceives) {
  const Pair first = ConnectedPairOnSrq();
  const Pair second = ConnectedPairOnSrq();
  ASSERT_THAT(PostReceive(1, 0, 8), IsOk());
  ASSERT_THAT(PostReceive(2, 8, 8), IsOk());
  ASSERT_THAT(PostReceive(3, 16, 8), IsOk());
  second.client.region->Fill(0x22);
  first.client.region->Fill(0x11);

  ASSERT_THAT(second.client.Send(4, 0, 8), IsOk());
  EXPECT_THAT(Poll(rcq()), Received(1, 8, second.server.qp_num));
  ASSERT_THAT(first.client.Send(5, 0, 4), IsOk());
  EXPECT_THAT(Poll(rcq()), Received(2, 4, first.server.qp_num));
  ASSERT_THAT(second.client.Send(6, 0, 2), IsOk());
  EXPECT_THAT(Poll(rcq()), Received(3, 2, second.server.qp_num));

  EXPECT_EQ(region().bytes()[0], 0x22);
  EXPECT_EQ(region().bytes()[8], 0x11);
  EXPECT_EQ(region().bytes()[16], 0x22);
}

TEST_P(SrqTest, ReceiveOutlivesTheConnectionThatDidNotUseIt) {
  ASSERT_THAT(PostReceive(1, 0, 8), IsOk());
  {
    const Pair pair = ConnectedPairOnSrq();
    Disconnect(pair);
  }
  EXPECT_TRUE(IsEmpty(rcq()));
  const Pair next = ConnectedPairOnSrq();
  ASSERT_THAT(next.client.Send(2, 0, 8), IsOk());
  EXPECT_THAT(Poll(rcq()), Received(1, 8, next.server.qp_num));
}

TEST_P(SrqTest, ConnectionHasNoReceiveQueueOfItsOwn) {
  const Pair pair = ConnectedPairOnSrq();
  EXPECT_EQ(pair.server.rcq, nullptr);
  EXPECT_THAT(pair.server.Recv(1, 0, 8), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(HasSubstr("shared receive queue")));

  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_srq(cfg, srq()), IsOk());
  const Conn client = Connect(NewRequest(port));
  const ConnReq incoming = NextRequest(endpoint, cfg);
  EXPECT_THAT(rpma_conn_req_recv(incoming, region().mr(), 0, 8, nullptr),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(HasSubstr("shared receive queue")));
}

TEST_P(SrqTest, ReceiveOutsideItsRegionIsInvalid) {
  EXPECT_THAT(PostReceive(1, 4095, 2), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(PostReceive(1, 4097, 0), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(PostReceive(1, SIZE_MAX, 2), RcIs(RPMA_E_INVAL));
  log().Discard();
  EXPECT_THAT(PostReceive(1, 4094, 2), IsOk());
}

TEST_P(SrqTest, DeletingNothingSucceeds) {
  rpma_srq* nothing = nullptr;
  EXPECT_THAT(rpma_srq_delete(&nothing), IsOk());
  Srq another;
  ASSERT_THAT(rpma_srq_new(client_peer(), nullptr, another.address()), IsOk());
  EXPECT_THAT(rpma_srq_delete(another.address()), IsOk());
  EXPECT_EQ(another, nullptr);
}

TEST_P(SrqTest, NullArgumentsAreInvalid) {
  rpma_srq* created = nullptr;
  rpma_cq* cq = nullptr;
  EXPECT_THAT(rpma_srq_new(nullptr, nullptr, &created), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_new(server_peer(), nullptr, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_delete(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_get_rcq(nullptr, &cq), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_get_rcq(srq(), nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_recv(nullptr, region().mr(), 0, 8, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_recv(srq(), nullptr, 1, 0, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_recv(srq(), nullptr, 0, 1, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_EQ(created, nullptr);
  EXPECT_EQ(cq, nullptr);
  log().Discard();
}

// --- A queue as long as was asked for ----------------------------------------

class ExactSrqTest : public SrqTest {};

INSTANTIATE_TEST_SUITE_P(, ExactSrqTest,
                         ::testing::ValuesIn(With(&Provider::exact_queue_sizes,
                                                  Providers())),
                         ProviderName);

TEST_P(ExactSrqTest, FullQueueRefusesReceives) {
  SrqCfg cfg;
  ASSERT_THAT(rpma_srq_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_srq_cfg_set_rq_size(cfg, 2), IsOk());
  Srq small;
  ASSERT_THAT(rpma_srq_new(server_peer(), cfg, small.address()), IsOk());
  ASSERT_THAT(rpma_srq_recv(small, region().mr(), 0, 8, nullptr), IsOk());
  ASSERT_THAT(rpma_srq_recv(small, nullptr, 0, 0, nullptr), IsOk());
  EXPECT_THAT(rpma_srq_recv(small, region().mr(), 0, 8, nullptr),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_post_srq_recv")));
}

}  // namespace
}  // namespace rpma::test
