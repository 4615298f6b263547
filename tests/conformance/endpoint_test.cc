// SPDX-License-Identifier: BSD-3-Clause
// Where one can listen and connect to: addresses, ports, and the end of an
// endpoint.

#include <netdb.h>

#include <string>
#include <utility>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EndpointTest : public ConformanceTest {
 protected:
  // The results of listening on, and of preparing a request to, a port.
  int ListenOn(const char* port, const char* node = nullptr) {
    Endpoint endpoint;
    return rpma_ep_listen(server_peer(), node != nullptr ? node : address(),
                          port, endpoint.address());
  }
  int RequestTo(const char* port, const char* node = nullptr) {
    ConnReq request;
    return rpma_conn_req_new(client_peer(), node != nullptr ? node : address(),
                             port, nullptr, request.address());
  }

  // A client of this host's address `node` finds the endpoint that listens on
  // `listen_node`.
  void ExpectConnects(const char* listen_node, const char* node) {
    const std::string port = NewPort();
    Endpoint endpoint;
    ASSERT_THAT(rpma_ep_listen(server_peer(), listen_node, port.c_str(),
                               endpoint.address()),
                IsOk());
    ConnReq request;
    ASSERT_THAT(rpma_conn_req_new(client_peer(), node, port.c_str(), nullptr,
                                  request.address()),
                IsOk());
    const Conn client = Connect(std::move(request));
    const Conn server = Connect(NextRequest(endpoint));
    EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
    EXPECT_EQ(NextEvent(server), RPMA_CONN_ESTABLISHED);
  }
};

INSTANTIATE_TEST_SUITE_P(, EndpointTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

// --- Ports -------------------------------------------------------------------

TEST_P(EndpointTest, DecimalPortsUpTo65535AreValid) {
  for (const char* port : {"0", "1", "7204", "07204", "65535"}) {
    SCOPED_TRACE(port);
    EXPECT_THAT(ListenOn(port), IsOk());
    EXPECT_THAT(RequestTo(port), IsOk());
  }
}

TEST_P(EndpointTest, PortsThatOnlyLookLikeNumbersAreInvalid) {
  for (const char* port :
       {"", " 80", "80 ", "-1", "+1", "65536", "70000", "4294967376", "7204x",
        "0x50", "99999999999999999999"}) {
    SCOPED_TRACE(port);
    EXPECT_THAT(ListenOn(port), RcIs(RPMA_E_INVAL));
    EXPECT_THAT(RequestTo(port), RcIs(RPMA_E_INVAL));
  }
  log().Discard();
}

TEST_P(EndpointTest, ServiceNamesAreThoseOfTheSystem) {
  for (const char* service : {"http-alt", "no-such-service"}) {
    SCOPED_TRACE(service);
    const addrinfo hints = {.ai_flags = 0,
                            .ai_family = AF_UNSPEC,
                            .ai_socktype = SOCK_STREAM,
                            .ai_protocol = 0,
                            .ai_addrlen = 0,
                            .ai_addr = nullptr,
                            .ai_canonname = nullptr,
                            .ai_next = nullptr};
    addrinfo* info = nullptr;
    const bool known = getaddrinfo(nullptr, service, &hints, &info) == 0;
    if (known) freeaddrinfo(info);
    const int expected = known ? 0 : RPMA_E_PROVIDER;
    EXPECT_THAT(ListenOn(service), RcIs(expected));
    EXPECT_THAT(RequestTo(service), RcIs(expected));
  }
  for (const std::string& error : log().TakeErrors()) {
    EXPECT_THAT(error, HasSubstr("rdma_getaddrinfo"));
  }
}

TEST_P(EndpointTest, PortZeroIsAnyFreePort) {
  Endpoint first, second;
  EXPECT_THAT(rpma_ep_listen(server_peer(), address(), "0", first.address()),
              IsOk());
  EXPECT_THAT(rpma_ep_listen(server_peer(), address(), "0", second.address()),
              IsOk());
}

TEST_P(EndpointTest, BusyPortIsRefusedUntilItIsFree) {
  const std::string port = NewPort();
  Endpoint first = Listen(port);
  EXPECT_THAT(ListenOn(port.c_str()), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(AnyOf(HasSubstr("rdma_bind_addr"),
                                                    HasSubstr("rdma_listen"))));
  first.reset();
  EXPECT_THAT(ListenOn(port.c_str()), IsOk());
}

TEST_P(EndpointTest, PortIsFreeWhileItsConnectionsLive) {
  const std::string port = NewPort();
  Endpoint endpoint = Listen(port);
  const Pair pair = ConnectedPair(endpoint, port);
  endpoint.reset();
  EXPECT_THAT(ListenOn(port.c_str()), IsOk());
}

// --- Addresses ---------------------------------------------------------------

class LoopbackTest : public EndpointTest {};

INSTANTIATE_TEST_SUITE_P(
    , LoopbackTest,
    ::testing::ValuesIn(With(&Provider::serves_loopback_addresses,
                             Providers())),
    ProviderName);

TEST_P(LoopbackTest, AddressesConnect) {
  ExpectConnects("127.0.0.1", "127.0.0.1");
  ExpectConnects("::1", "::1");
  ExpectConnects("localhost", "localhost");
}

TEST_P(LoopbackTest, WildcardsAcceptOnEveryAddress) {
  ExpectConnects("0.0.0.0", "127.0.0.1");
  ExpectConnects("0.0.0.0", "127.0.0.2");
  ExpectConnects("::", "::1");
}

TEST_P(LoopbackTest, EndpointOfOneAddressDoesNotServeAnother) {
  const std::string port = NewPort();
  Endpoint endpoint;
  ASSERT_THAT(rpma_ep_listen(server_peer(), "127.0.0.2", port.c_str(),
                             endpoint.address()),
              IsOk());
  ConnReq request;
  ASSERT_THAT(rpma_conn_req_new(client_peer(), "127.0.0.1", port.c_str(),
                                nullptr, request.address()),
              IsOk());
  const Conn client = Connect(std::move(request));
  EXPECT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
}

TEST_P(EndpointTest, AddressOfNoDeviceIsRefused) {
  // TEST-NET-3 of RFC 5737.
  EXPECT_THAT(ListenOn("7204", "203.0.113.1"), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("203.0.113.1")));
  EXPECT_THAT(RequestTo("7204", "203.0.113.1"), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(AllOf(HasSubstr("rdma_resolve_addr"),
                                HasSubstr("203.0.113.1"))));
}

