// SPDX-License-Identifier: BSD-3-Clause

#include "core/completion_queue.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "core/log.h"

namespace rpma {

Rc NextCqEvent(Transport& transport, ibv_comp_channel* channel, ibv_cq** cq) {
  const Errno error = transport.GetCqEvent(channel, cq);
  if (error == Errno::kOk) return Rc::kOk;
  if (error != Errno{EAGAIN} && error != Errno{EINTR}) {
    RPMA_LOG(ERROR, "ibv_get_cq_event(fd=%d) failed: %s", channel->fd,
             log::Reason(error));
  }
  return error == Errno{EDEADLK} ? Rc::kProvider : Rc::kNoCompletion;
}

Rc CreateCompChannel(const Peer& peer, OwnedCompChannel* out) {
  Transport& transport = peer.transport();
  ibv_comp_channel* channel = nullptr;
  const Errno error = transport.CreateCompChannel(peer.context(), &channel);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "ibv_create_comp_channel(device=%s) failed: %s",
             peer.caps().name, log::Reason(error));
    return Rc::kProvider;
  }
  *out = OwnedCompChannel(transport, channel);
  return Rc::kOk;
}

Rc CompletionQueue::Create(const Peer& peer, uint32_t size,
                           ibv_comp_channel* shared,
                           std::optional<CompletionQueue>* out) {
  Transport& transport = peer.transport();
  CompletionQueue queue(transport);
  if (shared == nullptr) {
    const Rc rc = CreateCompChannel(peer, &queue.own_channel_);
    if (rc != Rc::kOk) return rc;
  }
  queue.channel_ = shared != nullptr ? shared : queue.own_channel_.get();

  const int cqe = static_cast<int>(std::min<uint32_t>(size, INT_MAX));
  ibv_cq* cq = nullptr;
  const Errno error =
      transport.CreateCq(peer.context(), cqe, queue.channel_, &cq);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR,
             "ibv_create_cq(cqe=%d) failed: %s; device %s takes up to %u", cqe,
             log::Reason(error), peer.caps().name, peer.caps().max_cqe);
    return Rc::kProvider;
  }
  queue.cq_ = OwnedCq(transport, cq);

  const Rc rc = queue.Arm();
  if (rc == Rc::kOk) out->emplace(std::move(queue));
  return rc;
}

Rc CompletionQueue::Close() {
  const Rc rc = cq_.DestroyOrAbandon();
  return FirstError(rc, own_channel_.DestroyOrAbandon());
}

Rc CompletionQueue::Wait() {
  if (!own_channel_) {
    RPMA_LOG(ERROR,
             "rpma_cq_wait() on a shared completion channel; use "
             "rpma_conn_wait()");
    return Rc::kSharedChannel;
  }
  if (unarmed()) return Arm();
  ibv_cq* cq = nullptr;
  const Rc rc = NextCqEvent(*transport_, channel_, &cq);
  if (rc != Rc::kOk) return rc;
  transport_->AckCqEvents(cq, 1);
  return Arm();
}

Rc CompletionQueue::Arm() {
  const Errno error = transport_->ReqNotifyCq(cq_.get());
  unarmed_.store(error != Errno::kOk, std::memory_order_relaxed);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "ibv_req_notify_cq(%p) failed: %s",
             static_cast<void*>(cq_.get()), log::Reason(error));
    return Rc::kProvider;
  }
  return Rc::kOk;
}

Rc CompletionQueue::PollFailed(int count, int capacity) const {
  if (count < 0) {
    RPMA_LOG(ERROR, "ibv_poll_cq(%p, num_entries=%d) failed: %d",
             static_cast<void*>(cq_.get()), capacity, count);
    return Rc::kProvider;
  }
  RPMA_LOG(ERROR, "ibv_poll_cq(%p, num_entries=%d) returned %d completions",
           static_cast<void*>(cq_.get()), capacity, count);
  return Rc::kUnknown;
}

}  // namespace rpma
