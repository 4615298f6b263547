// SPDX-License-Identifier: BSD-3-Clause
// Ending connections: DREQ, DREP, time-wait, failures and the timers of the
// connection manager.

#include <sys/syslog.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include "emulator/addresses.h"
#include "emulator/cm_impl.h"
#include "emulator/device.h"
#include "emulator/fabric.h"

namespace rpma::emu {
namespace {

bool EndsWithItsQueuePair(const CmId& id) {
  return id.state == CmState::kConnected && id.device->profile().iwarp;
}

// What an id in this state waits for an answer to.
const char* MessageOf(CmState state) {
  if (state == CmState::kConnectSent) return "REQ";
  return state == CmState::kAccepted ? "REP" : "DREQ";
}

}  // namespace

void ConnectionManager::Impl::Disconnect(CmId& id) {
  if (id.state == CmState::kConnected) {
    StopTimer(id);
    id.state = CmState::kDisconnectSent;
    SendToPeer(CmMessageKind::kDreq, id);
  } else if (id.state == CmState::kDisconnectReceived) {
    SendToPeer(CmMessageKind::kDrep, id);
    EnterTimeWait(id);
  }
}

void ConnectionManager::Impl::FinishDisconnect(CmId& id, int status) {
  Post(id, RDMA_CM_EVENT_DISCONNECTED, status);
  EnterTimeWait(id);
}

void ConnectionManager::Impl::EnterTimeWait(CmId& id) {
  StopTimer(id);
  id.state = CmState::kTimeWait;
  if (id.far.has_value()) return;
  const auto time = fabric.Scale(id.device->profile().timers.time_wait);
  id.deadline = fabric.timers().Now() + time;
  if (!id.timer->Arm(time)) LeaveTimeWait(id);
}

void ConnectionManager::Impl::LeaveTimeWait(CmId& id) {
  id.state = CmState::kClosed;
  Post(id, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

void ConnectionManager::Impl::Terminate(Lock& lock,
                                        const std::shared_ptr<CmId>& id) {
  SendToPeer(CmMessageKind::kDreq, *id);
  Close(lock, id);
  Deliver(lock);
}

void ConnectionManager::Impl::Close(Lock& lock,
                                    const std::shared_ptr<CmId>& id) {
  id->state = CmState::kClosed;
  const std::shared_ptr<QueuePair> qp = id->queue_pair;
  lock.unlock();
  if (qp != nullptr) qp->ToError();
  lock.lock();
  Post(*id, RDMA_CM_EVENT_DISCONNECTED);
}

void ConnectionManager::Impl::GiveUpTcp(Lock& lock, const CmMessage& message) {
  const std::shared_ptr<CmId> to = message.to.lock();
  if (!IsGone(to) && to->state == CmState::kConnectSent) {
    if (to->far.has_value()) {
      TellFar(*to, wire::CmKind::kGiveUp, false);
      to->state = CmState::kClosed;
    } else {
      GiveUp(lock, *to);
    }
  }
  const std::shared_ptr<CmId> from = message.from.lock();
  if (!IsGone(from) && from->state == CmState::kConnected) Close(lock, from);
}

void ConnectionManager::Impl::EndId(Lock& lock,
                                    const std::shared_ptr<CmId>& id) {
  if (EndsWithItsQueuePair(*id)) Terminate(lock, id);
  SayGoodbye(*id);
  StopTimer(*id);
  id->state = CmState::kDestroyed;
  TakeAllUnread(*id);
  ReleaseClaim(lock, *id);
  ports.Release(*id);
}

void ConnectionManager::Impl::SayGoodbye(CmId& id) {
  switch (id.state) {
    case CmState::kListening:
    case CmState::kRemoved:  // which may have listened
      return RejectWaiting(id);
    case CmState::kConnectSent:
      return SendReject(id, kRejTimeout);
    case CmState::kRequestReceived:
    case CmState::kAccepted:
    case CmState::kResponseReceived:
      return SendReject(id, kRejConsumerDefined);
    case CmState::kConnected:
    case CmState::kDisconnectReceived:
      return Disconnect(id);
    default:
      return;
  }
}

void ConnectionManager::Impl::RejectWaiting(CmId& listener) {
  for (const CmEvent& event : TakeAllUnread(listener)) {
    if (event.event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    SendReject(IdOf(event.id), kRejConsumerDefined);
    Forget(IdOf(event.id));
  }
}

int ConnectionManager::Disconnect(rdma_cm_id* handle) {
  const std::shared_ptr<CmId> id = IdOf(handle).shared_from_this();
  Impl::Lock lock(impl_->mutex);
  if (id->state < CmState::kConnectSent || id->state == CmState::kRemoved) {
    return WrongState(*id);
  }
  const std::shared_ptr<QueuePair> qp = id->queue_pair;
  lock.unlock();
  if (qp != nullptr) qp->ToError();
  lock.lock();
  if (EndsWithItsQueuePair(*id)) {
    impl_->Terminate(lock, id);
  } else {
    impl_->Disconnect(*id);
    impl_->Deliver(lock);
  }
  return 0;
}

void ConnectionManager::QueuePairFailed(uint32_t qp_num) {
  Impl::Lock lock(impl_->mutex);
  const auto found = impl_->ids_by_qp.find(qp_num);
  if (found == impl_->ids_by_qp.end()) return;
  const std::shared_ptr<CmId> id = found->second->shared_from_this();
  if (EndsWithItsQueuePair(*id)) impl_->Terminate(lock, id);
}

void ConnectionManager::Impl::StartTimer(Lock& lock, CmId& id,
                                         std::chrono::nanoseconds delay) {
  id.deadline = fabric.timers().Now() + delay;
  // Without a timer the time counts as passed.
  if (!id.timer->Arm(delay)) Expire(lock, id);
}

void ConnectionManager::Impl::StopTimer(CmId& id) {
  if (id.timer.has_value()) id.timer->Cancel();
  id.deadline = TimerQueue::TimePoint::max();
  id.is_patient = id.has_lost_messages = false;
  id.lost_by.reset();
  id.retries = 0;
}

void ConnectionManager::Impl::Expire(Lock& lock, CmId& id) {
  const CmState state = id.state;
  if (state == CmState::kTimeWait) return LeaveTimeWait(id);
  if (state != CmState::kConnectSent && state != CmState::kAccepted &&
      state != CmState::kDisconnectSent) {
    return;
  }
  if (id.retries == id.device->profile().timers.cm_retries) {
    return GiveUp(lock, id);
  }
  ++id.retries;
  // What comes twice may come after its connection is over, as another one's.
  if (IsOnItsWay(id)) return StartTimer(lock, id, ResponseTime(id));
  id.is_patient = false;
  if (state == CmState::kConnectSent) {
    SendRequest(id);
  } else if (state == CmState::kAccepted) {
    SendResponse(id);
  } else {
    SendToPeer(CmMessageKind::kDreq, id);
  }
}

void ConnectionManager::Impl::GiveUp(Lock& lock, CmId& id) {
  const std::shared_ptr<QueuePair> qp = id.queue_pair;
  char what[200];
  const int length = std::snprintf(
      what, sizeof(what), "given up: no answer to %d tries of %s",
      id.device->profile().timers.cm_retries + 1, MessageOf(id.state));
  if (id.lost_by.has_value()) {
    std::snprintf(what + length, sizeof(what) - static_cast<size_t>(length),
                  "; fault rule %zu took the last one", *id.lost_by);
  }
  if (id.state == CmState::kDisconnectSent) {
    FinishDisconnect(id, -ETIMEDOUT);
  } else {
    StopTimer(id);
    id.state = CmState::kClosed;
    Post(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    // Nobody answers the other end any more.
    if (const auto peer = id.peer.lock()) EndPatience(lock, *peer);
  }
  LogAbout(lock, id, what);
  lock.unlock();
  if (qp != nullptr) qp->EndPatience();
  lock.lock();
}

void ConnectionManager::Impl::LogAbout(Lock& lock, const CmId& id,
                                       const char* what) {
  char text[300];
  try {
    std::snprintf(text, sizeof(text), "connection to %s %s",
                  ToText(id.route.addr.dst_addr).c_str(), what);
  } catch (const std::bad_alloc&) {
    return;
  }
  lock.unlock();
  fabric.Log(LOG_INFO, text);
  lock.lock();
}

}  // namespace rpma::emu