TEST_P(EndpointTest, UnknownHostIsRefused) {
  // A label has at most 63 characters (RFC 1035 2.3.4), so nobody is asked.
  const std::string host(64, 'x');
  EXPECT_THAT(ListenOn("7204", host.c_str()), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(RequestTo("7204", host.c_str()), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("rdma_getaddrinfo"),
                                              HasSubstr("rdma_getaddrinfo")));
}

// --- Other devices -----------------------------------------------------------

class SecondDeviceTest : public EndpointTest {
 protected:
  static constexpr const char* kSecondAddress = "10.77.0.2";

  void Extend(Emulation& emulation) override {
    emulation.AddDevice("second", std::string("profile=") + provider().name,
                        kSecondAddress);
  }
};

INSTANTIATE_TEST_SUITE_P(, SecondDeviceTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(SecondDeviceTest, HasAContextOfItsOwn) {
  ibv_context* second = nullptr;
  ASSERT_THAT(rpma_utils_get_ibv_context(kSecondAddress,
                                         RPMA_UTIL_IBV_CONTEXT_LOCAL, &second),
              IsOk());
  EXPECT_NE(second, nullptr);
  EXPECT_NE(second, context());
}

TEST_P(SecondDeviceTest, RequestNeedsAPeerOfItsDevice) {
  EXPECT_THAT(RequestTo("7204", kSecondAddress), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("another device")));
}

TEST_P(SecondDeviceTest, RequestOnAnotherDeviceThanThePeersIsRejected) {
  const std::string port = NewPort();
  ibv_context* second = nullptr;
  ASSERT_THAT(rpma_utils_get_ibv_context(kSecondAddress,
                                         RPMA_UTIL_IBV_CONTEXT_LOCAL, &second),
              IsOk());
  Peer peer;
  ASSERT_THAT(rpma_peer_new(second, peer.address()), IsOk());
  Endpoint endpoint;  // of the first device's peer, on every device
  ASSERT_THAT(rpma_ep_listen(server_peer(), "0.0.0.0", port.c_str(),
                             endpoint.address()),
              IsOk());
  ConnReq request;
  ASSERT_THAT(rpma_conn_req_new(peer, kSecondAddress, port.c_str(), nullptr,
                                request.address()),
              IsOk());
  const Conn client = Connect(std::move(request));

  rpma_conn_req* incoming = nullptr;
  EXPECT_THAT(rpma_ep_next_conn_req(endpoint, nullptr, &incoming),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(incoming, nullptr);
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("another device")));
  EXPECT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
  ConnectedPair(endpoint, port);
}

// --- The end of an endpoint --------------------------------------------------

TEST_P(EndpointTest, ShutdownRejectsRequestsNobodyTook) {
  const std::string port = NewPort();
  Endpoint endpoint = Listen(port);
  const Conn first = Connect(NewRequest(port));
  EXPECT_TRUE(BecomesReadable(EndpointFd(endpoint)));
  const Conn second = Connect(NewRequest(port));
  ASSERT_THAT(rpma_ep_shutdown(endpoint.address()), IsOk());
  EXPECT_EQ(endpoint, nullptr);
  EXPECT_EQ(NextEvent(first), RPMA_CONN_REJECTED);
  const rpma_conn_event event = NextEvent(second);
  // siw does not answer a request that arrives during the shutdown.
  if (provider().emulated || event != RPMA_CONN_UNREACHABLE) {
    EXPECT_EQ(event, RPMA_CONN_REJECTED);
  }
}

TEST_P(EndpointTest, ShutdownLeavesConnectionsAlone) {
  const std::string port = NewPort();
  Endpoint endpoint = Listen(port);
  const Pair pair = ConnectedPair(endpoint, port);
  ASSERT_THAT(rpma_ep_shutdown(endpoint.address()), IsOk());
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.server.cq), Received(1, 8, pair.server.qp_num));
  Disconnect(pair);
}

TEST_P(EndpointTest, ShuttingDownNothingSucceeds) {
  rpma_ep* nothing = nullptr;
  EXPECT_THAT(rpma_ep_shutdown(&nothing), IsOk());
  EXPECT_THAT(rpma_ep_shutdown(nullptr), RcIs(RPMA_E_INVAL));
  log().Discard();
}

TEST_P(EndpointTest, NullArgumentsAreInvalid) {
  rpma_ep* endpoint = nullptr;
  rpma_peer* const peer = server_peer();
  EXPECT_THAT(rpma_ep_listen(nullptr, address(), "0", &endpoint),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_ep_listen(peer, nullptr, "0", &endpoint),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_ep_listen(peer, address(), nullptr, &endpoint),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_ep_listen(peer, address(), "0", nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_EQ(endpoint, nullptr);
  log().Discard();
}

}  // namespace
}  // namespace rpma::test
