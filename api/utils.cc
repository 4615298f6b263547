// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_utils_*: devices, and names of connection events.

#include <librpma.h>

#include "api/boundary.h"
#include "api/process.h"
#include "core/address.h"
#include "core/conn_event.h"
#include "core/device.h"

namespace {

bool IsContextType(int type) {
  return type == RPMA_UTIL_IBV_CONTEXT_LOCAL ||
         type == RPMA_UTIL_IBV_CONTEXT_REMOTE;
}

}  // namespace

int rpma_utils_get_ibv_context(const char* addr,
                               enum rpma_util_ibv_context_type type,
                               struct ibv_context** ibv_ctx_ptr) {
  RPMA_REQUIRE(addr != nullptr);
  RPMA_REQUIRE(ibv_ctx_ptr != nullptr);
  RPMA_REQUIRE(IsContextType(rpma::NumberOf(type)));
  return rpma::Guarded([&] {
    rpma::Transport* transport = nullptr;
    const rpma::Rc rc = rpma::CurrentTransport(&transport);
    if (rc != rpma::Rc::kOk) return rc;
    const auto side = type == RPMA_UTIL_IBV_CONTEXT_LOCAL
                          ? rpma::Address::Side::kLocal
                          : rpma::Address::Side::kRemote;
    return rpma::FindDevice(*transport, side, addr, ibv_ctx_ptr);
  });
}

int rpma_utils_ibv_context_is_odp_capable(struct ibv_context* ibv_ctx,
                                          int* is_odp_capable) {
  RPMA_REQUIRE(ibv_ctx != nullptr);
  RPMA_REQUIRE(is_odp_capable != nullptr);
  rpma::Transport* transport = nullptr;
  rpma::Rc rc = rpma::TransportOf(ibv_ctx, &transport);
  if (rc != rpma::Rc::kOk) return rpma::ToC(rc);
  rpma::DeviceCaps caps;
  rc = rpma::QueryCaps(*transport, ibv_ctx, &caps);
  if (rc == rpma::Rc::kOk) *is_odp_capable = caps.odp_rc_read_write ? 1 : 0;
  return rpma::ToC(rc);
}

const char* rpma_utils_conn_event_2str(enum rpma_conn_event conn_event) {
  return rpma::ConnEventName(rpma::NumberOf(conn_event));
}
