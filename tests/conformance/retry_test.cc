// SPDX-License-Identifier: BSD-3-Clause
// Requests that wait for the other side: what they become when it never
// answers, never posts a receive, or takes memory away meanwhile; and what
// becomes of the requests queued behind them.

#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kSilent = RPMA_F_COMPLETION_ON_ERROR;

// Of providers whose messages wait for a receive: sending one without is how
// these tests fill a send queue.
class QueueTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, QueueTest,
                         ::testing::ValuesIn(With(&Provider::waits_for_receive,
                                                  Providers())),
                         ProviderName);

TEST_P(QueueTest, RequestsBehindAFailedOneAreFlushedInOrder) {
  Region target(server_peer(), 4096);
  Pair pair = ConnectedPair();
  const End& client = pair.client;
  const RemoteMr gone = target.Remote();
  ASSERT_THAT(client.Recv(101, 0, 8), IsOk());
  ASSERT_THAT(client.Recv(102, 0, 8), IsOk());
  ASSERT_THAT(client.Send(1, 0, 8), IsOk());
  ASSERT_THAT(rpma_write(client.conn, gone, 0, client.region->mr(), 0, 8,
                         kSilent, Context(2)),
              IsOk());
  ASSERT_THAT(client.Write(3, 0, 0, 8), IsOk());
  ASSERT_THAT(client.Read(4, 0, 0, 8, kSilent), IsOk());
  ASSERT_THAT(client.Flush(5, 0, 8), IsOk());
  ASSERT_THAT(client.AtomicWrite(6, 0, 1), IsOk());
  ASSERT_THAT(client.Send(7, 0, 8), IsOk());
  target.Deregister();
  ASSERT_THAT(pair.server.Recv(201, 0, 8), IsOk());

  const uint32_t qp_num = client.qp_num;
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_SEND, qp_num));
  EXPECT_THAT(Poll(client.cq), FailedWith(2, IBV_WC_REM_ACCESS_ERR, qp_num));
  for (const uint64_t wr_id : {3u, 4u, 5u, 6u, 7u, 101u, 102u}) {
    EXPECT_THAT(Poll(client.cq), Flushed(wr_id, qp_num));
  }
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_THAT(Poll(pair.server.cq), Received(201, 8, pair.server.qp_num));
  EXPECT_TRUE(IsEmpty(pair.server.cq));
}

TEST_P(QueueTest, WritesQueuedWhenTheTargetIsDeregisteredTouchNothing) {
  Region target(server_peer(), 4096);
  Pair pair = ConnectedPair();
  pair.client.remote = target.Remote();
  pair.client.region->Fill(0xff);
  ASSERT_THAT(pair.client.Send(1, 0, 8), IsOk());
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_THAT(pair.client.Write(2 + i, 64 * i, 0, 64), IsOk());
  }
  target.Deregister();
  ASSERT_THAT(pair.server.Recv(11, 0, 8), IsOk());

  const uint32_t qp_num = pair.client.qp_num;
  EXPECT_THAT(Poll(pair.client.cq), Succeeded(1, IBV_WC_SEND, qp_num));
  EXPECT_THAT(Poll(pair.client.cq),
              FailedWith(2, IBV_WC_REM_ACCESS_ERR, qp_num));
  for (uint64_t i = 1; i < 8; ++i) {
    EXPECT_THAT(Poll(pair.client.cq), Flushed(2 + i, qp_num));
  }
  EXPECT_THAT(target.bytes(), Each(0));
  ExpectExplained(pair.client, HasSubstr("was deregistered"));
}

TEST_P(QueueTest, SourceDeregisteredBeforeItIsSentFailsTheRequest) {
  Region source(client_peer(), 64);
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.Send(1, 0, 8), IsOk());
  ASSERT_THAT(rpma_write(client.conn, client.remote, 0, source.mr(), 0, 8,
                         kSilent, Context(2)),
              IsOk());
  source.Deregister();
  ASSERT_THAT(pair.server.Recv(3, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(client.cq),
              FailedWith(2, provider().unreadable_source, client.qp_num));
  ExpectExplained(client, HasSubstr("was deregistered"));
}

