// SPDX-License-Identifier: BSD-3-Clause
//
// A receive queue that several connections share, with its optional receive CQ.

#ifndef RPMA_CORE_SHARED_RECEIVE_QUEUE_H_
#define RPMA_CORE_SHARED_RECEIVE_QUEUE_H_

#include <memory>
#include <optional>

#include "core/completion_queue.h"
#include "core/mr_local.h"
#include "core/owned.h"
#include "core/peer.h"
#include "core/rc.h"
#include "core/srq_cfg.h"

namespace rpma {

class SharedReceiveQueue {
 public:
  // kProvider: a call failed.
  static Rc Create(const Peer& peer, const SrqCfg& cfg,
                   std::unique_ptr<SharedReceiveQueue>* out);

  // Destroys the receive CQ and the queue. Each is tried, once; kProvider: one
  // of the calls failed, with EBUSY if connections still use the queue.
  Rc Close();

  // Posts a receive of up to `length` bytes; see Connection::Recv(). Safe from
  // any number of threads.
  Rc Recv(const MrLocal* dst, size_t offset, size_t length,
          const void* op_context);

  // nullptr if the queue has none: receives then complete on the CQ of the
  // connection on which they arrive.
  CompletionQueue* rcq() const { return rcq_ ? &*rcq_ : nullptr; }
  ibv_srq* get() const { return srq_.get(); }

 private:
  explicit SharedReceiveQueue(const Peer& peer) : peer_(peer) {}

  const Peer& peer_;
  OwnedSrq srq_;
  // Destroyed before the queue. Mutable: a part with an identity of its own,
  // not a value of the queue.
  mutable std::optional<CompletionQueue> rcq_;
};

}  // namespace rpma

#endif  // RPMA_CORE_SHARED_RECEIVE_QUEUE_H_
