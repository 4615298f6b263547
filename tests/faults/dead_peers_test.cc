// SPDX-License-Identifier: BSD-3-Clause
// What users saw when the other side died, was removed or gave up, and what
// librpma does then.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>
#include <librpma_emu.h>

#include <cstdint>
#include <string>
#include <thread>

#include "tests/support/matchers.h"
#include "tests/support/world.h"

namespace rpma::test {
namespace {

using testing::Each;

constexpr char kServerAddress[] = "192.0.2.1";
constexpr int kSilent = RPMA_F_COMPLETION_ON_ERROR;

// The server has a node of its own, which faults call "server".
WorldOptions TwoNodes(const std::string& profile, const std::string& options) {
  return {.profile = profile,
          .options = options,
          .extend =
              [=](Emulation& emulation) {
                emulation.AddDevice("server", "profile=" + profile + options,
                                    kServerAddress);
                emulation.AddRoute(kServerAddress);
              },
          .server_address = kServerAddress};
}

std::string ProfileName(const testing::TestParamInfo<const char*>& info) {
  return info.param;
}

class DeadPeersTest : public testing::TestWithParam<const char*> {
 protected:
  void Inject(const char* action) {
    ASSERT_THAT(rpma_emu_inject(world_.emulation().fabric(), action), IsOk());
  }

