// SPDX-License-Identifier: BSD-3-Clause

#include "core/connection_end.h"

#include "core/log.h"
#include "core/receive.h"
#include "core/shared_receive_queue.h"

namespace rpma {
namespace {

// One scatter/gather entry is all that requests of this library have.
constexpr uint32_t kMaxSge = 1;
// An atomic write without device support carries its 8 bytes inline.
constexpr uint32_t kMaxInlineData = RPMA_ATOMIC_WRITE_ALIGNMENT;

ibv_cq* RecvCq(SharedReceiveQueue* srq, CompletionQueue* rcq,
               CompletionQueue* cq) {
  if (srq != nullptr && srq->rcq() != nullptr) return srq->rcq()->get();
  return rcq != nullptr ? rcq->get() : cq->get();
}

}  // namespace

Rc ConnectionEnd::MoveToOwnChannel() {
  Transport& transport = peer_.transport();
  const Rc rc = CreateEventChannel(transport, &event_channel_);
  if (rc != Rc::kOk) return rc;
  const Errno error = transport.MigrateId(id_.get(), event_channel_.get());
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "rdma_migrate_id() failed: %s", log::Reason(error));
    return Rc::kProvider;
  }
  return Rc::kOk;
}

Rc ConnectionEnd::CreateQueues(const ConnCfg& cfg) {
  if (id_->verbs != peer_.context()) {
    RPMA_LOG(ERROR,
             "the connection is on another device (context %p) than the peer "
             "(%s, context %p)",
             static_cast<void*>(id_->verbs), peer_.caps().name,
             static_cast<void*>(peer_.context()));
    return Rc::kProvider;
  }
  SharedReceiveQueue* const srq = cfg.srq.get();
  const Rc rc = CreateCompletionQueues(cfg, srq);
  return rc == Rc::kOk ? CreateQueuePair(cfg, srq) : rc;
}

Rc ConnectionEnd::CreateCompletionQueues(const ConnCfg& cfg,
                                         SharedReceiveQueue* srq) {
  Rc rc = Rc::kOk;
  if (cfg.shared_channel.get()) rc = CreateCompChannel(peer_, &shared_channel_);
  if (rc == Rc::kOk) {
    rc = CompletionQueue::Create(peer_, cfg.cq_size.get(),
                                 shared_channel_.get(), &cq_);
  }
  const bool srq_has_rcq = srq != nullptr && srq->rcq() != nullptr;
  const uint32_t rcq_size = cfg.rcq_size.get();
  if (rc == Rc::kOk && rcq_size > 0 && !srq_has_rcq) {
    rc = CompletionQueue::Create(peer_, rcq_size, shared_channel_.get(), &rcq_);
  }
  return rc;
}

Rc ConnectionEnd::CreateQueuePair(const ConnCfg& cfg, SharedReceiveQueue* srq) {
  Transport& transport = peer_.transport();
  const DeviceCaps& caps = peer_.caps();
  const QpConfig config = {.pd = peer_.pd(),
                           .send_cq = cq_->get(),
                           .recv_cq = RecvCq(srq, rcq(), cq()),
                           .srq = srq != nullptr ? srq->get() : nullptr,
                           .max_send_wr = cfg.sq_size.get(),
                           .max_recv_wr = cfg.rq_size.get(),
                           .max_sge = kMaxSge,
                           .max_inline_data = kMaxInlineData,
                           .want_atomic_write = caps.native_atomic_write,
                           .want_flush = caps.native_flush};
  const Errno error = transport.CreateQp(id_.get(), config, &qp_caps_);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR,
             "rdma_create_qp_ex(max_send_wr=%u, max_recv_wr=%u) failed: %s; "
             "device %s takes up to %u each",
             config.max_send_wr, config.max_recv_wr, log::Reason(error),
             caps.name, caps.max_qp_wr);
    return Rc::kProvider;
  }
  qp_ = OwnedQp(transport, id_.get());
  return Rc::kOk;
}

Rc ConnectionEnd::Recv(const MrLocal* dst, size_t offset, size_t length,
                       const void* op_context) {
  return PostReceive(peer_, peer_.transport(), qp(), dst, offset, length,
                     op_context);
}

Rc ConnectionEnd::CloseRest() {
  Rc rc = rcq_ ? rcq_->Close() : Rc::kOk;
  if (cq_) rc = FirstError(rc, cq_->Close());
  rc = FirstError(rc, id_.Close());
  rc = FirstError(rc, shared_channel_.DestroyOrAbandon());
  return FirstError(rc, event_channel_.DestroyOrAbandon());
}

}  // namespace rpma
