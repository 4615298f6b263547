// SPDX-License-Identifier: BSD-3-Clause
// What a message does where it arrives, as in the kernel's cm.c.

#include <algorithm>
#include <cerrno>
#include <new>

#include "emulator/cm_impl.h"
#include "emulator/device.h"
#include "emulator/fabric.h"

namespace rpma::emu {
namespace {

uint8_t Padded(const CmId& receiver, uint8_t limit) {
  return receiver.device->profile().private_data.padded ? limit : uint8_t{0};
}

bool IsIwarp(const CmId& id) {
  return id.far.has_value() ? id.far->iwarp : id.device->profile().iwarp;
}

const char* WhyNobodyListens(const CmId& from, const Device& receiver) {
  if (IsIwarp(from) == receiver.profile().iwarp) {
    return "rejected: no CM id listens there";
  }
  return receiver.profile().iwarp
             ? "rejected: the device there is an iWARP one, the other is not"
             : "rejected: it comes from an iWARP device, this one is not";
}

ConsumerData DataOf(const rdma_conn_param& param) {
  return {param.private_data, param.private_data_len};
}

// The kernel's cm.c tells the reason, the iWARP drivers an errno.
int RejectStatus(const CmId& receiver, int reason) {
  if (!receiver.device->profile().iwarp) return reason;
  return reason == kRejInvalidServiceId ? -ECONNREFUSED : -ECONNRESET;
}

// Describes to `receiver` the connection as it sees it.
void Describe(CmEvent& event, const CmId& receiver, const QpRef& sender,
              const rdma_conn_param& param) {
  rdma_conn_param& conn = event.param.conn;
  conn.responder_resources = receiver.responder_resources;
  conn.initiator_depth = receiver.initiator_depth;
  conn.retry_count = receiver.retry_count;
  conn.rnr_retry_count = receiver.rnr_retry_count;
  conn.flow_control = param.flow_control;
  if (!sender) return;
  conn.srq = sender.has_srq();
  conn.qp_num = sender.qp_num();
}

// What the passive end's REP tells the active end.
void Negotiate(CmId& active, const CmId& passive,
               const rdma_conn_param& param) {
  active.responder_resources = passive.initiator_depth;
  active.initiator_depth = passive.responder_resources;
  active.rnr_retry_count = std::min(param.rnr_retry_count, kMaxRetries);
}

}  // namespace

bool IsGone(const std::shared_ptr<CmId>& id) {
  return id == nullptr || id->state == CmState::kDestroyed;
}

bool ConnectionManager::Impl::HandOver(Lock& lock, CmMessage& message) {
  const std::shared_ptr<CmId> to = message.to.lock();
  if (to != nullptr && to->far.has_value()) return Forward(message, *to);
  if (steps != nullptr) steps->Tell(message, "arrives");
  switch (message.kind) {
    case CmMessageKind::kReq:
      return ReceiveReq(lock, message);
    case CmMessageKind::kRep:
      ReceiveRep(lock, message);
      break;
    case CmMessageKind::kRtu:
      ReceiveRtu(message);
      break;
    case CmMessageKind::kRej:
      ReceiveRej(lock, message);
      break;
    case CmMessageKind::kDreq:
      ReceiveDreq(lock, message);
      break;
    case CmMessageKind::kDrep:
      ReceiveDrep(message);
      break;
  }
  return true;
}

// --- REQ

bool ConnectionManager::Impl::ReceiveReq(Lock& lock, CmMessage& message) {
  const std::shared_ptr<CmId> from = message.from.lock();
  if (IsGone(from) || from->state != CmState::kConnectSent || !QpOf(*from)) {
    return true;
  }
  const std::shared_ptr<CmId> known = from->peer.lock();
  if (!IsGone(known) && known->state != CmState::kClosed) {
    // It came before.
    if (known->state == CmState::kRequestReceived) WaitPatiently(lock, *from);
    return true;
  }
  if (CmId* const listener = FindListener(*from, message)) {
    Enqueue(lock, message, *from, *listener);
    return true;
  }
  if (far_ports != nullptr && !from->far.has_value()) {
    bool sent = true;
    const FarPorts::Found found = LookFurther(lock, message, &sent);
    if (found != FarPorts::Found::kNobody) return sent;
  }
  if (message.receiver != nullptr) {
    Refuse(lock, message, *from, kRejInvalidServiceId);
  }
  return true;
}

CmId* ConnectionManager::Impl::FindListener(const CmId& from,
                                            const CmMessage& request) {
  if (request.receiver == nullptr) return nullptr;
  const bool iwarp = request.receiver->profile().iwarp;
  return iwarp == IsIwarp(from)
             ? ports.FindListener(from.route.addr.dst_addr, iwarp)
             : nullptr;
}

void ConnectionManager::Impl::Enqueue(Lock& lock, const CmMessage& request,
                                      CmId& from, CmId& listener) {
  if (listener.waiting_requests >= listener.backlog) {
    return Refuse(lock, request, from, kRejConsumerDefined);
  }
  try {
    MakePassive(from, listener, request);
  } catch (const std::bad_alloc&) {
    return;  // as if it had been lost
  }
  WaitPatiently(lock, from);
}

void ConnectionManager::Impl::Refuse(Lock& lock, const CmMessage& request,
                                     const CmId& from, int reason) {
  CmMessage* const answer =
      Send(CmMessageKind::kRej, *request.receiver, request.sender);
  if (answer == nullptr) return;
  answer->to = request.from;
  answer->param = {};
  answer->reason = reason;
  LogAbout(lock, from,
           reason == kRejInvalidServiceId
               ? WhyNobodyListens(from, *request.receiver)
               : "rejected: the listener's backlog is full");
}

void ConnectionManager::Impl::MakePassive(CmId& from, CmId& listener,
                                          const CmMessage& message) {
  listener.spare.emplace_back();
  CmId& to = *NewId(nullptr);
  to.context = listener.context;
  to.state = CmState::kRequestReceived;
  to.drops_events = true;
  to.device = message.receiver;
  to.verbs = message.receiver->context();
  to.port_num = 1;
  to.route.addr.src_storage = from.route.addr.dst_storage;
  to.route.addr.dst_storage = from.route.addr.src_storage;
  to.responder_resources = from.initiator_depth;
  to.initiator_depth = from.responder_resources;
  to.retry_count = from.retry_count;
  to.rnr_retry_count = std::min(message.param->rnr_retry_count, kMaxRetries);
  to.peer = from.weak_from_this();
  to.remote = from.device;
  to.remote_qp = QpOf(from);
  to.awaits_far = from.far.has_value();
  from.peer = to.weak_from_this();
  ++listener.waiting_requests;
  CmEvent* const event =
      Post(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, DataOf(*message.param),
           Padded(to, to.device->profile().private_data.connect));
  event->id = &to;
  event->listen_id = &listener;
  Describe(*event, to, to.remote_qp, *message.param);
}

// --- REP, RTU

void ConnectionManager::Impl::ReceiveRep(Lock& lock, const CmMessage& message) {
  const std::shared_ptr<CmId> from = message.from.lock();
  const std::shared_ptr<CmId> to = message.to.lock();
  if (IsGone(to)) return;
  if (IsGone(from)) {
    // TCP delivers what was written before the end of the connection.
    const bool tcp = to->device->profile().iwarp;
    if (tcp && to->state == CmState::kConnectSent) TakeResponse(*to, message);
    return;
  }
  if (to->state == CmState::kResponseReceived) {
    return WaitPatiently(lock, *from);
  }
  if (to->state == CmState::kConnected) {
    SendToPeer(CmMessageKind::kRtu, *to);  // the first one was lost
    return;
  }
  if (to->state != CmState::kConnectSent) return;
  to->remote_qp = QpOf(*from);
  Negotiate(*to, *from, *message.param);
  const bool iwarp = to->device->profile().iwarp;
  if (iwarp && from->far.has_value() && !GetReady(lock, to)) return;
  TakeResponse(*to, message);
  WaitPatiently(lock, *from);
  if (iwarp && to->queue_pair->State() == IBV_QPS_ERR) Terminate(lock, to);
}

void ConnectionManager::Impl::TakeResponse(CmId& to, const CmMessage& message) {
  const bool iwarp = to.device->profile().iwarp;
  StopTimer(to);
  if (!message.from.expired()) to.peer = message.from;
  to.state = iwarp ? CmState::kConnected : CmState::kResponseReceived;
  CmEvent* const event = Post(
      to, iwarp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE, 0,
      DataOf(*message.param),
      Padded(to, to.device->profile().private_data.accept));
  if (event != nullptr) {
    Describe(*event, to, to.remote_qp, *message.param);
  }
}

void ConnectionManager::Impl::ReceiveRtu(const CmMessage& message) {
  const std::shared_ptr<CmId> to = message.to.lock();
  if (IsGone(to) || to->state != CmState::kAccepted) return;
  StopTimer(*to);
  to->state = CmState::kConnected;
  Post(*to, RDMA_CM_EVENT_ESTABLISHED);
}

// --- REJ

void ConnectionManager::Impl::ReceiveRej(Lock& lock, const CmMessage& message) {
  const std::shared_ptr<CmId> to = message.to.lock();
  if (IsGone(to)) return;
  if (to->state == CmState::kConnected && to->device->profile().iwarp) {
    return Close(lock, to);  // the end of the TCP connection
  }
  switch (to->state) {
    case CmState::kConnectSent:
    case CmState::kRequestReceived:
    case CmState::kAccepted:
    case CmState::kResponseReceived:
    case CmState::kConnected:
    case CmState::kDisconnectSent:
      break;
    default:
      return;
  }
  StopTimer(*to);
  to->state = CmState::kClosed;
  Post(*to, RDMA_CM_EVENT_REJECTED, RejectStatus(*to, message.reason),
       DataOf(*message.param),
       Padded(*to, to->device->profile().private_data.reject));
}

// --- DREQ, DREP

void ConnectionManager::Impl::ReceiveDreq(Lock& lock,
                                          const CmMessage& message) {
  const std::shared_ptr<CmId> to = message.to.lock();
  if (IsGone(to)) return AnswerForTheGone(message);
  if (to->device->profile().iwarp) {
    if (to->state == CmState::kConnected) return Close(lock, to);
    if (to->state != CmState::kConnectSent) return;
    // TCP's connection was gone before the response came.
    StopTimer(*to);
    to->state = CmState::kClosed;
    Post(*to, RDMA_CM_EVENT_REJECTED, -ECONNRESET);
    return;
  }
  switch (to->state) {
    case CmState::kAccepted:  // the RTU was lost
    case CmState::kConnected:
    case CmState::kDisconnectSent:  // both ends at a time
      StopTimer(*to);
      to->state = CmState::kDisconnectReceived;
      Post(*to, RDMA_CM_EVENT_DISCONNECTED);
      return;
    case CmState::kTimeWait:
      SendToPeer(CmMessageKind::kDrep, *to);  // the first one was lost
      return;
    default:
      return;
  }
}

void ConnectionManager::Impl::AnswerForTheGone(const CmMessage& request) {
  if (request.receiver == nullptr || request.receiver->profile().iwarp) return;
  CmMessage* const answer =
      Send(CmMessageKind::kDrep, *request.receiver, request.sender);
  if (answer != nullptr) answer->to = request.from;
}

void ConnectionManager::Impl::ReceiveDrep(const CmMessage& message) {
  const std::shared_ptr<CmId> to = message.to.lock();
  if (IsGone(to)) return;
  if (to->state == CmState::kDisconnectSent) FinishDisconnect(*to, 0);
  if (to->state == CmState::kDisconnectReceived) EnterTimeWait(*to);
}

// --- Patience

void ConnectionManager::Impl::WaitPatiently(Lock& lock, CmId& id) {
  if (id.far.has_value()) return TellFar(id, wire::CmKind::kPatience, true);
  id.is_patient = true;
  if (id.has_lost_messages) {
    StartTimer(lock, id, fabric.Scale(id.device->profile().timers.cm_service));
  } else {
    id.timer->Cancel();
    id.deadline = TimerQueue::TimePoint::max();
  }
}

void ConnectionManager::Impl::EndPatience(Lock& lock, CmId& id) {
  if (id.far.has_value()) return TellFar(id, wire::CmKind::kPatience, false);
  if (!id.is_patient || id.has_lost_messages) return;
  id.has_lost_messages = true;
  WaitPatiently(lock, id);
}

}  // namespace rpma::emu
