// SPDX-License-Identifier: BSD-3-Clause
// A peer that is stopped says nothing, and is not gone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <string>

#include "tests/stress/end.h"
#include "tests/stress/peer.h"
#include "tests/stress/peer_process.h"
#include "tests/stress/story.h"
#include "tests/stress/survivor.h"
#include "tests/support/emulation.h"
#include "tests/support/log_guard.h"

namespace rpma::test {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using Clock = std::chrono::steady_clock;

constexpr size_t kLarge = 1 << 20;
constexpr size_t kSmall = 8;
constexpr uint64_t kFirst = 1;  // of the requests

// It listens, and waits for the survivor to disconnect.
constexpr Story kWaits = {.peer_listens = true, .of_peer = Operation::kNothing};

void Stop(const PeerProcess& peer) {
  peer.Signal(SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(peer.pid(), &status, WUNTRACED), peer.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
}

class StoppedPeerTest : public testing::TestWithParam<const char*> {
 protected:
  StoppedPeerTest() { SetEnvironment(GetParam()); }

  static bool IsIwarp() { return GetParam() == std::string("iwarp"); }
  static ibv_wc_status Unanswered() {
    return IsIwarp() ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR;
  }
  static void ExpectFlushed(const End& end, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(Poll(end.cq).status, IBV_WC_WR_FLUSH_ERR);
    }
  }
  // Ends the connection, of which the peer learns if it lives.
  static void Disconnect(End& end, PeerProcess& peer) {
    peer.Signal(SIGCONT);
    EXPECT_THAT(rpma_conn_disconnect(end.conn), IsOk());
    peer.AwaitEnd();
  }

  LogGuard log_;
  Emulation emulation_{GetParam(), FabricOptions(GetParam())};
  Survivor survivor_;
};

INSTANTIATE_TEST_SUITE_P(Profiles, StoppedPeerTest,
                         testing::Values("roce", "ib", "iwarp"),
                         [](const auto& of) { return of.param; });

TEST_P(StoppedPeerTest, IsGivenUpAfterTheRetries) {
  PeerProcess peer(kWaits, kPortOfPeers);
  End end = survivor_.ConnectedTo(peer);
  Stop(peer);
  const Clock::time_point start = Clock::now();
  EXPECT_THAT(end.Write(kFirst, 0, 0, kLarge), IsOk());
  EXPECT_THAT(end.Write(kFirst + 1, 0, 0, kSmall), IsOk());
  EXPECT_EQ(Poll(end.cq).status, Unanswered());
  EXPECT_GE(Clock::now() - start, IsIwarp() ? 3900ms : 1900ms);
  EXPECT_LT(Clock::now() - start, 20s);
  ExpectFlushed(end, 1 + kReceives);
  if (IsIwarp()) {
    EXPECT_EQ(NextEvent(end.conn), RPMA_CONN_CLOSED);
  }
  Disconnect(end, peer);
}

TEST_P(StoppedPeerTest, LosesNothingIfItGoesOn) {
  PeerProcess peer(kWaits, kPortOfPeers);
  End end = survivor_.ConnectedTo(peer);
  Stop(peer);
  constexpr size_t kLocal = kLarge;
  end.region->Fill(7);
  EXPECT_THAT(Post(end, Operation::kWrite, kLarge, kFirst), IsOk());
  EXPECT_THAT(Post(end, Operation::kSend, kLarge, kFirst + 1), IsOk());
  EXPECT_THAT(Post(end, Operation::kFlush, kLarge, kFirst + 2), IsOk());
  constexpr int kLongerThanATryMs = 600;
  pollfd entry = {CompletionFd(end.cq), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, kLongerThanATryMs), 0);
  peer.Signal(SIGCONT);
  for (uint64_t i = 0; i < 3; ++i) {
    const ibv_wc wc = Poll(end.cq);
    EXPECT_EQ(wc.wr_id, kFirst + i);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  }
  end.region->Fill(0);
  EXPECT_THAT(end.Read(kFirst + 3, kLocal, 0, kLarge), IsOk());
  EXPECT_EQ(Poll(end.cq).status, IBV_WC_SUCCESS);
  EXPECT_THAT(end.region->bytes().subspan(kLocal, kLarge), testing::Each(7));
  Disconnect(end, peer);
}

TEST_P(StoppedPeerTest, AcceptsWhenItGoesOn) {
  PeerProcess peer(kWaits, kPortOfPeers);
  EXPECT_TRUE(peer.AwaitStep(Step::kListening));
  Stop(peer);
  End end = survivor_.Connecting();
  EXPECT_FALSE(HasEvent(end.conn));
  peer.Signal(SIGCONT);
  Survivor::AwaitEstablished(end);
  EXPECT_TRUE(peer.AwaitStep(Step::kEstablished));
  Disconnect(end, peer);
}

TEST_P(StoppedPeerTest, IsSeenToDie) {
  PeerProcess peer(kWaits, kPortOfPeers);
  End end = survivor_.ConnectedTo(peer);
  Stop(peer);
  EXPECT_THAT(end.Write(kFirst, 0, 0, kLarge), IsOk());
  const Clock::time_point start = Clock::now();
  peer.Signal(SIGKILL);
  EXPECT_EQ(NextEvent(end.conn), RPMA_CONN_CLOSED);
  EXPECT_EQ(Poll(end.cq).status, Unanswered());
  EXPECT_LT(Clock::now() - start, 1500ms);
  ExpectFlushed(end, kReceives);
  Disconnect(end, peer);
}

}  // namespace
}  // namespace rpma::test

int main(int argc, char** argv) {
  if (const auto status = rpma::test::MainOfPeer(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
