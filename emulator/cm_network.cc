// SPDX-License-Identifier: BSD-3-Clause
// How messages get from one end to the other, and what faults do to them on
// their way.

#include <algorithm>
#include <iterator>
#include <utility>

#include "emulator/cm_impl.h"
#include "emulator/device.h"
#include "emulator/fabric.h"

namespace rpma::emu {
namespace {

// At once on their way from an id, for example a response that is late, its
// second copy and a goodbye.
constexpr size_t kMessagesOfAnId = 3;
// The least that another process gets, as it may not be running just now.
constexpr std::chrono::nanoseconds kFarResponseTime =
    std::chrono::milliseconds(250);

FaultSite SiteOf(CmMessageKind kind) {
  switch (kind) {
    case CmMessageKind::kReq:
      return FaultSite::kReq;
    case CmMessageKind::kRep:
      return FaultSite::kRep;
    case CmMessageKind::kRtu:
      return FaultSite::kRtu;
    case CmMessageKind::kRej:
      return FaultSite::kRej;
    case CmMessageKind::kDreq:
      return FaultSite::kDreq;
    case CmMessageKind::kDrep:
      return FaultSite::kDrep;
  }
  return FaultSite::kNone;
}

// Whether `id` waits for an answer to a message of this kind.
bool AwaitsAnswer(const CmId& id, CmMessageKind kind) {
  switch (kind) {
    case CmMessageKind::kReq:
      return id.state == CmState::kConnectSent;
    case CmMessageKind::kRep:
      return id.state == CmState::kAccepted;
    case CmMessageKind::kDreq:
      return id.state == CmState::kDisconnectSent;
    default:
      return false;
  }
}

// Whether TCP carries it. A REQ stands for the connecting too, whose tries the
// connection manager counts.
bool IsTcp(const CmMessage& message) {
  return message.sender->profile().iwarp && message.kind != CmMessageKind::kReq;
}

// Whether an id sends it that stands for one of another process, which is gone.
bool IsFromFar(const CmMessage& message) {
  const std::shared_ptr<CmId> from = message.from.lock();
  return from != nullptr && from->far.has_value();
}

// Whether `a` was sent after `b` on the same connection.
bool IsBehind(const CmMessage& a, const CmMessage& b) {
  return a.number > b.number && !a.from.owner_before(b.from) &&
         !b.from.owner_before(a.from) && !a.to.owner_before(b.to) &&
         !b.to.owner_before(a.to);
}

}  // namespace

void CmParam::Set(const rdma_conn_param& param) {
  const auto* data = static_cast<const uint8_t*>(param.private_data);
  std::copy_n(data, param.private_data_len, data_.begin());
  param_ = param;
  param_.private_data = data_.data();
}

// --- Nodes

void ConnectionManager::Impl::AddMessageNodes() {
  CmMessages made;
  for (size_t i = 0; i < kMessagesOfAnId; ++i) made.emplace_back();
  spare_messages.splice(spare_messages.end(), made);
}

void ConnectionManager::Impl::Recycle(CmMessages& done) {
  const std::shared_ptr<CmId> to = done.front().to.lock();
  done.front().from.reset();
  done.front().to.reset();
  spare_messages.splice(spare_messages.end(), done);
  TrimMessageNodes();
  DropIfUnused(to);
}

void ConnectionManager::Impl::TrimMessageNodes() {
  // Those that are still under way from ids that are gone do not count.
  const size_t count = ids.size() + far_ids.size();
  while (spare_messages.size() > kMessagesOfAnId * count) {
    spare_messages.pop_front();
  }
}

// --- Sending

CmMessage* ConnectionManager::Impl::Send(CmMessageKind kind, Device& sender,
                                         Device* receiver) {
  if (spare_messages.empty()) return nullptr;
  const auto node = spare_messages.begin();
  CmMessage& message = *node;
  message.kind = kind;
  message.sender = &sender;
  message.receiver = receiver;
  message.number = ++messages_sent;
  message.is_sent_when_due = false;
  message.tcp_tries = 0;
  outbox.splice(outbox.end(), spare_messages, node);
  return &message;
}

CmMessage* ConnectionManager::Impl::SendToPeer(CmMessageKind kind, CmId& from) {
  CmMessage* const message = Send(kind, *from.device, from.remote);
  if (message == nullptr) {
    if (AwaitsAnswer(from, kind) && !from.far.has_value()) {
      from.deadline = fabric.timers().Now() + ResponseTime(from);
      // There is a timer, as late messages fill the lists.
      (void)from.timer->Arm(ResponseTime(from));
    }
    return nullptr;
  }
  message->from = from.weak_from_this();
  message->to = from.peer;
  if (steps != nullptr) steps->Sent(*message, from);
  return message;
}

void ConnectionManager::Impl::Deliver(Lock& lock) {
  if (steps != nullptr) {
    if (!outbox.empty()) steps->MakeRunnable();
    return;
  }
  while (!outbox.empty()) {
    CmMessages one;
    one.splice(one.end(), outbox, outbox.begin());
    Travel(lock, one);
  }
}

void ConnectionManager::Impl::Travel(Lock& lock, CmMessages& one) {
  CmMessage& message = one.front();
  if (!in_flight.empty() && IsTcp(message)) {
    const auto earlier = std::ranges::find_if(
        in_flight, [&](const CmMessage& m) { return IsBehind(message, m); });
    if (earlier != in_flight.end()) {  // TCP keeps the order
      message.is_sent_when_due = true;
      return PutInFlight(lock, one, earlier->due - fabric.timers().Now());
    }
  }
  if (fabric.faults().active() && !IsFromFar(message) && !Survives(lock, one)) {
    return;
  }
  Arrive(lock, one);
}

void ConnectionManager::Impl::Arrive(Lock& lock, CmMessages& one) {
  if (!HandOver(lock, one.front())) return Lose(lock, one, std::nullopt);
  AwaitAnswer(lock, one.front());
  Recycle(one);
}

void ConnectionManager::Impl::AwaitAnswer(Lock& lock,
                                          const CmMessage& message) {
  const std::shared_ptr<CmId> from = message.from.lock();
  if (from == nullptr || from->far.has_value() || IsTcp(message) ||
      from->is_patient || !AwaitsAnswer(*from, message.kind)) {
    return;
  }
  StartTimer(lock, *from, ResponseTime(*from));
}

std::chrono::nanoseconds ConnectionManager::Impl::ResponseTime(
    const CmId& id) const {
  const auto time = fabric.Scale(id.device->profile().timers.cm_response);
  return id.awaits_far ? std::max(time, kFarResponseTime) : time;
}

// --- Faults

bool ConnectionManager::Impl::Survives(Lock& lock, CmMessages& one) {
  CmMessage& message = one.front();
  FaultInjector& faults = fabric.faults();
  const std::optional<Injection> injection =
      faults.OnCmMessage(SiteOf(message.kind), *message.sender);
  if (faults.unfinished()) {
    lock.unlock();
    fabric.FinishDeviceFaults();
    lock.lock();
  }
  if (message.sender->health().IsSilent() ||
      (message.receiver != nullptr && message.receiver->health().IsSilent())) {
    Lose(lock, one, std::nullopt);
    return false;
  }
  if (!injection.has_value()) return true;
  switch (injection->action) {
    case FaultAction::kDrop:
      Lose(lock, one, injection->rule);
      return false;
    case FaultAction::kDelay:
      PutInFlight(lock, one, fabric.Scale(injection->time));
      return false;
    default:
      (void)HandOver(lock, message);  // the first copy may get lost
      return true;
  }
}

void ConnectionManager::Impl::Lose(Lock& lock, CmMessages& one,
                                   std::optional<size_t> rule) {
  CmMessage& message = one.front();
  if (const auto from = message.from.lock()) from->lost_by = rule;
  if (steps != nullptr) steps->Tell(message, "is lost");
  if (IsTcp(message)) {
    const TimerValues& timers = message.sender->profile().timers;
    if (message.tcp_tries < timers.tcp_retries) {
      message.is_sent_when_due = true;
      const auto time = TcpTimeout(timers, message.tcp_tries++);
      return PutInFlight(lock, one, fabric.Scale(time));
    }
    GiveUpTcp(lock, message);
  } else {
    AwaitAnswer(lock, message);
    // Who waits for it patiently does not do so for ever.
    const bool answers = message.kind == CmMessageKind::kRtu ||
                         message.kind == CmMessageKind::kRej;
    if (const auto to = message.to.lock(); to != nullptr && answers) {
      EndPatience(lock, *to);
    }
  }
  Recycle(one);
}

void ConnectionManager::Impl::PutInFlight(Lock& lock, CmMessages& one,
                                          std::chrono::nanoseconds time) {
  const auto node = one.begin();
  if (steps != nullptr) steps->Tell(*node, "is late");
  node->due = fabric.timers().Now() + time;
  const auto behind = std::ranges::find_if(
      in_flight, [&](const CmMessage& m) { return m.due > node->due; });
  in_flight.splice(behind, one, node);
  if (ArmNetworkTimer()) return AwaitAnswer(lock, *node);
  // Without a timer the time counts as passed.
  one.splice(one.end(), in_flight, node);
  Land(lock, one);
}

void ConnectionManager::Impl::Land(Lock& lock, CmMessages& one) {
  if (std::exchange(one.front().is_sent_when_due, false)) {
    Travel(lock, one);
  } else {
    if (!HandOver(lock, one.front())) return Lose(lock, one, std::nullopt);
    Recycle(one);
  }
}

bool ConnectionManager::Impl::ArmNetworkTimer() {
  auto first = TimerQueue::TimePoint::max();
  if (!in_flight.empty()) first = in_flight.front().due;
  if (!late_events.empty()) first = std::min(first, late_events.front().due);
  if (first == TimerQueue::TimePoint::max()) return true;
  return network_timer->Arm(first - fabric.timers().Now());
}

void ConnectionManager::Impl::OnNetworkTimer() {
  Lock lock(mutex);
  const TimerQueue::TimePoint now = fabric.timers().Now();
  while (!in_flight.empty() && in_flight.front().due <= now) {
    CmMessages one;
    one.splice(one.end(), in_flight, in_flight.begin());
    Land(lock, one);
  }
  while (!late_events.empty() && late_events.front().due <= now) {
    QueueEvent(late_events, late_events.begin(), /*ahead=*/false);
  }
  Deliver(lock);
  // False: whatever is left comes with the next message.
  (void)ArmNetworkTimer();
}

}  // namespace rpma::emu
