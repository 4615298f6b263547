// SPDX-License-Identifier: BSD-3-Clause
// How connections end: who sees CLOSED and when, whose requests are flushed,
// and that nothing is left whatever the order of the calls.

#include <map>
#include <utility>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::AnyOf;

class TeardownTest : public ConformanceTest {
 protected:
  void ExpectClosedOnBothSides(const End& initiator, const End& other);
  void ExpectFlushRules(const End& initiator, const End& other);
  void ExpectSendFailsOnceTheOtherSideDisconnected(const End& initiator,
                                                   const End& other);
  // Fetches the second CLOSED where there is one; then no event is left.
  void ExpectOnlyTimeWaitEvents(const End& a, const End& b);
};

INSTANTIATE_TEST_SUITE_P(, TeardownTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

void TeardownTest::ExpectOnlyTimeWaitEvents(const End& a, const End& b) {
  if (provider().time_wait_event) {
    EXPECT_EQ(NextEvent(a.conn), RPMA_CONN_CLOSED);
    EXPECT_EQ(NextEvent(b.conn), RPMA_CONN_CLOSED);
  }
  EXPECT_FALSE(HasEvent(a.conn));
  EXPECT_FALSE(HasEvent(b.conn));
}

void TeardownTest::ExpectClosedOnBothSides(const End& initiator,
                                           const End& other) {
  ASSERT_THAT(rpma_conn_disconnect(initiator.conn), IsOk());
  ExpectEventIff(!provider().closed_waits_for_peer, initiator.conn);
  EXPECT_EQ(NextEvent(other.conn), RPMA_CONN_CLOSED);
  ASSERT_THAT(rpma_conn_disconnect(other.conn), IsOk());
  EXPECT_EQ(NextEvent(initiator.conn), RPMA_CONN_CLOSED);
  ExpectOnlyTimeWaitEvents(initiator, other);
}

TEST_P(TeardownTest, BothSidesAreClosedAfterTheClientDisconnects) {
  const Pair pair = ConnectedPair();
  ExpectClosedOnBothSides(pair.client, pair.server);
}

TEST_P(TeardownTest, BothSidesAreClosedAfterTheServerDisconnects) {
  const Pair pair = ConnectedPair();
  ExpectClosedOnBothSides(pair.server, pair.client);
}

TEST_P(TeardownTest, DisconnectingAtTheSameTimeClosesBothSides) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  ASSERT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  // There is no time-wait if the two messages (DREQ) have crossed.
}

TEST_P(TeardownTest, InitiatorIsClosedEvenIfTheOtherSideStaysSilent) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
}

TEST_P(TeardownTest, DisconnectingAgainSucceeds) {
  const Pair pair = ConnectedPair();
  EXPECT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  ExpectOnlyTimeWaitEvents(pair.client, pair.server);
  EXPECT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
}

// --- Requests of a connection that ends --------------------------------------

