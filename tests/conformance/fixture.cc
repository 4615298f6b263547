// SPDX-License-Identifier: BSD-3-Clause

#include "tests/conformance/fixture.h"

#include <utility>

#include "tests/conformance/environment.h"

namespace rpma::test {

void ConformanceTest::SetUp() {
  log_.emplace();
  emulation_.emplace(provider().name,
                     std::string(provider().options) + " " + device_options());
  Extend(*emulation_);
  ASSERT_THAT(rpma_utils_get_ibv_context(address(), RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                         &context_),
              IsOk());
  census_.emplace(emulation_->fabric());
  ASSERT_THAT(rpma_peer_new(context_, client_peer_.address()), IsOk());
  ibv_context* server_context = nullptr;
  ASSERT_THAT(
      rpma_utils_get_ibv_context(server_address(), RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                 &server_context),
      IsOk());
  ASSERT_THAT(rpma_peer_new(server_context, server_peer_.address()), IsOk());
}

void ConformanceTest::TearDown() {
  client_peer_.reset();
  server_peer_.reset();
  census_.reset();
  emulation_.reset();
  log_.reset();
}

const char* ConformanceTest::address() const { return TestAddress(); }

std::string ConformanceTest::NewPort() { return std::to_string(next_port_++); }

Endpoint ConformanceTest::Listen(const std::string& port) {
  Endpoint endpoint;
  EXPECT_THAT(rpma_ep_listen(server_peer_, server_address(), port.c_str(),
                             endpoint.address()),
              IsOk());
  return endpoint;
}

ConnReq ConformanceTest::NewRequest(const std::string& port,
                                    const rpma_conn_cfg* cfg) {
  ConnReq request;
  EXPECT_THAT(rpma_conn_req_new(client_peer_, server_address(), port.c_str(),
                                cfg, request.address()),
              IsOk());
  return request;
}

ConnReq ConformanceTest::NextRequest(rpma_ep* endpoint,
                                     const rpma_conn_cfg* cfg) {
  int fd = -1;
  EXPECT_THAT(rpma_ep_get_fd(endpoint, &fd), IsOk());
  ConnReq request;
  if (BecomesReadable(fd)) {
    EXPECT_THAT(rpma_ep_next_conn_req(endpoint, cfg, request.address()),
                IsOk());
  } else {
    ADD_FAILURE() << "no connection request came";
  }
  return request;
}

Pair ConformanceTest::ConnectedPair(const PairOptions& options) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  return ConnectedPair(endpoint, port, options);
}

Pair ConformanceTest::ConnectedPair(rpma_ep* endpoint, const std::string& port,
                                    const PairOptions& options) {
  Pair pair;
  pair.client.region.emplace(client_peer(), options.region_size,
                             options.client_usage);
  pair.server.region.emplace(server_peer(), options.region_size,
                             options.server_usage);
  pair.client.remote = pair.server.region->Remote();
  pair.server.remote = pair.client.region->Remote();

  ConnReq outgoing = NewRequest(port, options.client_cfg);
  if (options.before_client_connects) {
    options.before_client_connects(outgoing, *pair.client.region);
  }
  pair.client.Own(Connect(std::move(outgoing), options.request_data));

  ConnReq incoming = NextRequest(endpoint, options.server_cfg);
  if (options.before_server_connects) {
    options.before_server_connects(incoming, *pair.server.region);
  }
  pair.server.Own(Connect(std::move(incoming), options.accept_data));

  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_ESTABLISHED);
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_ESTABLISHED);
  return pair;
}

std::string ConformanceTest::Explanation(const End& end) const {
  return emulation_->Explain(end.qp_num);
}

void ConformanceTest::Disconnect(const Pair& pair) {
  EXPECT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  if (!provider().time_wait_event) return;
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
}

}  // namespace rpma::test
