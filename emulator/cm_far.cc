// SPDX-License-Identifier: BSD-3-Clause
// Connections to other processes: for the other end there is an id here too, to
// which and from which messages travel as between two ids of this process.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "emulator/cm_impl.h"
#include "emulator/device.h"
#include "emulator/fabric.h"
#include "emulator/far_qp.h"

namespace rpma::emu {
namespace {

static_assert(static_cast<uint8_t>(CmMessageKind::kDrep) ==
              static_cast<uint8_t>(wire::CmKind::kDrep));

// The state of an id after a message that reached it in `state`.
CmState StateOfReceiver(CmState state, CmMessageKind kind, bool iwarp) {
  switch (kind) {
    case CmMessageKind::kReq:
      return state == CmState::kIdle || state == CmState::kClosed
                 ? CmState::kRequestReceived
                 : state;
    case CmMessageKind::kRep:
      if (state != CmState::kConnectSent) return state;
      return iwarp ? CmState::kConnected : CmState::kResponseReceived;
    case CmMessageKind::kRtu:
      return state == CmState::kAccepted ? CmState::kConnected : state;
    case CmMessageKind::kRej:
      return state < CmState::kDisconnectReceived ? CmState::kClosed : state;
    case CmMessageKind::kDreq:
      if (state > CmState::kDisconnectSent) return state;
      return iwarp ? CmState::kClosed : CmState::kDisconnectReceived;
    case CmMessageKind::kDrep:
      return state == CmState::kDisconnectSent ||
                     state == CmState::kDisconnectReceived
                 ? CmState::kTimeWait
                 : state;
  }
  return state;
}

// The state of an id that has sent a message, of which `state` is the last that
// was known. Messages may be late.
CmState StateOfSender(CmState state, CmMessageKind kind, bool iwarp) {
  switch (kind) {
    case CmMessageKind::kReq:
      return state == CmState::kIdle || state == CmState::kClosed
                 ? CmState::kConnectSent
                 : state;
    case CmMessageKind::kRep:
      if (state > CmState::kConnected) return state;
      return iwarp ? CmState::kConnected : CmState::kAccepted;
    case CmMessageKind::kRtu:
      return state < CmState::kConnected ? CmState::kConnected : state;
    case CmMessageKind::kRej:
      return CmState::kClosed;
    case CmMessageKind::kDreq:
      if (state > CmState::kConnected) return state;
      return iwarp ? CmState::kClosed : CmState::kDisconnectSent;
    case CmMessageKind::kDrep:
      return state < CmState::kTimeWait ? CmState::kTimeWait : state;
  }
  return state;
}

bool HasData(CmMessageKind kind) {
  return kind == CmMessageKind::kReq || kind == CmMessageKind::kRep ||
         kind == CmMessageKind::kRej;
}

wire::Message NewCm(wire::CmKind kind, bool iwarp, uint64_t from, uint64_t to) {
  wire::Message message = wire::NewMessage(wire::Type::kCm);
  message.cm.kind = kind;
  message.cm.iwarp = iwarp ? 1 : 0;
  message.cm.from_id = from;
  message.cm.to_id = to;
  return message;
}

// How the other process knows `id`, which speaks to `to`.
uint64_t NumberOf(const std::shared_ptr<CmId>& id, const CmId& to) {
  if (!to.far->key.is_active) return to.far->key.active;
  return id != nullptr ? id->number : 0;
}

void Describe(const CmId& id, wire::CmBody* body) {
  body->responder_resources = id.responder_resources;
  body->initiator_depth = id.initiator_depth;
  body->retry_count = id.retry_count;
  const QpRef qp = QpOf(id);
  if (!qp) return;
  body->qp_num = qp.qp_num();
  body->srq = qp.has_srq() ? 1 : 0;
}

void Learn(const wire::CmBody& body, CmId* id) {
  id->responder_resources = body.responder_resources;
  id->initiator_depth = body.initiator_depth;
  id->retry_count = body.retry_count;
  id->far_qp =
      std::make_shared<FarQp>(id->far->link, body.qp_num, body.srq != 0);
}

rdma_conn_param ParamOf(const wire::CmBody& body, ConsumerData data) {
  rdma_conn_param param{};
  param.private_data = data.data;
  param.private_data_len = data.length;
  param.responder_resources = body.responder_resources;
  param.initiator_depth = body.initiator_depth;
  param.flow_control = body.flow_control;
  param.retry_count = body.retry_count;
  param.rnr_retry_count = body.rnr_retry_count;
  param.srq = body.srq;
  param.qp_num = body.qp_num;
  return param;
}

// As AnswerForTheGone(), of an id of which nothing is left.
void AnswerForOneThatIsGone(FarLink& link, const wire::CmBody& request) {
  if (request.kind != wire::CmKind::kDreq || request.iwarp != 0) return;
  // Without room the request comes again.
  (void)link.Send(
      wire::Lane::kRequests,
      NewCm(wire::CmKind::kDrep, false, request.to_id, request.from_id), {});
}

// Whether `a` is an end of `message`.
bool IsEndOf(const CmMessage& message, const CmId& a) {
  return message.from.lock().get() == &a || message.to.lock().get() == &a;
}

}  // namespace

// --- Ids

std::shared_ptr<CmId> ConnectionManager::Impl::FarIdOf(FarLink& link,
                                                       const FarKey& key,
                                                       Device& device) {
  const auto found = far_ids.find(key);
  if (found != far_ids.end()) return found->second;
  auto id = std::make_shared<CmId>(0);
  id->drops_events = true;
  id->device = id->remote = &device;
  id->far = {.key = key,
             .link = link.shared_from_this(),
             .number = key.is_active ? key.active : 0,
             .iwarp = device.profile().iwarp};
  AddMessageNodes();
  far_ids.emplace(key, id);
  return id;
}

bool ConnectionManager::Impl::IsInUse(const CmId& far_id) const {
  const std::shared_ptr<CmId> peer = far_id.peer.lock();
  if (peer != nullptr && ids.contains(peer->number)) return true;
  const auto is_end = [&](const CmMessage& m) { return IsEndOf(m, far_id); };
  return std::ranges::any_of(outbox, is_end) ||
         std::ranges::any_of(in_flight, is_end);
}

void ConnectionManager::Impl::DropIfUnused(
    const std::shared_ptr<CmId>& far_id) {
  if (far_id == nullptr || !far_id->far.has_value() || IsInUse(*far_id)) return;
  far_id->state = CmState::kDestroyed;
  far_ids.erase(far_id->far->key);
  TrimMessageNodes();
}

// --- To other processes

FarPorts::Found ConnectionManager::Impl::LookFurther(Lock& lock,
                                                     CmMessage& request,
                                                     bool* sent) try {
  const std::shared_ptr<CmId> from = request.from.lock();
  const sockaddr_storage address = from->route.addr.dst_storage;
  std::shared_ptr<FarLink> link;
  lock.unlock();
  const FarPorts::Found found =
      far_ports->Find(reinterpret_cast<const sockaddr&>(address), &link);
  lock.lock();
  if (found == FarPorts::Found::kNobody) return found;
  from->awaits_far = true;
  *sent = true;  // if nobody answers
  if (found == FarPorts::Found::kNoAnswer ||
      from->state != CmState::kConnectSent) {
    return FarPorts::Found::kNoAnswer;
  }
  if (link->is_dead()) return FarPorts::Found::kNoAnswer;  // OnEnd() was here
  const FarKey key = {.link = link.get(), .active = from->number};
  const std::shared_ptr<CmId> to = FarIdOf(*link, key, *from->device);
  to->peer = from;
  from->peer = to;
  request.to = to;
  *sent = Forward(request, *to);
  return found;
} catch (const std::bad_alloc&) {
  if (!lock.owns_lock()) lock.lock();
  return FarPorts::Found::kNoAnswer;
}

bool ConnectionManager::Impl::Forward(const CmMessage& message, CmId& to) {
  const std::shared_ptr<CmId> from = message.from.lock();
  FarId& far = *to.far;
  wire::Message out = NewCm(static_cast<wire::CmKind>(message.kind), far.iwarp,
                            NumberOf(from, to), far.number);
  if (message.kind == CmMessageKind::kReq) {
    if (from == nullptr) return true;  // withdrawn
    out.cm.source = wire::ToCmAddress(from->route.addr.src_addr);
    out.cm.destination = wire::ToCmAddress(from->route.addr.dst_addr);
  }
  if (from != nullptr) Describe(*from, &out.cm);
  std::array<std::byte, UINT8_MAX> data;
  Piece payload = {.data = data.data(), .size = 0};
  if (HasData(message.kind)) {
    const auto* const bytes =
        static_cast<const std::byte*>(message.param->private_data);
    payload.size = message.param->private_data_len;
    std::copy_n(bytes, payload.size, data.begin());
    out.cm.private_length = message.param->private_data_len;
    out.cm.flow_control = message.param->flow_control;
    out.cm.rnr_retry_count = message.param->rnr_retry_count;
  }
  if (message.kind == CmMessageKind::kRej) out.cm.reason = message.reason;
  if (!far.link->Send(wire::Lane::kRequests, out, {&payload, 1})) return false;
  if (from != nullptr) from->sent_far = far.link->Sent();
  to.state = StateOfReceiver(to.state, message.kind, far.iwarp);
  return true;
}

bool ConnectionManager::Impl::IsOnItsWay(const CmId& id) {
  const std::shared_ptr<CmId> to = id.peer.lock();
  return to != nullptr && to->far.has_value() &&
         !to->far->link->IsHandled(id.sent_far);
}

void ConnectionManager::Impl::TellFar(CmId& to, wire::CmKind kind, bool on) {
  const FarId& far = *to.far;
  wire::Message out =
      NewCm(kind, far.iwarp, NumberOf(to.peer.lock(), to), far.number);
  out.cm.on = on ? 1 : 0;
  // Without room it is as lost as an MRA that gets lost.
  (void)far.link->Send(wire::Lane::kRequests, out, {});
}

// --- From other processes

std::shared_ptr<CmId> ConnectionManager::Impl::FindFarSender(
    FarLink& link, const wire::CmBody& body) {
  const FarKey active = {&link, body.from_id, true};
  if (body.kind == wire::CmKind::kReq) {
    sockaddr_storage address;
    wire::FromCmAddress(body.destination, &address);
    Device* const device =
        fabric.DeviceOwning(reinterpret_cast<const sockaddr&>(address));
    if (device == nullptr) return nullptr;
    const std::shared_ptr<CmId> from = FarIdOf(link, active, *device);
    from->far->iwarp = body.iwarp != 0;
    from->route.addr.dst_storage = address;
    wire::FromCmAddress(body.source, &from->route.addr.src_storage);
    return from;
  }
  FarKey key = active;
  if (body.to_id != 0) {
    const auto found = ids.find(body.to_id);
    if (found == ids.end()) return nullptr;
    const std::shared_ptr<CmId> peer = found->second->peer.lock();
    if (peer == nullptr || !peer->far.has_value()) return nullptr;
    if (!peer->far->key.is_active) key = {&link, body.to_id, false};
  }
  const auto found = far_ids.find(key);
  return found == far_ids.end() ? nullptr : found->second;
}

void ConnectionManager::Impl::TakeNotice(Lock& lock, const wire::CmBody& body,
                                         CmId& id) {
  if (id.state != CmState::kConnectSent && id.state != CmState::kAccepted) {
    return;
  }
  if (body.kind == wire::CmKind::kGiveUp) {
    if (id.state == CmState::kConnectSent) GiveUp(lock, id);
  } else if (body.on != 0) {
    WaitPatiently(lock, id);
  } else {
    EndPatience(lock, id);
  }
}

void ConnectionManager::Impl::OnCm(FarLink& link, const wire::CmBody& body,
                                   ConsumerData data) try {
  Lock lock(mutex);
  const std::shared_ptr<CmId> from = FindFarSender(link, body);
  const std::shared_ptr<CmId> to =
      from != nullptr ? from->peer.lock() : nullptr;
  const bool is_req = body.kind == wire::CmKind::kReq;
  if (from == nullptr || (IsGone(to) && !is_req)) {
    return AnswerForOneThatIsGone(link, body);
  }
  if (from->device->health().IsSilent()) return DropIfUnused(from);
  const bool tells_id = !from->far->key.is_active && body.from_id != 0;
  if (body.kind > wire::CmKind::kDrep) {
    if (tells_id) from->far->number = body.from_id;
    TakeNotice(lock, body, *to);
    return Deliver(lock);
  }
  CmMessage message;
  message.kind = static_cast<CmMessageKind>(body.kind);
  if (body.from_id != 0) message.from = from;
  message.to = to;
  message.sender = message.receiver = from->device;
  message.param = CmParam(ParamOf(body, data));
  message.reason = body.reason;
  const bool is_first_rep = message.kind == CmMessageKind::kRep && tells_id &&
                            to->state == CmState::kConnectSent;
  if (is_first_rep) from->far->number = body.from_id;
  if (is_first_rep || (is_req && IsGone(to))) Learn(body, from.get());
  from->state = StateOfSender(from->state, message.kind, from->far->iwarp);
  (void)HandOver(lock, message);
  Deliver(lock);
  DropIfUnused(from);
} catch (const std::bad_alloc&) {
  // As if it had been lost.
}

void ConnectionManager::Impl::OnEnd(FarLink& link) {
  Lock lock(mutex);
  const FarKey first = {.link = &link};
  const auto next = [&] { return far_ids.lower_bound(first); };
  for (auto at = next(); at != far_ids.end() && at->first.link == &link;
       at = next()) {
    const std::shared_ptr<CmId> id = at->second;
    EndId(lock, id);
    Deliver(lock);
    far_ids.erase(id->far->key);
    TrimMessageNodes();
  }
}

// --- Ports

int ConnectionManager::Impl::Claim(Lock& lock, CmId& id) {
  if (far_ports == nullptr) return 0;
  const sockaddr_storage address = id.route.addr.src_storage;
  const auto& claimed = reinterpret_cast<const sockaddr&>(address);
  lock.unlock();
  const int error = far_ports->Claim(claimed);
  lock.lock();
  if (error == 0) {
    id.is_claimed = true;
    if (id.state != CmState::kBound) ReleaseClaim(lock, id);
  }
  return error;
}

void ConnectionManager::Impl::ReleaseClaim(Lock& lock, CmId& id) {
  if (!std::exchange(id.is_claimed, false)) return;
  const sockaddr_storage address = id.route.addr.src_storage;
  lock.unlock();
  far_ports->Release(reinterpret_cast<const sockaddr&>(address));
  lock.lock();
}

void ConnectionManager::SetFarPorts(FarPorts* ports) {
  impl_->far_ports = ports;
}

void ConnectionManager::OnCm(FarLink& link, const wire::CmBody& body,
                             std::span<const std::byte> data) {
  // Copied once, as the peer may write to it.
  std::array<std::byte, UINT8_MAX> copy;
  std::ranges::copy(data, copy.begin());
  impl_->OnCm(link, body, {copy.data(), static_cast<uint8_t>(data.size())});
}

void ConnectionManager::OnEnd(FarLink& link) { impl_->OnEnd(link); }

}  // namespace rpma::emu