void TeardownTest::ExpectFlushRules(const End& initiator, const End& other) {
  ASSERT_THAT(initiator.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(initiator.Recv(2, 0, 8), IsOk());
  ASSERT_THAT(other.Recv(3, 0, 8), IsOk());
  ASSERT_THAT(other.Recv(4, 0, 8), IsOk());

  ASSERT_THAT(rpma_conn_disconnect(initiator.conn), IsOk());
  EXPECT_THAT(Poll(initiator.cq), Flushed(1, initiator.qp_num));
  EXPECT_THAT(Poll(initiator.cq), Flushed(2, initiator.qp_num));

  EXPECT_EQ(NextEvent(other.conn), RPMA_CONN_CLOSED);
  if (!provider().disconnect_flushes_peer) {
    EXPECT_TRUE(IsEmpty(other.cq));
    ASSERT_THAT(rpma_conn_disconnect(other.conn), IsOk());
  }
  EXPECT_THAT(Poll(other.cq), Flushed(3, other.qp_num));
  EXPECT_THAT(Poll(other.cq), Flushed(4, other.qp_num));
  EXPECT_TRUE(IsEmpty(initiator.cq));
  EXPECT_TRUE(IsEmpty(other.cq));
}

TEST_P(TeardownTest, ReceivesAreFlushedWhenTheClientDisconnects) {
  const Pair pair = ConnectedPair();
  ExpectFlushRules(pair.client, pair.server);
}

TEST_P(TeardownTest, ReceivesAreFlushedWhenTheServerDisconnects) {
  const Pair pair = ConnectedPair();
  ExpectFlushRules(pair.server, pair.client);
}

void TeardownTest::ExpectSendFailsOnceTheOtherSideDisconnected(
    const End& initiator, const End& other) {
  ASSERT_THAT(other.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(rpma_conn_disconnect(initiator.conn), IsOk());
  EXPECT_EQ(NextEvent(other.conn), RPMA_CONN_CLOSED);
  ASSERT_THAT(other.Send(2, 0, 8), IsOk());

  std::map<uint64_t, ibv_wc_status> statuses;
  for (int i = 0; i < 2; ++i) {
    const ibv_wc wc = Poll(other.cq);
    EXPECT_EQ(wc.qp_num, other.qp_num);
    statuses[wc.wr_id] = wc.status;
  }
  EXPECT_EQ(statuses[1], IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(statuses[2], provider().send_to_failed_peer);
  EXPECT_TRUE(IsEmpty(other.cq));
}

TEST_P(TeardownTest, SendOfTheServerFailsAfterTheClientDisconnected) {
  const Pair pair = ConnectedPair();
  ExpectSendFailsOnceTheOtherSideDisconnected(pair.client, pair.server);
}

TEST_P(TeardownTest, SendOfTheClientFailsAfterTheServerDisconnected) {
  const Pair pair = ConnectedPair();
  ExpectSendFailsOnceTheOtherSideDisconnected(pair.server, pair.client);
}

TEST_P(TeardownTest, RequestsPostedAfterDisconnectingAreFlushed) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(rpma_conn_disconnect(client.conn), IsOk());
  const int sent = client.Send(1, 0, 8);
  const int written = client.Write(2, 0, 0, 8, RPMA_F_COMPLETION_ON_ERROR);
  if (provider().flushes_late_sends) {
    ASSERT_THAT(sent, IsOk());
    ASSERT_THAT(written, IsOk());
    EXPECT_THAT(Poll(client.cq), Flushed(1, client.qp_num));
    EXPECT_THAT(Poll(client.cq), Flushed(2, client.qp_num));
  } else {
    EXPECT_THAT(sent, AnyOf(IsOk(), RcIs(RPMA_E_PROVIDER)));
    EXPECT_THAT(written, AnyOf(IsOk(), RcIs(RPMA_E_PROVIDER)));
    log().Discard();
  }
  ASSERT_THAT(client.Recv(3, 0, 8), IsOk());
  if (provider().flushes_late_receives) {
    EXPECT_THAT(Poll(client.cq), Flushed(3, client.qp_num));
  }
  EXPECT_TRUE(IsEmpty(client.cq));
}

TEST_P(TeardownTest, CompletionsFromBeforeTheDisconnectStay) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
  ComeToRest();
  Disconnect(pair);
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(2, IBV_WC_SEND, pair.client.qp_num));
  EXPECT_THAT(Poll(pair.server.cq), Received(1, 8, pair.server.qp_num));
}

// --- Deleting ----------------------------------------------------------------

TEST_P(TeardownTest, DeletingAConnectedClientClosesTheServer) {
  Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_conn_delete(pair.client.conn.address()), IsOk());
  EXPECT_EQ(pair.client.conn, nullptr);
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
}

TEST_P(TeardownTest, DeletingAConnectedServerClosesTheClient) {
  Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_conn_delete(pair.server.conn.address()), IsOk());
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
}

TEST_P(TeardownTest, DeletingRightAfterDisconnectingClosesThePeer) {
  Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  ASSERT_THAT(rpma_conn_delete(pair.client.conn.address()), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
}

TEST_P(TeardownTest, DeletingAnsweredDisconnectsEndsTheOtherSidesWait) {
  Pair pair = ConnectedPair();
  ASSERT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  ASSERT_THAT(rpma_conn_delete(pair.server.conn.address()), IsOk());
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
}

TEST_P(TeardownTest, ConnectionCanBeDeletedWithRequestsOutstanding) {
  Pair pair = ConnectedPair();
  ASSERT_THAT(pair.client.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.server.Recv(2, 0, 8), IsOk());
  ASSERT_THAT(rpma_conn_delete(pair.client.conn.address()), IsOk());
  ASSERT_THAT(rpma_conn_delete(pair.server.conn.address()), IsOk());
}

TEST_P(TeardownTest, ConnectionCanBeDeletedWithEventsUnread) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  Conn client = Connect(NewRequest(port));
  Conn server = Connect(NextRequest(endpoint));
  EXPECT_TRUE(BecomesReadable(EventFd(client)));
  client.reset();
  server.reset();
}

TEST_P(TeardownTest, ConnectionCanBeDeletedBeforeItIsAnswered) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  Conn client = Connect(NewRequest(port));
  client.reset();
}

TEST_P(TeardownTest, ThousandConnectionsLeaveNothing) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const CensusGuard guard(fabric());
  for (int round = 0; round < 1000; ++round) {
    const Conn client = Connect(NewRequest(port));
    const Conn server = Connect(NextRequest(endpoint));
    ASSERT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
    ASSERT_EQ(NextEvent(server), RPMA_CONN_ESTABLISHED);
    ASSERT_THAT(rpma_conn_disconnect(client), IsOk());
    ASSERT_EQ(NextEvent(server), RPMA_CONN_CLOSED);
    ASSERT_THAT(rpma_conn_disconnect(server), IsOk());
    ASSERT_EQ(NextEvent(client), RPMA_CONN_CLOSED);
  }
}

}  // namespace
}  // namespace rpma::test
