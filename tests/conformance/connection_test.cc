// SPDX-License-Identifier: BSD-3-Clause
// Connections come about, are refused or fail, as both sides see it.

#include <utility>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConnectionTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, ConnectionTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

class SilentHostTest : public ConformanceTest {
 protected:
  void Extend(Emulation& emulation) override {
    emulation.AddSilentHost("10.77.0.9");
  }
};

INSTANTIATE_TEST_SUITE_P(, SilentHostTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(ConnectionTest, BothSidesAreEstablishedInOneThread) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Conn client = Connect(NewRequest(port));
  EXPECT_FALSE(HasEvent(client));
  const Conn server = Connect(NextRequest(endpoint));

  ExpectEventIff(!provider().passive_waits_for_active, server);
  EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
  EXPECT_EQ(NextEvent(server), RPMA_CONN_ESTABLISHED);
  EXPECT_FALSE(HasEvent(client));
  EXPECT_FALSE(HasEvent(server));
}

TEST_P(ConnectionTest, ConnectAndAcceptConsumeTheirRequests) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  ConnReq outgoing = NewRequest(port);
  Conn client;
  ASSERT_THAT(
      rpma_conn_req_connect(outgoing.address(), nullptr, client.address()),
      IsOk());
  EXPECT_EQ(outgoing, nullptr);
  EXPECT_NE(client, nullptr);

  ConnReq incoming = NextRequest(endpoint);
  Conn server;
  ASSERT_THAT(
      rpma_conn_req_connect(incoming.address(), nullptr, server.address()),
      IsOk());
  EXPECT_EQ(incoming, nullptr);
  EXPECT_NE(server, nullptr);
}

TEST_P(ConnectionTest, EndsHaveQueuesAndQpNumbers) {
  const Pair pair = ConnectedPair();
  EXPECT_NE(pair.client.cq, nullptr);
  EXPECT_EQ(pair.client.rcq, nullptr);
  EXPECT_NE(pair.client.qp_num, 0u);
  EXPECT_NE(pair.server.qp_num, 0u);
}

TEST_P(ConnectionTest, QpNumbersOfADeviceDiffer) {
  const Pair pair = ConnectedPair();
  EXPECT_NE(pair.client.qp_num, pair.server.qp_num);
}

TEST_P(ConnectionTest, MessagesPassInBothDirections) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  client.region->Fill(0xc1);
  ASSERT_THAT(server.Recv(1, 0, 64), IsOk());
  ASSERT_THAT(client.Send(2, 0, 16), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(server.cq), Received(1, 16, server.qp_num));
  EXPECT_EQ(server.region->bytes()[15], 0xc1);
  EXPECT_EQ(server.region->bytes()[16], 0);

  ASSERT_THAT(client.Recv(3, 64, 64), IsOk());
  ASSERT_THAT(server.Send(4, 0, 8), IsOk());
  EXPECT_THAT(Poll(server.cq), Succeeded(4, IBV_WC_SEND, server.qp_num));
  EXPECT_THAT(Poll(client.cq), Received(3, 8, client.qp_num));
}

TEST_P(ConnectionTest, ReceivePostedOnTheRequestTakesTheFirstMessage) {
  const Pair pair = ConnectedPair({
      .before_client_connects =
          [](rpma_conn_req* request, const Region& region) {
            EXPECT_THAT(
                rpma_conn_req_recv(request, region.mr(), 0, 8, Context(1)),
                IsOk());
          },
      .before_server_connects =
          [](rpma_conn_req* request, const Region& region) {
            EXPECT_THAT(
                rpma_conn_req_recv(request, region.mr(), 0, 8, Context(2)),
                IsOk());
          },
  });
  ASSERT_THAT(pair.client.Send(3, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.server.cq), Received(2, 8, pair.server.qp_num));
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(3, IBV_WC_SEND, pair.client.qp_num));
  ASSERT_THAT(pair.server.Send(4, 0, 4), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), Received(1, 4, pair.client.qp_num));
}

