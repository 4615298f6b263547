// SPDX-License-Identifier: BSD-3-Clause

#include "core/shared_receive_queue.h"

#include <utility>

#include "core/log.h"
#include "core/receive.h"

namespace rpma {

Rc SharedReceiveQueue::Create(const Peer& peer, const SrqCfg& cfg,
                              std::unique_ptr<SharedReceiveQueue>* out) {
  std::unique_ptr<SharedReceiveQueue> queue(new SharedReceiveQueue(peer));
  Transport& transport = peer.transport();
  const uint32_t size = cfg.rq_size.get();
  ibv_srq* srq = nullptr;
  const Errno error = transport.CreateSrq(peer.pd(), size, &srq);
  if (error != Errno::kOk) {
    RPMA_LOG(
        ERROR, "ibv_create_srq(max_wr=%u) failed: %s; device %s takes up to %u",
        size, log::Reason(error), peer.caps().name, peer.caps().max_srq_wr);
    return Rc::kProvider;
  }
  queue->srq_ = OwnedSrq(transport, srq);

  if (const uint32_t rcq_size = cfg.rcq_size.get(); rcq_size > 0) {
    const Rc rc =
        CompletionQueue::Create(peer, rcq_size, nullptr, &queue->rcq_);
    if (rc != Rc::kOk) return rc;
  }
  *out = std::move(queue);
  return Rc::kOk;
}

Rc SharedReceiveQueue::Close() {
  const Rc rc = rcq_ ? rcq_->Close() : Rc::kOk;
  return FirstError(rc, srq_.DestroyOrAbandon());
}

Rc SharedReceiveQueue::Recv(const MrLocal* dst, size_t offset, size_t length,
                            const void* op_context) {
  return PostReceive(peer_, "ibv_post_srq_recv", dst, offset, length,
                     op_context, [this](ibv_recv_wr* wr) {
                       return peer_.transport().PostSrqRecv(srq_.get(), wr);
                     });
}

}  // namespace rpma
