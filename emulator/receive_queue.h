// SPDX-License-Identifier: BSD-3-Clause
// A ring of posted receives, of one queue pair or shared by several.

#ifndef RPMA_EMULATOR_RECEIVE_QUEUE_H_
#define RPMA_EMULATOR_RECEIVE_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>

namespace rpma::emu {

struct Receive {
  uint64_t wr_id = 0;
  uint64_t length = 0;  // of all its buffers
  std::span<const ibv_sge> sges;
};

// Guarded by its owner's lock. All it needs is allocated by the constructor.
class ReceiveQueue {
 public:
  ReceiveQueue(uint32_t max_wr, uint32_t max_sge);

  // Copies the request. EINVAL: too many buffers; ENOMEM: the queue is full.
  int Append(const ibv_recv_wr& wr);

  bool empty() const { return first_ == end_; }
  uint32_t size() const { return end_ - first_; }
  // The oldest receive. REQUIRES: not empty.
  const Receive& front() const { return receives_[first_ & mask_]; }
  // Receives are numbered from 1 in the order of posting.
  uint32_t front_number() const { return first_ + 1; }
  uint32_t posted() const { return end_; }
  void Pop() { ++first_; }
  void Clear() { first_ = end_; }

 private:
  const uint32_t max_wr_;
  const uint32_t max_sge_;
  const uint32_t mask_;  // the ring has a power of two of places
  std::unique_ptr<Receive[]> receives_;
  std::unique_ptr<ibv_sge[]> sges_;  // max_sge_ for each place
  uint32_t first_ = 0;
  uint32_t end_ = 0;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_RECEIVE_QUEUE_H_