TEST_P(ConnectionTest, SeveralConnectionsOfOneEndpointAreIndependent) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Pair first = ConnectedPair(endpoint, port);
  const Pair second = ConnectedPair(endpoint, port);
  EXPECT_NE(first.server.qp_num, second.server.qp_num);

  Disconnect(first);
  ASSERT_THAT(second.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(second.client.Send(2, 0, 8), IsOk());
  EXPECT_THAT(Poll(second.server.cq), Received(1, 8, second.server.qp_num));
  EXPECT_FALSE(HasEvent(second.client.conn));
  EXPECT_FALSE(HasEvent(second.server.conn));
}

TEST_P(ConnectionTest, RequestsAreServedInTheOrderTheyCame) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Conn first = Connect(NewRequest(port), {1});
  ASSERT_TRUE(BecomesReadable(EndpointFd(endpoint)));
  const Conn second = Connect(NewRequest(port), {2});
  EXPECT_EQ(PrivateData(NextRequest(endpoint)).at(0), 1);
  EXPECT_EQ(PrivateData(NextRequest(endpoint)).at(0), 2);
}

TEST_P(ConnectionTest, RequestOutlivesItsEndpoint) {
  const std::string port = NewPort();
  Endpoint endpoint = Listen(port);
  const Conn client = Connect(NewRequest(port));
  ConnReq incoming = NextRequest(endpoint);
  endpoint.reset();

  const Conn server = Connect(std::move(incoming));
  EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
  EXPECT_EQ(NextEvent(server), RPMA_CONN_ESTABLISHED);
}

TEST_P(ConnectionTest, ConnectionOutlivesItsEndpoint) {
  const Pair pair = ConnectedPair();  // its endpoint is gone
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.server.cq), Received(1, 8, pair.server.qp_num));
}

// --- Refused and failed ------------------------------------------------------

TEST_P(ConnectionTest, DeletedRequestIsRejected) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Conn client = Connect(NewRequest(port));
  ConnReq incoming = NextRequest(endpoint);
  ASSERT_THAT(rpma_conn_req_delete(incoming.address()), IsOk());
  EXPECT_EQ(incoming, nullptr);
  EXPECT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
}

TEST_P(ConnectionTest, ThousandDeletedRequestsLeaveNothing) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const CensusGuard guard(fabric());
  for (int round = 0; round < 1000; ++round) {
    const Conn client = Connect(NewRequest(port));
    NextRequest(endpoint).reset();
    ASSERT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
  }
}

TEST_P(ConnectionTest, PortWithoutListenerRejects) {
  const Conn client = Connect(NewRequest(NewPort()));
  EXPECT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
}

TEST_P(SilentHostTest, IsUnreachable) {
  ConnReq request;
  ASSERT_THAT(rpma_conn_req_new(client_peer(), "10.77.0.9", "7204", nullptr,
                                request.address()),
              IsOk());
  const Conn client = Connect(std::move(request));
  EXPECT_EQ(NextEvent(client), RPMA_CONN_UNREACHABLE);
}

TEST_P(ConnectionTest, AfterARejectionTheNextRequestSucceeds) {
  const std::string port = NewPort();
  {
    const Conn nobody_listens = Connect(NewRequest(port));
    EXPECT_EQ(NextEvent(nobody_listens), RPMA_CONN_REJECTED);
  }
  const Endpoint endpoint = Listen(port);
  {
    const Conn refused = Connect(NewRequest(port));
    NextRequest(endpoint).reset();
    EXPECT_EQ(NextEvent(refused), RPMA_CONN_REJECTED);
  }
  ConnectedPair(endpoint, port);
}

TEST_P(ConnectionTest, ReceivesOfARejectedConnectionAreFlushed) {
  Region region(client_peer(), 64);
  ConnReq request = NewRequest(NewPort());
  ASSERT_THAT(rpma_conn_req_recv(request, region.mr(), 0, 8, Context(1)),
              IsOk());
  End client;
  client.Own(Connect(std::move(request)));
  EXPECT_EQ(NextEvent(client.conn), RPMA_CONN_REJECTED);
  EXPECT_THAT(Poll(client.cq), Flushed(1, client.qp_num));
}

