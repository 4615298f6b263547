// SPDX-License-Identifier: BSD-3-Clause
// Ending connections: DREQ, DREP, time-wait, failures and the timers of the
// connection manager.

#include <cerrno>

#include "emulator/cm_impl.h"
#include "emulator/device.h"
#include "emulator/fabric.h"

namespace rpma::emu {
namespace {

bool EndsWithItsQueuePair(const CmId& id) {
  return id.state == CmState::kConnected && id.device->profile().iwarp;
}

}  // namespace

void ConnectionManager::Impl::Disconnect(CmId& id) {
  if (id.state == CmState::kConnected) {
    id.state = CmState::kDisconnectSent;
    id.peer->state = CmState::kDisconnectReceived;
    Post(*id.peer, RDMA_CM_EVENT_DISCONNECTED);
    StartTimer(id, CmTimeout(id));
  } else if (id.state == CmState::kDisconnectReceived) {
    if (CmId* const initiator = Detach(id)) FinishDisconnect(*initiator, 0);
    EnterTimeWait(id);
  }
}

void ConnectionManager::Impl::FinishDisconnect(CmId& id, int status) {
  Detach(id);
  Post(id, RDMA_CM_EVENT_DISCONNECTED, status);
  EnterTimeWait(id);
}

void ConnectionManager::Impl::EnterTimeWait(CmId& id) {
  id.state = CmState::kTimeWait;
  StartTimer(id, fabric.Scale(id.device->profile().timers.time_wait));
}

void ConnectionManager::Impl::Terminate(std::unique_lock<std::mutex>& lock,
                                        const std::shared_ptr<CmId>& id) {
  const std::shared_ptr<CmId> peer = Detach(*id)->shared_from_this();
  id->state = peer->state = CmState::kClosed;
  const std::shared_ptr<QueuePair> qps[] = {id->queue_pair, peer->queue_pair};
  lock.unlock();
  for (const auto& qp : qps) {
    if (qp != nullptr) qp->ToError();
  }
  lock.lock();
  Post(*id, RDMA_CM_EVENT_DISCONNECTED);
  Post(*peer, RDMA_CM_EVENT_DISCONNECTED);
}

void ConnectionManager::Impl::SayGoodbye(CmId& id) {
  switch (id.state) {
    case CmState::kListening:
      RejectWaiting(id);
      break;
    case CmState::kConnectSent:
      SendReject(id, kRejTimeout);
      break;
    case CmState::kRequestReceived:
    case CmState::kAccepted:
    case CmState::kResponseReceived:
      SendReject(id, kRejConsumerDefined);
      break;
    case CmState::kConnected:
    case CmState::kDisconnectReceived:
      Disconnect(id);
      break;
    default:
      break;
  }
  Detach(id);
}

void ConnectionManager::Impl::RejectWaiting(CmId& listener) {
  for (const CmEvent& event : TakeUnread(listener)) {
    if (event.event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    SendReject(IdOf(event.id), kRejConsumerDefined);
    Forget(IdOf(event.id));
  }
}

int ConnectionManager::Disconnect(rdma_cm_id* handle) {
  const std::shared_ptr<CmId> id = IdOf(handle).shared_from_this();
  std::unique_lock lock(impl_->mutex);
  if (id->state < CmState::kConnectSent) return EINVAL;
  const std::shared_ptr<QueuePair> qp = id->queue_pair;
  lock.unlock();
  if (qp != nullptr) qp->ToError();
  lock.lock();
  if (EndsWithItsQueuePair(*id)) {
    impl_->Terminate(lock, id);
  } else {
    impl_->Disconnect(*id);
  }
  return 0;
}

void ConnectionManager::QueuePairFailed(uint32_t qp_num) {
  std::unique_lock lock(impl_->mutex);
  const auto found = impl_->ids_by_qp.find(qp_num);
  if (found == impl_->ids_by_qp.end()) return;
  const std::shared_ptr<CmId> id = found->second->shared_from_this();
  if (EndsWithItsQueuePair(*id)) impl_->Terminate(lock, id);
}

std::chrono::nanoseconds ConnectionManager::Impl::CmTimeout(
    const CmId& id) const {
  const TimerValues& timers = id.device->profile().timers;
  return fabric.Scale(timers.cm_response * (timers.cm_retries + 1));
}

void ConnectionManager::Impl::StartTimer(CmId& id,
                                         std::chrono::nanoseconds delay) {
  id.deadline = fabric.timers().Now() + delay;
  if (!id.timer->Arm(delay)) Expire(id);
}

void ConnectionManager::Impl::Expire(CmId& id) {
  switch (id.state) {
    case CmState::kConnectSent:
      id.state = CmState::kClosed;
      Post(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
      break;
    case CmState::kDisconnectSent:
      FinishDisconnect(id, -ETIMEDOUT);
      break;
    case CmState::kTimeWait:
      id.state = CmState::kClosed;
      Post(id, RDMA_CM_EVENT_TIMEWAIT_EXIT);
      break;
    default:
      break;
  }
}

}  // namespace rpma::emu
