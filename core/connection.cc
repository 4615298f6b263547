// SPDX-License-Identifier: BSD-3-Clause
//
// Making a connection, its events, and its end.

#include "core/connection.h"

#include <utility>

#include "core/cm_event.h"
#include "core/conn_event.h"
#include "core/log.h"

namespace rpma {

namespace {

// librdmacm cuts the two read depths to what the devices of both sides allow.
// A retry count of 7 is the largest; for "receiver not ready" it means for ever
// (InfiniBand specification, Modify QP attributes).
rdma_conn_param ConnParam(const rpma_conn_private_data* pdata) {
  rdma_conn_param param = {};
  if (pdata != nullptr) {
    param.private_data = pdata->ptr;
    param.private_data_len = pdata->len;
  }
  param.responder_resources = RDMA_MAX_RESP_RES;
  param.initiator_depth = RDMA_MAX_INIT_DEPTH;
  param.flow_control = 1;
  param.retry_count = 7;
  param.rnr_retry_count = 7;
  return param;
}

}  // namespace

Connection::Connection(std::unique_ptr<ConnectionEnd> end)
    : transport_(end->peer().transport()),
      qp_(end->qp()),
      peer_(end->peer()),
      native_atomic_write_(end->qp_caps().atomic_write),
      end_(std::move(end)) {}

Rc Connection::Establish(std::unique_ptr<ConnectionEnd> end,
                         const rpma_conn_private_data* pdata,
                         std::unique_ptr<Connection>* out) {
  std::unique_ptr<Connection> connection(new Connection(std::move(end)));
  ConnectionEnd& its_end = *connection->end_;
  Rc rc = Rc::kOk;
  // An incoming request has got its channel already.
  if (its_end.event_channel() == nullptr) rc = its_end.MoveToOwnChannel();
  if (rc != Rc::kOk) return rc;
  rc = connection->flusher_.Register(its_end.peer(), its_end.qp_caps());
  if (rc != Rc::kOk) return rc;

  rdma_conn_param param = ConnParam(pdata);
  rc = its_end.id().Establish(&param);
  if (rc == Rc::kOk) *out = std::move(connection);
  return rc;
}

Rc Connection::Close() {
  const Rc flusher = flusher_.Close();
  const Rc queue_pair = end_->CloseQueuePair();
  if (flusher != Rc::kOk && queue_pair != Rc::kOk) flusher_.AbandonBuffer();
  return FirstError(FirstError(flusher, queue_pair), end_->CloseRest());
}

void Connection::ApplyRemotePeerCfg(const PeerCfg& cfg) {
  direct_write_to_pmem_.store(cfg.direct_write_to_pmem(),
                              std::memory_order_relaxed);
  flusher_.SetGranted(cfg.native_flush());
}

Rc Connection::NextEvent(rpma_conn_event* event) {
  OwnedCmEvent cm_event;
  Rc rc = NextCmEvent(transport_, end_->event_channel(), &cm_event);
  if (rc != Rc::kOk) return rc;

  const rdma_cm_event_type type = cm_event->event;
  const int status = cm_event->status;
  const rpma_conn_event mapped = ConnEventFrom(type);
  if (mapped == RPMA_CONN_ESTABLISHED) {
    end_->private_data().StoreFirst(cm_event->param.conn);
  }
  rc = cm_event.Destroy();
  if (rc != Rc::kOk) return rc;

  if (mapped == RPMA_CONN_UNDEFINED) {
    RPMA_LOG(ERROR, "unexpected event of a connection: %s, status %d",
             CmEventName(type), status);
    return Rc::kUnknown;
  }
  RPMA_LOG(NOTICE, "%s (%s, status %d)", ConnEventName(mapped),
           CmEventName(type), status);
  *event = mapped;
  return Rc::kOk;
}

Rc Connection::Wait(CompletionQueue** cq, bool* is_rcq) {
  if (end_->shared_channel() == nullptr) {
    RPMA_LOG(ERROR,
             "rpma_conn_wait() without a shared completion channel; use "
             "rpma_cq_wait()");
    return Rc::kNotSharedChannel;
  }
  CompletionQueue* found = UnarmedQueue();
  if (found == nullptr) {
    const Rc rc = NextSource(&found);
    if (rc != Rc::kOk) return rc;
  }
  const Rc armed = found->Arm();
  if (armed != Rc::kOk) return armed;
  *cq = found;
  if (is_rcq != nullptr) *is_rcq = found == end_->rcq();
  return Rc::kOk;
}

CompletionQueue* Connection::UnarmedQueue() const {
  for (CompletionQueue* queue : {end_->cq(), end_->rcq()}) {
    if (queue != nullptr && queue->unarmed()) return queue;
  }
  return nullptr;
}

Rc Connection::NextSource(CompletionQueue** out) {
  ibv_cq* source = nullptr;
  const Rc rc = NextCqEvent(transport_, end_->shared_channel(), &source);
  if (rc != Rc::kOk) return rc;
  transport_.AckCqEvents(source, 1);
  for (CompletionQueue* queue : {end_->cq(), end_->rcq()}) {
    if (queue == nullptr || queue->get() != source) continue;
    *out = queue;
    return Rc::kOk;
  }
  RPMA_LOG(ERROR, "completion event of an unknown CQ (%p)",
           static_cast<void*>(source));
  return Rc::kUnknown;
}

Rc Connection::Disconnect() {
  const Errno error = transport_.Disconnect(end_->id().get());
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "rdma_disconnect(qp_num=%u) failed: %s", qp_num(),
             log::Reason(error));
    return Rc::kProvider;
  }
  return Rc::kOk;
}

Rc Connection::GetCompletionFd(int* fd) const {
  const ibv_comp_channel* const channel = end_->shared_channel();
  if (channel == nullptr) {
    RPMA_LOG(ERROR,
             "rpma_conn_get_compl_fd() without a shared completion channel; "
             "use rpma_cq_get_fd()");
    return Rc::kNotSharedChannel;
  }
  *fd = channel->fd;
  return Rc::kOk;
}

}  // namespace rpma
