// SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/peer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/stress/end.h"
#include "tests/stress/moment.h"
#include "tests/stress/story.h"

namespace rpma::test {
namespace {

constexpr uint64_t kOperations = 8;

class PeerLife {
 public:
  PeerLife(const Story& story, std::string port, int report)
      : story_(story), port_(std::move(port)), moment_(story, report) {}

  void Live() {
    moment_.Pass(Step::kStarted);
    ibv_context* const device = Device();
    moment_.Pass(Step::kResolved);
    EXPECT_THAT(rpma_peer_new(device, peer_.address()), IsOk());
    end_.region.emplace(NewRegion(peer_));
    moment_.Pass(Step::kRegistered);
    Connect(story_.peer_listens ? NextRequest() : NewRequest());
    if (story_.of_peer == Operation::kNothing) {
      AwaitClosed();
    } else {
      for (uint64_t i = 0; i < kOperations; ++i) Operate(i);
    }
    Disconnect();
    Delete();
  }

 private:
  ConnReq NewRequest() {
    ConnReq request;
    EXPECT_THAT(rpma_conn_req_new(peer_, kAddress, port_.c_str(), nullptr,
                                  request.address()),
                IsOk());
    moment_.Pass(Step::kRequesting);
    return request;
  }

  ConnReq NextRequest() {
    EXPECT_THAT(
        rpma_ep_listen(peer_, kAddress, port_.c_str(), endpoint_.address()),
        IsOk());
    moment_.Pass(Step::kListening);
    ConnReq request;
    EXPECT_THAT(rpma_ep_next_conn_req(endpoint_, nullptr, request.address()),
                IsOk());
    GetAcquainted(PrivateData(request), &end_);
    moment_.Pass(Step::kRequesting);
    return request;
  }

  void Connect(ConnReq request) {
    if (story_.peer_receives) PostReceives(request, *end_.region);
    moment_.Pass(Step::kPosted);
    end_.Own(test::Connect(std::move(request), Introduction(end_)));
    moment_.Pass(Step::kConnecting);
    EXPECT_EQ(NextEvent(end_.conn), RPMA_CONN_ESTABLISHED);
    if (!story_.peer_listens) GetAcquainted(PrivateData(end_.conn), &end_);
    moment_.Pass(Step::kEstablished);
  }

  void Operate(uint64_t number) {
    EXPECT_THAT(Post(end_, story_.of_peer, story_.peer_size, number), IsOk());
    moment_.Pass(Step::kOperating);
    for (;;) {
      const ibv_wc wc = NextCompletion();
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      if (wc.wr_id == number) break;
      EXPECT_EQ(wc.wr_id, kReceiveId);
      EXPECT_THAT(PostReceive(end_), IsOk());
    }
    moment_.Pass(Step::kCompleted);
  }

  ibv_wc NextCompletion() {
    if (!story_.peer_polls) return Poll(end_.cq);
    ibv_wc wc = {};
    int rc;
    do {
      rc = rpma_cq_get_wc(end_.cq, 1, &wc, nullptr);
    } while (rc == RPMA_E_NO_COMPLETION);
    EXPECT_THAT(rc, IsOk());
    return wc;
  }

  // Does nothing until the survivor disconnects.
  void AwaitClosed() {
    EXPECT_EQ(NextEvent(end_.conn), RPMA_CONN_CLOSED);
    moment_.Pass(Step::kClosed);
  }

  void Disconnect() {
    EXPECT_THAT(rpma_conn_disconnect(end_.conn), IsOk());
    moment_.Pass(Step::kDisconnecting);
    if (story_.of_peer != Operation::kNothing) AwaitClosed();
  }

  void Delete() {
    end_.conn.reset();
    end_.region.reset();
    endpoint_.reset();
    peer_.reset();
    moment_.Pass(Step::kDeleted);
  }

  const Story& story_;
  const std::string port_;
  Moment moment_;
  Peer peer_;
  Endpoint endpoint_;
  End end_;
};

}  // namespace

std::optional<int> MainOfPeer(int argc, char** argv) {
  if (argc != 5 || argv[1] != std::string("--peer")) return std::nullopt;
  const Story story = StoryFrom(argv[2]);
  const int report = std::atoi(argv[4]);
  fcntl(report, F_SETFD, FD_CLOEXEC);
  // What the peer does not expect ends it, not as the story has it.
  GTEST_FLAG_SET(throw_on_failure, true);
  testing::InitGoogleTest();
  BeWatched(story, report);
  PeerLife(story, argv[3], report).Live();
  return 0;
}

}  // namespace rpma::test
