// SPDX-License-Identifier: BSD-3-Clause

#include "core/endpoint.h"

#include <utility>

#include "core/address.h"
#include "core/cm_event.h"
#include "core/cm_id.h"
#include "core/log.h"

namespace rpma {
namespace {

// librdmacm replaces 0 by the largest backlog of the system.
constexpr int kBacklog = 0;

}  // namespace

Rc Endpoint::Listen(const Peer& peer, const char* node, const char* service,
                    std::unique_ptr<Endpoint>* out) {
  Transport& transport = peer.transport();
  std::unique_ptr<Endpoint> endpoint(new Endpoint(peer));
  Address address;
  Rc rc = Address::Lookup(transport, Address::Side::kLocal, node, service,
                          &address);
  if (rc != Rc::kOk) return rc;
  rc = CreateEventChannel(transport, &endpoint->channel_);
  if (rc != Rc::kOk) return rc;
  rc = CreateId(transport, endpoint->channel_.get(), &endpoint->id_);
  if (rc != Rc::kOk) return rc;
  rc = address.Bind(endpoint->id_.get());
  if (rc != Rc::kOk) return rc;

  const Errno error = transport.Listen(endpoint->id_.get(), kBacklog);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "rdma_listen(node=%s, port=%s) failed: %s", node, service,
             log::Reason(error));
    return Rc::kProvider;
  }
  *out = std::move(endpoint);
  return Rc::kOk;
}

Rc Endpoint::Close() {
  const Rc rc = id_.Destroy();
  return rc == Rc::kOk ? channel_.Destroy() : rc;
}

Rc Endpoint::NextRequest(const ConnCfg& cfg,
                         std::unique_ptr<ConnectionRequest>* out) {
  Rc rc = cfg.Check();
  if (rc != Rc::kOk) return rc;
  OwnedCmEvent event;
  Transport& transport = peer_.transport();
  rc = NextCmEvent(transport, channel_.get(), &event);
  if (rc != Rc::kOk) return rc;
  if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
    RPMA_LOG(ERROR, "unexpected event of an endpoint: %s, status %d",
             CmEventName(event->event), event->status);
    return Rc::kInval;
  }
  CmId id(transport, OwnedId(transport, event->id), CmId::Role::kPassive);
  return ConnectionRequest::Incoming(peer_, std::move(id), std::move(event),
                                     cfg, out);
}

}  // namespace rpma
