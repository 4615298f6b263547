// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_ep_*: listening.

#include <memory>

#include "api/boundary.h"
#include "api/opaque.h"
#include "core/endpoint.h"

int rpma_ep_listen(struct rpma_peer* peer, const char* addr, const char* port,
                   struct rpma_ep** ep_ptr) {
  RPMA_REQUIRE(peer != nullptr);
  RPMA_REQUIRE(addr != nullptr);
  RPMA_REQUIRE(port != nullptr);
  RPMA_REQUIRE(ep_ptr != nullptr);
  return rpma::Create(ep_ptr, [&](std::unique_ptr<rpma::Endpoint>* ep) {
    return rpma::Endpoint::Listen(*rpma::FromC(peer), addr, port, ep);
  });
}

int rpma_ep_shutdown(struct rpma_ep** ep_ptr) {
  RPMA_REQUIRE(ep_ptr != nullptr);
  return rpma::DeleteIfClosed(ep_ptr);
}

int rpma_ep_get_fd(const struct rpma_ep* ep, int* fd) {
  RPMA_REQUIRE(ep != nullptr);
  RPMA_REQUIRE(fd != nullptr);
  *fd = rpma::FromC(ep)->fd();
  return 0;
}

int rpma_ep_next_conn_req(struct rpma_ep* ep, const struct rpma_conn_cfg* cfg,
                          struct rpma_conn_req** req_ptr) {
  RPMA_REQUIRE(ep != nullptr);
  RPMA_REQUIRE(req_ptr != nullptr);
  return rpma::Create(
      req_ptr, [&](std::unique_ptr<rpma::ConnectionRequest>* request) {
        return rpma::FromC(ep)->NextRequest(rpma::CfgOrDefault(cfg), request);
      });
}