TEST_P(ConnectionTest, AcceptFailsWhenTheClientHasGone) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  Conn client = Connect(NewRequest(port));
  ConnReq incoming = NextRequest(endpoint);
  client.reset();
  ComeToRest();

  Conn server;
  EXPECT_THAT(
      rpma_conn_req_connect(incoming.address(), nullptr, server.address()),
      RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(incoming, nullptr);
  EXPECT_EQ(server, nullptr);
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(HasSubstr("rdma_accept"), HasSubstr("rdma_reject")));
  ConnectedPair(endpoint, port);
}

// The answer waits for the client, but one of them has given up. Where the
// server does not wait for the client, the connection had come about.
TEST_P(ConnectionTest, ClientThatDisconnectsBeforeItsAnswerIsLost) {
  const bool established = !provider().passive_waits_for_active;
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Conn client = Connect(NewRequest(port));
  const Conn server = Connect(NextRequest(endpoint));
  ASSERT_TRUE(BecomesReadable(EventFd(client)));
  ASSERT_THAT(rpma_conn_disconnect(client), IsOk());
  EXPECT_EQ(NextEvent(client),
            established ? RPMA_CONN_ESTABLISHED : RPMA_CONN_LOST);
  EXPECT_EQ(NextEvent(server),
            established ? RPMA_CONN_ESTABLISHED : RPMA_CONN_REJECTED);
}

TEST_P(ConnectionTest, ClientIsLostIfTheServerGoesBeforeItReadTheAnswer) {
  const bool established = !provider().passive_waits_for_active;
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Conn client = Connect(NewRequest(port));
  Conn server = Connect(NextRequest(endpoint));
  ASSERT_TRUE(BecomesReadable(EventFd(client)));
  server.reset();
  ComeToRest();
  EXPECT_EQ(NextEvent(client),
            established ? RPMA_CONN_ESTABLISHED : RPMA_CONN_LOST);
}

TEST_P(ConnectionTest, ServerIsToldIfTheClientGoesBeforeItReadTheAnswer) {
  const bool established = !provider().passive_waits_for_active;
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  Conn client = Connect(NewRequest(port));
  const Conn server = Connect(NextRequest(endpoint));
  ASSERT_TRUE(BecomesReadable(EventFd(client)));
  client.reset();
  EXPECT_EQ(NextEvent(server),
            established ? RPMA_CONN_ESTABLISHED : RPMA_CONN_REJECTED);
}

// --- Requests are consumed on failure ----------------------------------------

// Each way to call rpma_conn_req_connect() with a request and a bad argument.
template <typename Call>
void ForEachBadConnect(Call call) {
  char byte = 1;
  const rpma_conn_private_data no_ptr = {nullptr, 1};
  const rpma_conn_private_data no_len = {&byte, 0};
  rpma_conn* conn = nullptr;
  call("no conn_ptr", nullptr, nullptr);
  call("no pdata->ptr", &no_ptr, &conn);
  call("no pdata->len", &no_len, &conn);
  EXPECT_EQ(conn, nullptr);
}

TEST_P(ConnectionTest, InvalidConnectConsumesAnOutgoingRequest) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  ForEachBadConnect([&](const char* what, const rpma_conn_private_data* pdata,
                        rpma_conn** conn) {
    SCOPED_TRACE(what);
    ConnReq request = NewRequest(port);
    EXPECT_THAT(rpma_conn_req_connect(request.address(), pdata, conn),
                RcIs(RPMA_E_INVAL));
    EXPECT_EQ(request, nullptr);
  });
  int fd = -1;
  ASSERT_THAT(rpma_ep_get_fd(endpoint, &fd), IsOk());
  EXPECT_FALSE(IsReadable(fd));
  log().Discard();
}

TEST_P(ConnectionTest, InvalidAcceptRejectsTheClient) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  ForEachBadConnect([&](const char* what, const rpma_conn_private_data* pdata,
                        rpma_conn** conn) {
    SCOPED_TRACE(what);
    const Conn client = Connect(NewRequest(port));
    ConnReq request = NextRequest(endpoint);
    EXPECT_THAT(rpma_conn_req_connect(request.address(), pdata, conn),
                RcIs(RPMA_E_INVAL));
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
  });
  log().Discard();
}

TEST_P(ConnectionTest, ConnectWithoutARequestIsInvalid) {
  rpma_conn_req* no_request = nullptr;
  rpma_conn* conn = nullptr;
  EXPECT_THAT(rpma_conn_req_connect(nullptr, nullptr, &conn),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_req_connect(&no_request, nullptr, &conn),
              RcIs(RPMA_E_INVAL));
  EXPECT_EQ(conn, nullptr);
  log().Discard();
}

