// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues.

#include "emulator/shared_receive_queue.h"

#include "emulator/device.h"
#include "emulator/memory_region.h"
#include "emulator/queue_pair.h"

namespace rpma::emu {

SharedReceiveQueue::SharedReceiveQueue(Device& device, ProtectionDomain& domain,
                                       uint32_t max_wr, uint32_t max_sge,
                                       uint32_t srq_limit)
    : ibv_srq{},
      device_(device),
      number_(NumberOf(device.scheduler(), ObjectKind::kSharedReceiveQueue)),
      receives_(max_wr, max_sge),
      limit_(srq_limit) {
  context = device.context();
  pd = &domain;
}

int SharedReceiveQueue::PostRecv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  int error = 0;
  {
    const std::lock_guard lock(mutex_);
    for (; wr != nullptr; wr = wr->next) {
      error = receives_.Append(*wr);
      if (error != 0) break;
      if (Scheduler* const scheduler = device_.scheduler()) {
        scheduler->trace().Add("SRQ %u posts receive %u", number_,
                               receives_.posted());
      }
    }
  }
  while (const std::shared_ptr<QueuePair> qp = TakeWaiting()) {
    qp->ResumeRequester();
  }
  if (error != 0) *bad_wr = wr;
  return error;
}

void SharedReceiveQueue::Enlist(Waiting& waiting, QueuePair& qp) {
  if (waiting.qp != nullptr) return;
  waiting = {&qp, last_waiting_, nullptr};
  (last_waiting_ == nullptr ? first_waiting_ : last_waiting_->next) = &waiting;
  last_waiting_ = &waiting;
}

void SharedReceiveQueue::Delist(Waiting& waiting) {
  if (waiting.qp == nullptr) return;
  Waiting* const before = waiting.previous;
  Waiting* const after = waiting.next;
  (before == nullptr ? first_waiting_ : before->next) = after;
  (after == nullptr ? last_waiting_ : after->previous) = before;
  waiting = {};
}

void SharedReceiveQueue::PopReceive() {
  receives_.Pop();
  if (receives_.size() >= limit_) return;
  limit_ = 0;
  ibv_async_event event{};
  event.element.srq = this;
  event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
  device_.RaiseAsyncEvent(event);
}

std::shared_ptr<QueuePair> SharedReceiveQueue::TakeWaiting() {
  const std::lock_guard lock(mutex_);
  if (first_waiting_ == nullptr || receives_.empty()) return nullptr;
  // The QP leaves the list before its owner lets go of it.
  std::shared_ptr<QueuePair> qp = first_waiting_->qp->shared_from_this();
  Delist(*first_waiting_);
  return qp;
}

}  // namespace rpma::emu
