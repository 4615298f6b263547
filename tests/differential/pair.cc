// SPDX-License-Identifier: BSD-3-Clause

#include "tests/differential/pair.h"

#include <atomic>
#include <string>
#include <vector>

namespace rpma::differential {
namespace {

std::string NextPort() {
  static std::atomic<int> port = 7300;
  return std::to_string(++port);
}

rpma_conn_cfg* Configure(const Sizes& sizes) {
  rpma_conn_cfg* cfg = nullptr;
  Must(rpma_conn_cfg_new(&cfg), "rpma_conn_cfg_new");
  rpma_conn_cfg_set_cq_size(cfg, sizes.cq);
  rpma_conn_cfg_set_sq_size(cfg, sizes.sq);
  rpma_conn_cfg_set_rq_size(cfg, sizes.rq);
  if (sizes.srq != nullptr) rpma_conn_cfg_set_srq(cfg, sizes.srq);
  return cfg;
}

int ConnectWith(rpma_conn_req* request, uint8_t length, Side* side) {
  std::vector<char> bytes(length, 'x');
  const rpma_conn_private_data data = {bytes.data(), length};
  rpma_conn* connection = nullptr;
  const int result = rpma_conn_req_connect(
      &request, length > 0 ? &data : nullptr, &connection);
  if (result == 0) side->Adopt(connection);
  return result;
}

}  // namespace

Pair::Pair(World* world)
    : client("client", world),
      server("server", world),
      port(NextPort()),
      world_(world) {
  client.Learn(server);
  server.Learn(client);
  Must(rpma_ep_listen(server.peer(), world->address, port.c_str(), &endpoint),
       "rpma_ep_listen");
}

Pair::~Pair() { Must(rpma_ep_shutdown(&endpoint), "rpma_ep_shutdown"); }

int Pair::Request(uint8_t private_data, const Sizes& sizes) {
  rpma_conn_cfg* cfg = Configure(sizes);
  rpma_conn_req* request = nullptr;
  Must(rpma_conn_req_new(client.peer(), world_->address, port.c_str(), cfg,
                         &request),
       "rpma_conn_req_new");
  rpma_conn_cfg_delete(&cfg);
  return client.Result("request", ConnectWith(request, private_data, &client));
}

rpma_conn_req* Pair::Incoming(const Sizes& sizes) {
  rpma_conn_cfg* cfg = Configure(sizes);
  rpma_conn_req* request = nullptr;
  Must(rpma_ep_next_conn_req(endpoint, cfg, &request), "rpma_ep_next_conn_req");
  rpma_conn_cfg_delete(&cfg);
  return request;
}

int Pair::Accept(rpma_conn_req* request, uint8_t private_data) {
  return server.Result("accept", ConnectWith(request, private_data, &server));
}

void Pair::Connect(const Sizes& client_sizes, const Sizes& server_sizes) {
  Request(0, client_sizes);
  Accept(Incoming(server_sizes), 0);
  client.Event();
  server.Event();
}

void Pair::End(int lost_by_client, int lost_by_server) {
  client.Disconnect();
  server.Event();
  server.Disconnect();
  client.Event();
  client.Rest(lost_by_client);
  server.Rest(lost_by_server);
}

void Pair::EndAfterError(int lost_by_client, int lost_by_server) {
  if (!world_->iwarp) return End(lost_by_client, lost_by_server);
  client.Event();
  server.Event();
  client.Disconnect();
  server.Disconnect();
  client.Rest(lost_by_client);
  server.Rest(lost_by_server);
}

std::string Describe(const rpma_conn_private_data& data) {
  const char* const bytes = static_cast<const char*>(data.ptr);
  int not_zero = 0;
  for (int i = 0; i < data.len; ++i) not_zero += bytes[i] != 0;
  return std::to_string(data.len) + " bytes of private data, " +
         std::to_string(not_zero) + " of them not 0" +
         (bytes == nullptr ? ", at NULL" : "");
}

}  // namespace rpma::differential
