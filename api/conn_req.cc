// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_conn_req_*: connections to be.

#include <memory>
#include <utility>

#include "api/boundary.h"
#include "api/opaque.h"
#include "core/connection_request.h"

int rpma_conn_req_new(struct rpma_peer* peer, const char* addr,
                      const char* port, const struct rpma_conn_cfg* cfg,
                      struct rpma_conn_req** req_ptr) {
  RPMA_REQUIRE(peer != nullptr);
  RPMA_REQUIRE(addr != nullptr);
  RPMA_REQUIRE(port != nullptr);
  RPMA_REQUIRE(req_ptr != nullptr);
  return rpma::Create(
      req_ptr, [&](std::unique_ptr<rpma::ConnectionRequest>* request) {
        return rpma::ConnectionRequest::Outgoing(
            *rpma::FromC(peer), addr, port, rpma::CfgOrDefault(cfg), request);
      });
}

int rpma_conn_req_delete(struct rpma_conn_req** req_ptr) {
  RPMA_REQUIRE(req_ptr != nullptr);
  return rpma::CloseAndDelete(req_ptr);
}

int rpma_conn_req_connect(struct rpma_conn_req** req_ptr,
                          const struct rpma_conn_private_data* pdata,
                          struct rpma_conn** conn_ptr) {
  RPMA_REQUIRE(req_ptr != nullptr);
  RPMA_REQUIRE(*req_ptr != nullptr);
  // From here on the request is used up, whatever happens.
  auto request = rpma::Take(req_ptr);
  RPMA_REQUIRE(conn_ptr != nullptr);
  RPMA_REQUIRE(pdata == nullptr || (pdata->ptr != nullptr && pdata->len > 0));
  return rpma::Create(conn_ptr, [&](std::unique_ptr<rpma::Connection>* conn) {
    return rpma::ConnectionRequest::Connect(std::move(request), pdata, conn);
  });
}

int rpma_conn_req_recv(struct rpma_conn_req* req, struct rpma_mr_local* dst,
                       size_t offset, size_t len, const void* op_context) {
  RPMA_REQUIRE(req != nullptr);
  RPMA_REQUIRE(dst != nullptr);
  return rpma::ToC(
      rpma::FromC(req)->Recv(rpma::FromC(dst), offset, len, op_context));
}

int rpma_conn_req_get_private_data(const struct rpma_conn_req* req,
                                   struct rpma_conn_private_data* pdata) {
  RPMA_REQUIRE(req != nullptr);
  RPMA_REQUIRE(pdata != nullptr);
  *pdata = rpma::FromC(req)->private_data();
  return 0;
}
