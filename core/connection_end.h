// SPDX-License-Identifier: BSD-3-Clause
//
// Our end of a connection: the CM id with its event channel, queue pair,
// completion queues and private data.

#ifndef RPMA_CORE_CONNECTION_END_H_
#define RPMA_CORE_CONNECTION_END_H_

#include <optional>
#include <utility>

#include "core/cm_id.h"
#include "core/completion_queue.h"
#include "core/conn_cfg.h"
#include "core/mr_local.h"
#include "core/owned.h"
#include "core/peer.h"
#include "core/private_data.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// A connection request builds it and the connection takes it over, so it stays
// at one address all its life. Going out of scope, it unwinds what was built.
class ConnectionEnd {
 public:
  ConnectionEnd(const Peer& peer, CmId id) : peer_(peer), id_(std::move(id)) {}

  // Gives the id an event channel that no other id uses. kProvider: a call
  // failed.
  Rc MoveToOwnChannel();

  // Creates the completion queues and the queue pair. Receives complete on the
  // receive CQ of the SRQ, else on an own one if `cfg` gives it a size, else on
  // the CQ. kProvider: a call failed, or the id is on another device than the
  // peer. REQUIRES: cfg.Check() succeeded
  Rc CreateQueues(const ConnCfg& cfg);

  // Posts a receive; see Connection::Recv().
  Rc Recv(const MrLocal* dst, size_t offset, size_t length,
          const void* op_context);

  // Tear-down in two steps: the queue pair, then all the rest in the order RCQ,
  // CQ, id (see CmId), shared channel, event channel. Every call is tried,
  // once; kProvider: one failed.
  Rc CloseQueuePair() { return qp_.DestroyOrAbandon(); }
  Rc CloseRest();

  const Peer& peer() const { return peer_; }
  CmId& id() { return id_; }
  ibv_qp* qp() const { return id_->qp; }
  const QpCaps& qp_caps() const { return qp_caps_; }
  CompletionQueue* cq() { return cq_ ? &*cq_ : nullptr; }
  CompletionQueue* rcq() { return rcq_ ? &*rcq_ : nullptr; }
  ibv_comp_channel* shared_channel() const { return shared_channel_.get(); }
  rdma_event_channel* event_channel() const { return event_channel_.get(); }
  PrivateData& private_data() { return private_data_; }

 private:
  Rc CreateCompletionQueues(const ConnCfg& cfg, SharedReceiveQueue* srq);
  Rc CreateQueuePair(const ConnCfg& cfg, SharedReceiveQueue* srq);

  const Peer& peer_;
  PrivateData private_data_;
  // In the order of building; destroyed from the last to the first.
  OwnedEventChannel event_channel_;
  OwnedCompChannel shared_channel_;
  CmId id_;
  std::optional<CompletionQueue> cq_;
  std::optional<CompletionQueue> rcq_;
  OwnedQp qp_;
  QpCaps qp_caps_;
};

}  // namespace rpma

#endif  // RPMA_CORE_CONNECTION_END_H_
