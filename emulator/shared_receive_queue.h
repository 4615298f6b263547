// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues.

#ifndef RPMA_EMULATOR_SHARED_RECEIVE_QUEUE_H_
#define RPMA_EMULATOR_SHARED_RECEIVE_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "emulator/receive_queue.h"

namespace rpma::emu {

class Device;
class QueuePair;
struct ProtectionDomain;

// Threads: all calls, any thread.
class SharedReceiveQueue final : public ibv_srq {
 public:
  // `srq_limit` is armed: SRQ_LIMIT is raised once, when fewer receives are
  // left (0: never). Throws std::bad_alloc.
  SharedReceiveQueue(Device& device, ProtectionDomain& pd, uint32_t max_wr,
                     uint32_t max_sge, uint32_t srq_limit);

  // As QueuePair::PostRecv. Wakes QPs whose remote waits on an RNR NAK, oldest
  // first, as long as receives are left.
  int PostRecv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

  uint32_t number() const { return number_; }  // in traces

  std::atomic<uint32_t> users{0};  // QPs

 private:
  friend class QueuePair;

  // A QP's place in the list of those that found no receive.
  struct Waiting {
    QueuePair* qp = nullptr;  // nullptr: it is not in the list
    Waiting* previous = nullptr;
    Waiting* next = nullptr;
  };

  // REQUIRES: mutex_ is held, here and in the next two.
  void Enlist(Waiting& waiting, QueuePair& qp);
  void Delist(Waiting& waiting);
  void PopReceive();
  // Takes the QP that waits longest, if receives are left, else nullptr.
  std::shared_ptr<QueuePair> TakeWaiting();

  Device& device_;
  const uint32_t number_;
  std::mutex mutex_;
  ReceiveQueue receives_;  // guarded by mutex_, as all below
  uint32_t limit_;
  Waiting* first_waiting_ = nullptr;
  Waiting* last_waiting_ = nullptr;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_SHARED_RECEIVE_QUEUE_H_