  World world_{TwoNodes(GetParam(), "")};
};

INSTANTIATE_TEST_SUITE_P(Profiles, DeadPeersTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

// Where a failed request does not end the connection.
class RetryingTest : public DeadPeersTest {};

INSTANTIATE_TEST_SUITE_P(Profiles, RetryingTest, testing::Values("roce", "ib"),
                         ProfileName);

// --- The device is removed ---------------------------------------------------

TEST_P(DeadPeersTest, RemovalWakesThreadsThatWaitForEventsAndCompletions) {
  const Pair pair = world_.ConnectedPair();
  const End& server = pair.server;
  ASSERT_THAT(server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(server.Recv(2, 8, 8), IsOk());
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  std::thread for_event(
      [&] { EXPECT_THAT(rpma_conn_next_event(server.conn, &event), IsOk()); });
  std::thread for_completion(
      [&] { EXPECT_THAT(rpma_cq_wait(server.cq), IsOk()); });
  Inject("remove device=server");
  for_event.join();
  for_completion.join();
  EXPECT_EQ(event, RPMA_CONN_LOST);
  EXPECT_THAT(Poll(server.cq), Flushed(1, server.qp_num));
  EXPECT_THAT(Poll(server.cq), Flushed(2, server.qp_num));
}

// --- The process ends --------------------------------------------------------

TEST_P(DeadPeersTest, EndOfTheProcessClosesTheConnection) {
  const Pair pair = world_.ConnectedPair();
  Inject("exit device=server");
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
}

TEST_P(RetryingTest, ProcessThatEndsBetweenRequestsFailsTheRest) {
  constexpr uint64_t kRequests = 4;
  for (uint64_t nth = 1; nth <= kRequests; ++nth) {
    SCOPED_TRACE(nth);
    const Pair pair = world_.ConnectedPair();
    const End& client = pair.client;
    world_.emulation().SetFaults("exit device=server nth=" +
                                 std::to_string(nth));
    ASSERT_THAT(client.Write(1, 0, 0, 64), IsOk());
    ASSERT_THAT(client.Flush(2, 0, 64), IsOk());
    ASSERT_THAT(client.Write(3, 64, 0, 64), IsOk());
    ASSERT_THAT(client.Flush(4, 64, 64), IsOk());
    for (uint64_t i = 1; i < nth; ++i) {
      const ibv_wc wc = Poll(client.cq);
      EXPECT_EQ(wc.wr_id, i);
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    }
    EXPECT_THAT(Poll(client.cq),
                FailedWith(nth, IBV_WC_RETRY_EXC_ERR, client.qp_num));
    for (uint64_t i = nth + 1; i <= kRequests; ++i) {
      EXPECT_THAT(Poll(client.cq), Flushed(i, client.qp_num));
    }
    EXPECT_TRUE(IsEmpty(client.cq));
    EXPECT_EQ(NextEvent(client.conn), RPMA_CONN_CLOSED);
    EXPECT_EQ(world_.emulation().Fired(0), 1u);
  }
}

// --- The node loses power ----------------------------------------------------

TEST_P(RetryingTest, LossOfPowerIsFoundByTheNextRequestOnly) {
  const Pair pair = world_.ConnectedPair();
  const End& client = pair.client;
  Inject("power device=server");
  EXPECT_FALSE(HasEvent(client.conn));
  ASSERT_THAT(client.Write(1, 0, 0, 8, kSilent), IsOk());
  EXPECT_THAT(Poll(client.cq),
              FailedWith(1, IBV_WC_RETRY_EXC_ERR, client.qp_num));
  EXPECT_FALSE(HasEvent(client.conn));
  ASSERT_THAT(rpma_conn_disconnect(client.conn), IsOk());
  EXPECT_EQ(NextEvent(client.conn), RPMA_CONN_CLOSED);
}

TEST(LossOfPowerOnIwarpTest, IsTheEndOfTheConnectionOnceSomethingIsSent) {
  World world(TwoNodes("iwarp", ""));
  const Pair pair = world.ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(
      rpma_emu_inject(world.emulation().fabric(), "power device=server"),
      IsOk());
  EXPECT_FALSE(HasEvent(client.conn));
  ASSERT_THAT(client.Read(1, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Flushed(1, client.qp_num));
  EXPECT_EQ(NextEvent(client.conn), RPMA_CONN_CLOSED);
}

// The atomic write says that the data before it are there, whatever is the last
// message that gets through; a READ that flushes is as late as may be.
TEST_P(RetryingTest, CommitIsNeverThereWithoutTheDataFlushedBeforeIt) {
  constexpr uint64_t kRequests = 3;
  for (uint64_t nth = 1; nth <= kRequests; ++nth) {
    SCOPED_TRACE(nth);
    World world(TwoNodes(GetParam(), " reads=late"));
    const Pair pair = world.ConnectedPair();
    const End& client = pair.client;
    ApplyPeerCfg(client, kDirectWrite);
    client.region->Fill(0xd0);
    world.emulation().SetFaults("power device=server nth=" +
                                std::to_string(nth));
    ASSERT_THAT(client.Write(1, 64, 0, 256, kSilent), IsOk());
    ASSERT_THAT(client.Flush(2, 64, 256, RPMA_FLUSH_TYPE_PERSISTENT, kSilent),
                IsOk());
    ASSERT_THAT(client.AtomicWrite(3, 0, UINT64_MAX), IsOk());
    EXPECT_THAT(Poll(client.cq),
                FailedWith(nth, IBV_WC_RETRY_EXC_ERR, client.qp_num));
    const auto bytes = pair.server.region->bytes();
    EXPECT_THAT(bytes.first(8), Each(0));
    EXPECT_THAT(bytes.subspan(64, 256), Each(nth == 1 ? 0 : 0xd0));
    EXPECT_EQ(world.emulation().Fired(0), 1u);
  }
}

// --- Connecting --------------------------------------------------------------

TEST_P(DeadPeersTest, HostThatWasUnreachableIsReachedOnceItIsBack) {
  const std::string port = world_.NewPort();
  const Endpoint endpoint = world_.Listen(port);
  Inject("link device=server state=down");
  {
    const Conn client = Connect(world_.NewRequest(port));
    EXPECT_EQ(NextEvent(client), RPMA_CONN_UNREACHABLE);
  }
  Inject("link device=server state=up");
  world_.ConnectedPair(endpoint, port);
}

// The server is told of the end, and never that it was connected.
TEST_P(RetryingTest, DisconnectMayComeInsteadOfTheConnection) {
  const std::string port = world_.NewPort();
  const Endpoint endpoint = world_.Listen(port);
  world_.emulation().SetFaults("drop RTU from=1");
  {
    const Conn client = Connect(world_.NewRequest(port));
    const Conn server = Connect(World::NextRequest(endpoint));
    EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
    ASSERT_THAT(rpma_conn_disconnect(client), IsOk());
    EXPECT_EQ(NextEvent(server), RPMA_CONN_CLOSED);
  }
  EXPECT_GE(world_.emulation().Fired(0), 1u);
  world_.emulation().SetFaults("");
  world_.ConnectedPair(endpoint, port);
}

}  // namespace
}  // namespace rpma::test
