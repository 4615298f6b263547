// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_peer_*: protection domains on a device.

#include "core/peer.h"

#include <memory>

#include "api/boundary.h"
#include "api/opaque.h"
#include "api/process.h"

int rpma_peer_new(struct ibv_context* ibv_ctx, struct rpma_peer** peer_ptr) {
  RPMA_REQUIRE(ibv_ctx != nullptr);
  RPMA_REQUIRE(peer_ptr != nullptr);
  return rpma::Create(peer_ptr, [&](std::unique_ptr<rpma::Peer>* peer) {
    rpma::Transport* transport = nullptr;
    const rpma::Rc rc = rpma::TransportOf(ibv_ctx, &transport);
    return rc == rpma::Rc::kOk ? rpma::Peer::Create(*transport, ibv_ctx, peer)
                               : rc;
  });
}

int rpma_peer_delete(struct rpma_peer** peer_ptr) {
  RPMA_REQUIRE(peer_ptr != nullptr);
  return rpma::DeleteIfClosed(peer_ptr);
}
