// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/world.h"

#include <utility>

#include "tests/support/side.h"

namespace rpma::test {
namespace {

ibv_context* DeviceAt(const std::string& address) {
  ibv_context* context = nullptr;
  EXPECT_THAT(rpma_utils_get_ibv_context(address.c_str(),
                                         RPMA_UTIL_IBV_CONTEXT_LOCAL, &context),
              IsOk());
  return context;
}

ibv_context* ServersDeviceAt(const std::string& address) {
  const ServersSide side;
  return DeviceAt(address);
}

}  // namespace

World::World(const WorldOptions& options)
    : client_address_(options.client_address),
      server_address_(options.server_address),
      client_context_((Emulate(options), DeviceAt(client_address_))),
      server_context_(ServersDeviceAt(server_address_)),
      next_port_(options.first_port),
      // Processes that met stay linked: what that takes is not the test's.
      census_((options.shared ? Meet() : void(), fabric())),
      client_peer_(NewPeer(client_context_)),
      server_peer_(NewPeer(server_context_)) {}

void World::Emulate(const WorldOptions& options) {
  if (!options.emulated) return;
  emulation_.emplace(options.profile, options.options);
  if (options.extend) options.extend(*emulation_);
}

// A request and its rejection come after all that was sent before them.
void World::Meet() {
  const std::string port = NewPort();
  const Peer client = NewClientPeer();
  const Peer server = NewServerPeer();
  Endpoint endpoint;
  EXPECT_THAT(rpma_ep_listen(server, server_address(), port.c_str(),
                             endpoint.address()),
              IsOk());
  ConnReq request;
  EXPECT_THAT(rpma_conn_req_new(client, server_address(), port.c_str(), nullptr,
                                request.address()),
              IsOk());
  const Conn conn = Connect(std::move(request));
  endpoint.reset();
  EXPECT_EQ(NextEvent(conn), RPMA_CONN_REJECTED);
}

Peer World::NewPeer(ibv_context* context) {
  Peer peer;
  EXPECT_THAT(rpma_peer_new(context, peer.address()), IsOk());
  return peer;
}

std::string World::NewPort() { return std::to_string(next_port_++); }

Endpoint World::Listen(const std::string& port) {
  Endpoint endpoint;
  EXPECT_THAT(rpma_ep_listen(server_peer_, server_address(), port.c_str(),
                             endpoint.address()),
              IsOk());
  return endpoint;
}

ConnReq World::NewRequest(const std::string& port, const rpma_conn_cfg* cfg) {
  ConnReq request;
  EXPECT_THAT(rpma_conn_req_new(client_peer_, server_address(), port.c_str(),
                                cfg, request.address()),
              IsOk());
  return request;
}

ConnReq World::NextRequest(rpma_ep* endpoint, const rpma_conn_cfg* cfg) {
  ConnReq request;
  if (BecomesReadable(EndpointFd(endpoint))) {
    EXPECT_THAT(rpma_ep_next_conn_req(endpoint, cfg, request.address()),
                IsOk());
  } else {
    ADD_FAILURE() << "no connection request came";
  }
  return request;
}

Pair World::ConnectedPair(const PairOptions& options) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  return ConnectedPair(endpoint, port, options);
}

Pair World::ConnectedPair(rpma_ep* endpoint, const std::string& port,
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

}  // namespace rpma::test