// --- Other arguments ---------------------------------------------------------

TEST_P(ConnectionTest, DeletingNothingSucceeds) {
  rpma_conn_req* no_request = nullptr;
  rpma_conn* no_conn = nullptr;
  EXPECT_THAT(rpma_conn_req_delete(&no_request), IsOk());
  EXPECT_THAT(rpma_conn_delete(&no_conn), IsOk());
  EXPECT_THAT(rpma_conn_req_delete(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_delete(nullptr), RcIs(RPMA_E_INVAL));
  log().Discard();
}

TEST_P(ConnectionTest, OutgoingRequestCanBeDeleted) {
  ConnReq request = NewRequest(NewPort());
  ASSERT_THAT(rpma_conn_req_delete(request.address()), IsOk());
  EXPECT_EQ(request, nullptr);
}

TEST_P(ConnectionTest, NullArgumentsOfNewRequestsAreInvalid) {
  rpma_conn_req* request = nullptr;
  rpma_peer* const peer = client_peer();
  EXPECT_THAT(rpma_conn_req_new(nullptr, address(), "1", nullptr, &request),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_req_new(peer, nullptr, "1", nullptr, &request),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_req_new(peer, address(), nullptr, nullptr, &request),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_req_new(peer, address(), "1", nullptr, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_EQ(request, nullptr);
  log().Discard();
}

TEST_P(ConnectionTest, NullArgumentsOfReceivesOnRequestsAreInvalid) {
  const ConnReq request = NewRequest(NewPort());
  const Region region(client_peer(), 64);
  EXPECT_THAT(rpma_conn_req_recv(nullptr, region.mr(), 0, 8, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_req_recv(request, nullptr, 0, 0, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_req_recv(request, region.mr(), 60, 8, nullptr),
              RcIs(RPMA_E_INVAL));
  log().Discard();
  EXPECT_THAT(rpma_conn_req_recv(request, region.mr(), 56, 8, nullptr), IsOk());
}

TEST_P(ConnectionTest, NullArgumentsOfGettersAreInvalid) {
  const Pair pair = ConnectedPair();
  const rpma_conn* conn = pair.client.conn;
  rpma_cq* cq = nullptr;
  uint32_t qp_num = 0;
  int fd = -1;
  EXPECT_THAT(rpma_conn_get_cq(nullptr, &cq), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_cq(conn, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_rcq(nullptr, &cq), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_rcq(conn, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_qp_num(nullptr, &qp_num), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_qp_num(conn, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_event_fd(nullptr, &fd), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_get_event_fd(conn, nullptr), RcIs(RPMA_E_INVAL));
  log().Discard();
}

TEST_P(ConnectionTest, NullArgumentsOfEventsAreInvalid) {
  const Pair pair = ConnectedPair();
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  EXPECT_THAT(rpma_conn_next_event(nullptr, &event), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_next_event(pair.client.conn, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_EQ(event, RPMA_CONN_UNDEFINED);
  EXPECT_THAT(rpma_conn_disconnect(nullptr), RcIs(RPMA_E_INVAL));
  log().Discard();
}

TEST_P(ConnectionTest, RemotePeerCfgApplies) {
  const Pair pair = ConnectedPair();
  PeerCfg cfg;
  ASSERT_THAT(rpma_peer_cfg_new(cfg.address()), IsOk());
  EXPECT_THAT(rpma_conn_apply_remote_peer_cfg(nullptr, cfg),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_apply_remote_peer_cfg(pair.client.conn, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(pair.client.Flush(1, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT),
              RcIs(RPMA_E_NOSUPP));
  log().Discard();

  ASSERT_THAT(rpma_peer_cfg_set_direct_write_to_pmem(cfg, true), IsOk());
  ASSERT_THAT(rpma_conn_apply_remote_peer_cfg(pair.client.conn, cfg), IsOk());
  cfg.reset();  // it was copied
  EXPECT_THAT(pair.client.Flush(2, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(2, 8, pair.client.qp_num));
}

}  // namespace
}  // namespace rpma::test
