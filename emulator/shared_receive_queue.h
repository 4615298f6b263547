// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues.

#ifndef RPMA_EMULATOR_SHARED_RECEIVE_QUEUE_H_
#define RPMA_EMULATOR_SHARED_RECEIVE_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace rpma::emu {

class Device;
class QueuePair;
struct ProtectionDomain;

// Threads: all calls, any thread.
class SharedReceiveQueue final : public ibv_srq {
 public:
  SharedReceiveQueue(Device& device, ProtectionDomain& pd, uint32_t max_wr,
                     uint32_t max_sge, uint32_t srq_limit);
  ~SharedReceiveQueue();

  // As QueuePair::PostRecv. Wakes QPs whose remote waits on an RNR NAK, oldest
  // first, as long as receives are left.
  int PostRecv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

  std::atomic<uint32_t> users{0};  // QPs

 private:
  friend class QueuePair;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_SHARED_RECEIVE_QUEUE_H_