TEST_P(QueueTest, RequestsThatWaitAreFlushedByADisconnect) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.Send(1, 0, 8), IsOk());
  ASSERT_THAT(client.Write(2, 0, 0, 8, kSilent), IsOk());
  ASSERT_THAT(client.Read(3, 0, 0, 8), IsOk());
  ConnectedPair();  // the message has been refused by then
  ASSERT_THAT(rpma_conn_disconnect(client.conn), IsOk());
  for (const uint64_t wr_id : {1u, 2u, 3u}) {
    EXPECT_THAT(Poll(client.cq), Flushed(wr_id, client.qp_num));
  }
  EXPECT_TRUE(IsEmpty(client.cq));

  // The message is no longer there to be received.
  ASSERT_THAT(pair.server.Recv(4, 0, 8), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_TRUE(IsEmpty(pair.server.cq));
}

TEST_P(QueueTest, RequestsToAPeerThatIsGoneFailInOrder) {
  Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.Recv(101, 0, 8), IsOk());
  ASSERT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
  EXPECT_EQ(NextEvent(client.conn), RPMA_CONN_CLOSED);
  EXPECT_TRUE(IsEmpty(client.cq));

  ASSERT_THAT(client.Write(1, 0, 0, 8, kSilent), IsOk());
  ASSERT_THAT(client.Read(2, 0, 0, 8), IsOk());
  ASSERT_THAT(client.Send(3, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq),
              FailedWith(1, IBV_WC_RETRY_EXC_ERR, client.qp_num));
  for (const uint64_t wr_id : {2u, 3u, 101u}) {
    EXPECT_THAT(Poll(client.cq), Flushed(wr_id, client.qp_num));
  }
  ExpectExplained(client, HasSubstr("did not answer"));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));
}

TEST_P(QueueTest, RequestsToADeletedConnectionFail) {
  Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_conn_delete(pair.server.conn.address()), IsOk());
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8, kSilent), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              FailedWith(1, IBV_WC_RETRY_EXC_ERR, pair.client.qp_num));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));
}

TEST_P(QueueTest, MessageThatWaitsForAReceiveFailsWhenThePeerIsDeleted) {
  Pair pair = ConnectedPair();
  ASSERT_THAT(pair.client.Send(1, 0, 8), IsOk());
  ASSERT_THAT(rpma_conn_delete(pair.server.conn.address()), IsOk());
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(Poll(pair.client.cq),
              FailedWith(1, IBV_WC_RETRY_EXC_ERR, pair.client.qp_num));
}

// --- A limit on waiting for a receive ----------------------------------------

class RnrRetryTest : public ConformanceTest {
 protected:
  std::string device_options() const override { return "rnr_retry=2"; }
};

INSTANTIATE_TEST_SUITE_P(, RnrRetryTest,
                         ::testing::ValuesIn(With(&Provider::waits_for_receive,
                                                  EmulatedProviders())),
                         ProviderName);

TEST_P(RnrRetryTest, MessageFailsAfterTheLastTry) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.Recv(101, 0, 8), IsOk());
  ASSERT_THAT(client.Send(1, 0, 8), IsOk());
  ASSERT_THAT(client.Write(2, 0, 0, 8, kSilent), IsOk());
  EXPECT_THAT(Poll(client.cq),
              FailedWith(1, IBV_WC_RNR_RETRY_EXC_ERR, client.qp_num));
  EXPECT_THAT(Poll(client.cq), Flushed(2, client.qp_num));
  EXPECT_THAT(Poll(client.cq), Flushed(101, client.qp_num));
  ExpectExplained(client, HasSubstr("no receive was posted"));
  EXPECT_FALSE(HasEvent(client.conn));
}

TEST_P(RnrRetryTest, OtherSideIsNotTouched) {
  const Pair pair = ConnectedPair();
  const End& server = pair.server;
  ASSERT_THAT(pair.client.WriteWithImm(1, 0, 0, 8, 5), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              FailedWith(1, IBV_WC_RNR_RETRY_EXC_ERR, pair.client.qp_num));

  ASSERT_THAT(server.Recv(2, 0, 8), IsOk());  // too late
  EXPECT_TRUE(IsEmpty(server.cq));
  EXPECT_FALSE(HasEvent(server.conn));
  EXPECT_THAT(server.region->bytes(), Each(0));
  ExpectExplained(server, "");
  ASSERT_THAT(server.Send(3, 0, 8), IsOk());
  EXPECT_THAT(Poll(server.cq),
              FailedWith(3, provider().send_to_failed_peer, server.qp_num));
  EXPECT_THAT(Poll(server.cq), Flushed(2, server.qp_num));
}

}  // namespace
}  // namespace rpma::test
