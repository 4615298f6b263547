// SPDX-License-Identifier: BSD-3-Clause
// Establishing connections: REQ, REP, RTU and REJ.

#include <algorithm>
#include <cerrno>

#include "emulator/cm_impl.h"
#include "emulator/device.h"
#include "emulator/fabric.h"

namespace rpma::emu {
namespace {

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

int MakeReady(QueuePair& qp, const QpRef& remote,
              const ConnectionAttributes& attributes) {
  const int error = qp.ToReadyToReceive(remote, attributes);
  return error != 0 ? error : qp.ToReadyToSend();
}

// That of the other end: the one that its id has now, if the id is there.
QpRef RemoteQp(const CmId& id) {
  const std::shared_ptr<CmId> peer = id.peer.lock();
  return IsGone(peer) ? id.remote_qp : QpOf(*peer);
}

}  // namespace

int ConnectionManager::Connect(rdma_cm_id* handle,
                               const rdma_conn_param& param) {
  CmId& id = IdOf(handle);
  Impl::Lock lock(impl_->mutex);
  if (id.state != CmState::kRouteResolved) return WrongState(id);
  if (id.channel == nullptr || id.queue_pair == nullptr ||
      !IsValid(id, param, id.device->profile().private_data.connect)) {
    return EINVAL;
  }
  SetDepths(id, param, UINT8_MAX, UINT8_MAX);
  id.retry_count = std::min(param.retry_count, kMaxRetries);
  id.sent = CmParam(param);
  id.state = CmState::kConnectSent;
  impl_->SendRequest(id);
  impl_->Deliver(lock);
  return 0;
}

void ConnectionManager::Impl::SendRequest(CmId& from) {
  from.remote = fabric.DeviceOwning(from.route.addr.dst_addr);
  CmMessage* const message = SendToPeer(CmMessageKind::kReq, from);
  if (message != nullptr) message->param = from.sent;
}

void ConnectionManager::Impl::SendResponse(CmId& from) {
  CmMessage* const message = SendToPeer(CmMessageKind::kRep, from);
  if (message != nullptr) message->param = from.sent;
}

int ConnectionManager::Accept(rdma_cm_id* handle,
                              const rdma_conn_param& param) {
  const std::shared_ptr<CmId> id = IdOf(handle).shared_from_this();
  std::shared_ptr<QueuePair> qp;
  QpRef remote;
  ConnectionAttributes attributes;
  ConnectionAttributes remote_attributes;
  const bool iwarp = id->device != nullptr && id->device->profile().iwarp;
  {
    const std::lock_guard lock(impl_->mutex);
    if (id->state != CmState::kRequestReceived) return WrongState(*id);
    qp = id->queue_pair;
    remote = RemoteQp(*id);
    if (id->channel == nullptr || qp == nullptr || !remote ||
        !IsValid(*id, param, id->device->profile().private_data.accept)) {
      return EINVAL;
    }
    SetDepths(*id, param, id->responder_resources, id->initiator_depth);
    attributes = AttributesOf(*id);
    remote_attributes = {
        .max_rd_atomic = id->responder_resources,
        .max_dest_rd_atomic = id->initiator_depth,
        .retry_count = id->retry_count,
        .rnr_retry = std::min(param.rnr_retry_count, kMaxRetries)};
  }
  int error = MakeReady(*qp, remote, attributes);
  if (error == 0 && iwarp && remote.near != nullptr) {
    error = MakeReady(*remote.near, qp, remote_attributes);
  }
  {
    Impl::Lock lock(impl_->mutex);
    if (error == 0 && id->state == CmState::kRequestReceived) {
      impl_->AcceptRequest(lock, id, param);
      return 0;
    }
  }
  qp->ToError();
  return error != 0 ? error : EINVAL;
}

void ConnectionManager::Impl::AcceptRequest(Lock& lock,
                                            const std::shared_ptr<CmId>& id,
                                            const rdma_conn_param& param) {
  const bool iwarp = id->device->profile().iwarp;
  id->sent = CmParam(param);
  id->state = iwarp ? CmState::kConnected : CmState::kAccepted;
  id->drops_events = false;
  SendResponse(*id);
  Deliver(lock);
  if (!iwarp || id->state != CmState::kConnected) return;
  Post(*id, RDMA_CM_EVENT_ESTABLISHED);
  // Connections of iWARP end with their queue pairs, and one may have failed
  // before there was a connection that QueuePairFailed() could end.
  for (const auto& qp : {id->queue_pair, RemoteQp(*id).near}) {
    if (qp == nullptr || qp->State() != IBV_QPS_ERR) continue;
    Terminate(lock, id);
    return;
  }
}

int ConnectionManager::Impl::FinishConnect(CmId& id) {
  std::shared_ptr<QueuePair> qp;
  QpRef remote;
  ConnectionAttributes attributes;
  {
    const std::lock_guard lock(mutex);
    qp = id.queue_pair;
    remote = RemoteQp(id);
    attributes = AttributesOf(id);
  }
  int error =
      qp == nullptr || !remote ? EINVAL : MakeReady(*qp, remote, attributes);
  {
    Lock lock(mutex);
    const bool is_waiting = id.state == CmState::kResponseReceived;
    if (error == 0 && is_waiting) {
      id.state = CmState::kConnected;
      SendToPeer(CmMessageKind::kRtu, id);
      Deliver(lock);
      return 0;
    }
    id.connect_error = true;
    if (is_waiting) SendReject(id, kRejConsumerDefined);
    Deliver(lock);
  }
  if (qp != nullptr) qp->ToError();
  return error != 0 ? error : ECONNRESET;
}

bool ConnectionManager::Impl::GetReady(Lock& lock,
                                       const std::shared_ptr<CmId>& id) {
  const std::shared_ptr<QueuePair> qp = id->queue_pair;
  const QpRef remote = id->remote_qp;
  const ConnectionAttributes attributes = AttributesOf(*id);
  lock.unlock();
  const bool is_ready =
      qp != nullptr && MakeReady(*qp, remote, attributes) == 0;
  lock.lock();
  if (id->state != CmState::kConnectSent) return false;
  if (is_ready) return true;
  SendReject(*id, kRejConsumerDefined);
  Post(*id, RDMA_CM_EVENT_REJECTED, -ECONNRESET);
  return false;
}

void ConnectionManager::Impl::SendReject(CmId& from, int reason,
                                         ConsumerData data) {
  StopTimer(from);
  from.state = CmState::kClosed;
  if (from.peer.expired()) return;
  CmMessage* const message = SendToPeer(CmMessageKind::kRej, from);
  if (message == nullptr) return;
  rdma_conn_param param{};
  param.private_data = data.data;
  param.private_data_len = data.length;
  message->param = CmParam(param);
  message->reason = reason;
}

int ConnectionManager::Reject(rdma_cm_id* handle, const void* private_data,
                              uint8_t length) {
  CmId& id = IdOf(handle);
  Impl::Lock lock(impl_->mutex);
  if (id.state != CmState::kRequestReceived) return WrongState(id);
  if (length > id.device->profile().private_data.reject) return EINVAL;
  impl_->SendReject(id, kRejConsumerDefined, {private_data, length});
  impl_->Deliver(lock);
  return 0;
}

}  // namespace rpma::emu
