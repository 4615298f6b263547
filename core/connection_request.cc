// SPDX-License-Identifier: BSD-3-Clause

#include "core/connection_request.h"

#include <utility>

#include "core/address.h"
#include "core/log.h"

namespace rpma {
namespace {

Rc ResolveRoute(Transport& transport, rdma_cm_id* id, const Address& address,
                int timeout_ms) {
  const Errno error = transport.ResolveRoute(id, timeout_ms);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR,
             "rdma_resolve_route(node=%s, port=%s, timeout_ms=%d) failed: %s",
             address.node(), address.service(), timeout_ms, log::Reason(error));
    return Rc::kProvider;
  }
  return Rc::kOk;
}

}  // namespace

ConnectionRequest::ConnectionRequest(const Peer& peer, CmId id)
    : end_(std::make_unique<ConnectionEnd>(peer, std::move(id))) {}

Rc ConnectionRequest::Outgoing(const Peer& peer, const char* node,
                               const char* service, const ConnCfg& cfg,
                               std::unique_ptr<ConnectionRequest>* out) {
  Rc rc = cfg.Check();
  if (rc != Rc::kOk) return rc;
  Transport& transport = peer.transport();
  Address address;
  rc = Address::Lookup(transport, Address::Side::kRemote, node, service,
                       &address);
  if (rc != Rc::kOk) return rc;

  OwnedId new_id;
  rc = CreateId(transport, nullptr, &new_id);
  if (rc != Rc::kOk) return rc;
  CmId id(transport, std::move(new_id), CmId::Role::kActive);
  const int timeout_ms = cfg.timeout_ms.get();
  rc = address.Resolve(id.get(), timeout_ms);
  if (rc != Rc::kOk) return rc;
  rc = ResolveRoute(transport, id.get(), address, timeout_ms);
  if (rc != Rc::kOk) return rc;

  std::unique_ptr<ConnectionRequest> request(
      new ConnectionRequest(peer, std::move(id)));
  rc = request->end_->CreateQueues(cfg);
  if (rc == Rc::kOk) *out = std::move(request);
  return rc;
}

Rc ConnectionRequest::Incoming(const Peer& peer, CmId id, OwnedCmEvent event,
                               const ConnCfg& cfg,
                               std::unique_ptr<ConnectionRequest>* out) {
  std::unique_ptr<ConnectionRequest> request(
      new ConnectionRequest(peer, std::move(id)));
  ConnectionEnd& end = *request->end_;
  end.private_data().StoreFirst(event->param.conn);
  Rc rc = event.Destroy();
  if (rc != Rc::kOk) return rc;
  rc = end.MoveToOwnChannel();
  if (rc != Rc::kOk) return rc;
  rc = end.CreateQueues(cfg);
  if (rc == Rc::kOk) *out = std::move(request);
  return rc;
}

Rc ConnectionRequest::Connect(std::unique_ptr<ConnectionRequest> request,
                              const rpma_conn_private_data* pdata,
                              std::unique_ptr<Connection>* out) {
  return Connection::Establish(std::move(request->end_), pdata, out);
}

Rc ConnectionRequest::Close() {
  const Rc rc = end_->CloseQueuePair();
  return FirstError(rc, end_->CloseRest());
}

}  // namespace rpma
