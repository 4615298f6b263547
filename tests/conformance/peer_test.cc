// SPDX-License-Identifier: BSD-3-Clause
// Peers: on which contexts they can be made, and when they can be deleted.

#include <optional>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PeerTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, PeerTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

TEST_P(PeerTest, CannotBeDeletedWhileRegionsLive) {
  Peer peer;
  ASSERT_THAT(rpma_peer_new(context(), peer.address()), IsOk());
  std::optional<Region> region;
  region.emplace(peer, size_t{64});
  rpma_peer* const before = peer;
  EXPECT_THAT(rpma_peer_delete(peer.address()), RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(peer, before);
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_dealloc_pd")));

  const Region another(peer, 64);  // it works as before
  EXPECT_NE(another.mr(), nullptr);
  region.reset();
  EXPECT_THAT(rpma_peer_delete(peer.address()), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_dealloc_pd")));
}

TEST_P(PeerTest, CannotBeDeletedWhileASharedReceiveQueueLives) {
  Peer peer;
  ASSERT_THAT(rpma_peer_new(context(), peer.address()), IsOk());
  Srq srq;
  ASSERT_THAT(rpma_srq_new(peer, nullptr, srq.address()), IsOk());
  EXPECT_THAT(rpma_peer_delete(peer.address()), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_dealloc_pd")));
  srq.reset();
  EXPECT_THAT(rpma_peer_delete(peer.address()), IsOk());
  EXPECT_EQ(peer, nullptr);
}

TEST_P(PeerTest, CannotBeDeletedWhileARequestLives) {
  Peer peer;
  ASSERT_THAT(rpma_peer_new(context(), peer.address()), IsOk());
  ConnReq request;
  ASSERT_THAT(
      rpma_conn_req_new(peer, address(), "7204", nullptr, request.address()),
      IsOk());
  EXPECT_THAT(rpma_peer_delete(peer.address()), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_dealloc_pd")));
  request.reset();
  EXPECT_THAT(rpma_peer_delete(peer.address()), IsOk());
}

TEST_P(PeerTest, InvalidArguments) {
  rpma_peer* peer = nullptr;
  EXPECT_THAT(rpma_peer_new(nullptr, &peer), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_new(context(), nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_delete(nullptr), RcIs(RPMA_E_INVAL));
  log().Discard();
  EXPECT_THAT(rpma_peer_delete(&peer), IsOk());
}

}  // namespace
}  // namespace rpma::test
