// SPDX-License-Identifier: BSD-3-Clause
// Establishing connections: REQ, REP, RTU and REJ.

#include <sys/syslog.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>

#include "emulator/addresses.h"
#include "emulator/cm_impl.h"
#include "emulator/device.h"
#include "emulator/fabric.h"

namespace rpma::emu {
namespace {

ConsumerData DataOf(const rdma_conn_param& param) {
  return {param.private_data, param.private_data_len};
}

uint8_t Padded(const CmId& receiver, uint8_t limit) {
  return receiver.device->profile().private_data.padded ? limit : uint8_t{0};
}

// The kernel's cm.c answers with a reason, the iWARP drivers with an errno.
int RejectStatus(const CmId& receiver, int reason) {
  if (!receiver.device->profile().iwarp) return reason;
  return reason == kRejInvalidServiceId ? -ECONNREFUSED : -ECONNRESET;
}

constexpr uint8_t kMaxRetries = 7;  // a field of 3 bits

// librdmacm's ucma_valid_param(): depths are within the device's, or 255.
bool IsValid(const CmId& id, const rdma_conn_param& param, uint8_t max_data) {
  const DeviceLimits& limits = id.device->profile().limits;
  return param.private_data_len <= max_data &&
         (param.responder_resources == RDMA_MAX_RESP_RES ||
          param.responder_resources <= limits.max_qp_rd_atom) &&
         (param.initiator_depth == RDMA_MAX_INIT_DEPTH ||
          param.initiator_depth <= limits.max_qp_init_rd_atom);
}

// What 255 stands for: the most that the device and, in `offered`, the peer
// allow.
void SetDepths(CmId& id, const rdma_conn_param& param,
               uint8_t offered_resources, uint8_t offered_depth) {
  const DeviceLimits& limits = id.device->profile().limits;
  id.responder_resources =
      param.responder_resources == RDMA_MAX_RESP_RES
          ? std::min(limits.max_qp_rd_atom, offered_resources)
          : param.responder_resources;
  id.initiator_depth = param.initiator_depth == RDMA_MAX_INIT_DEPTH
                           ? std::min(limits.max_qp_init_rd_atom, offered_depth)
                           : param.initiator_depth;
}

ConnectionAttributes AttributesOf(const CmId& id) {
  return {.max_rd_atomic = id.initiator_depth,
          .max_dest_rd_atomic = id.responder_resources,
          .retry_count = id.retry_count,
          .rnr_retry = id.rnr_retry_count};
}

int MakeReady(QueuePair& qp, const std::shared_ptr<QueuePair>& remote,
              const ConnectionAttributes& attributes) {
  const int error = qp.ToReadyToReceive(remote, attributes);
  return error != 0 ? error : qp.ToReadyToSend();
}

// Describes to `receiver` the connection as it sees it.
void Describe(CmEvent& event, const CmId& receiver, const CmId& sender,
              const rdma_conn_param& param) {
  rdma_conn_param& conn = event.param.conn;
  conn.responder_resources = receiver.responder_resources;
  conn.initiator_depth = receiver.initiator_depth;
  conn.retry_count = receiver.retry_count;
  conn.rnr_retry_count = receiver.rnr_retry_count;
  conn.flow_control = param.flow_control;
  conn.srq = sender.queue_pair->srq != nullptr;
  conn.qp_num = sender.queue_pair->qp_num;
}

}  // namespace

void ConnectionManager::Impl::SendRequest(CmId& from, CmId& listener,
                                          Device& device,
                                          const rdma_conn_param& param) {
  listener.spare.emplace_back();
  CmId& to = *NewId(nullptr);
  to.context = listener.context;
  to.state = CmState::kRequestReceived;
  to.drops_events = true;
  to.device = &device;
  to.verbs = device.context();
  to.port_num = 1;
  to.route.addr.src_storage = from.route.addr.dst_storage;
  to.route.addr.dst_storage = from.route.addr.src_storage;
  to.responder_resources = from.initiator_depth;
  to.initiator_depth = from.responder_resources;
  to.retry_count = from.retry_count;
  to.rnr_retry_count = std::min(param.rnr_retry_count, kMaxRetries);
  to.peer = &from;
  from.peer = &to;
  from.state = CmState::kConnectSent;
  ++listener.waiting_requests;
  CmEvent* const event =
      Post(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, DataOf(param),
           Padded(to, device.profile().private_data.connect));
  event->id = &to;
  event->listen_id = &listener;
  Describe(*event, to, from, param);
}

int ConnectionManager::Connect(rdma_cm_id* handle,
                               const rdma_conn_param& param) try {
  CmId& id = IdOf(handle);
  std::string refusal;
  {
    const std::lock_guard lock(impl_->mutex);
    if (id.state != CmState::kRouteResolved || id.channel == nullptr ||
        id.queue_pair == nullptr ||
        !IsValid(id, param, id.device->profile().private_data.connect)) {
      return EINVAL;
    }
    SetDepths(id, param, UINT8_MAX, UINT8_MAX);
    id.retry_count = std::min(param.retry_count, kMaxRetries);
    const sockaddr& address = id.route.addr.dst_addr;
    Device* const device = impl_->fabric.DeviceOwning(address);
    if (device == nullptr) {
      id.state = CmState::kConnectSent;
      impl_->StartTimer(id, impl_->CmTimeout(id));
      return 0;
    }
    const bool iwarp = device->profile().iwarp;
    CmId* const listener = iwarp == id.device->profile().iwarp
                               ? impl_->ports.FindListener(address, iwarp)
                               : nullptr;
    if (listener != nullptr && listener->waiting_requests < listener->backlog) {
      impl_->SendRequest(id, *listener, *device, param);
      return 0;
    }
    refusal = "connection to " + ToText(address) + " rejected: " +
              (listener == nullptr ? "no CM id listens there"
                                   : "the listener's backlog is full");
    id.state = CmState::kClosed;
    impl_->Post(id, RDMA_CM_EVENT_REJECTED,
                RejectStatus(id, listener == nullptr ? kRejInvalidServiceId
                                                     : kRejConsumerDefined),
                {}, Padded(id, id.device->profile().private_data.reject));
  }
  impl_->fabric.Log(LOG_INFO, refusal.c_str());
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

void ConnectionManager::Impl::SendResponse(CmId& from,
                                           const rdma_conn_param& param) {
  CmId& to = *from.peer;
  from.state = CmState::kAccepted;
  from.drops_events = false;
  to.state = CmState::kResponseReceived;
  CmEvent* const event =
      Post(to, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, DataOf(param),
           Padded(to, to.device->profile().private_data.accept));
  Describe(*event, to, from, param);
}

void ConnectionManager::Impl::Establish(CmId& passive,
                                        const rdma_conn_param& param) {
  CmId& active = *passive.peer;
  passive.state = active.state = CmState::kConnected;
  passive.drops_events = false;
  CmEvent* const event =
      Post(active, RDMA_CM_EVENT_ESTABLISHED, 0, DataOf(param),
           Padded(active, active.device->profile().private_data.accept));
  Describe(*event, active, passive, param);
  Post(passive, RDMA_CM_EVENT_ESTABLISHED);
}

int ConnectionManager::Accept(rdma_cm_id* handle,
                              const rdma_conn_param& param) {
  const std::shared_ptr<CmId> id = IdOf(handle).shared_from_this();
  std::shared_ptr<QueuePair> qp;
  std::shared_ptr<QueuePair> remote;
  ConnectionAttributes attributes;
  ConnectionAttributes remote_attributes;
  const bool iwarp = id->device != nullptr && id->device->profile().iwarp;
  {
    const std::lock_guard lock(impl_->mutex);
    if (id->state != CmState::kRequestReceived || id->channel == nullptr ||
        id->queue_pair == nullptr || id->peer->queue_pair == nullptr ||
        !IsValid(*id, param, id->device->profile().private_data.accept)) {
      return EINVAL;
    }
    SetDepths(*id, param, id->responder_resources, id->initiator_depth);
    CmId& peer = *id->peer;
    peer.responder_resources = id->initiator_depth;
    peer.initiator_depth = id->responder_resources;
    peer.rnr_retry_count = std::min(param.rnr_retry_count, kMaxRetries);
    qp = id->queue_pair;
    remote = peer.queue_pair;
    attributes = AttributesOf(*id);
    remote_attributes = AttributesOf(peer);
  }
  int error = MakeReady(*qp, remote, attributes);
  if (error == 0 && iwarp) error = MakeReady(*remote, qp, remote_attributes);
  {
    std::unique_lock lock(impl_->mutex);
    if (error == 0 && id->state == CmState::kRequestReceived) {
      iwarp ? impl_->Establish(*id, param) : impl_->SendResponse(*id, param);
      // Connections of iWARP end with their queue pairs, and one may have
      // failed before there was a connection that QueuePairFailed() could end.
      if (iwarp &&
          (qp->State() == IBV_QPS_ERR || remote->State() == IBV_QPS_ERR)) {
        impl_->Terminate(lock, id);
      }
      return 0;
    }
  }
  qp->ToError();
  return error != 0 ? error : EINVAL;
}

int ConnectionManager::Impl::FinishConnect(CmId& id) {
  std::shared_ptr<QueuePair> qp;
  std::shared_ptr<QueuePair> remote;
  ConnectionAttributes attributes;
  {
    const std::lock_guard lock(mutex);
    qp = id.queue_pair;
    if (id.has_peer()) remote = id.peer->queue_pair;
    attributes = AttributesOf(id);
  }
  int error = qp == nullptr || remote == nullptr
                  ? EINVAL
                  : MakeReady(*qp, remote, attributes);
  {
    const std::lock_guard lock(mutex);
    const bool is_waiting = id.state == CmState::kResponseReceived;
    if (error == 0 && is_waiting) {
      id.state = id.peer->state = CmState::kConnected;
      Post(*id.peer, RDMA_CM_EVENT_ESTABLISHED);
      return 0;
    }
    id.connect_error = true;
    if (is_waiting) SendReject(id, kRejConsumerDefined);
  }
  if (qp != nullptr) qp->ToError();
  return error != 0 ? error : ECONNRESET;
}

void ConnectionManager::Impl::SendReject(CmId& from, int reason,
                                         ConsumerData data) {
  from.state = CmState::kClosed;
  CmId* const to = Detach(from);
  if (to == nullptr) return;
  to->state = CmState::kClosed;
  Post(*to, RDMA_CM_EVENT_REJECTED, RejectStatus(*to, reason), data,
       Padded(*to, to->device->profile().private_data.reject));
}

int ConnectionManager::Reject(rdma_cm_id* handle, const void* private_data,
                              uint8_t length) {
  CmId& id = IdOf(handle);
  const std::lock_guard lock(impl_->mutex);
  if (id.state != CmState::kRequestReceived ||
      length > id.device->profile().private_data.reject) {
    return EINVAL;
  }
  impl_->SendReject(id, kRejConsumerDefined, {private_data, length});
  return 0;
}

}  // namespace rpma::emu
