// SPDX-License-Identifier: BSD-3-Clause
// The ring of requests posted to a send queue.

#ifndef RPMA_EMULATOR_SEND_QUEUE_H_
#define RPMA_EMULATOR_SEND_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emulator/completion_queue.h"
#include "emulator/profile.h"
#include "emulator/queue_pair.h"

namespace rpma::emu {

enum class Operation : uint8_t { kSend, kWrite, kRead, kAtomicWrite, kFlush };

// A request as it was posted, with all that was copied then.
struct Request {
  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;
  uint64_t length = 0;  // of the message
  uint64_t skip = 0;    // bytes of it that came before
  uint32_t rkey = 0;
  __be32 imm_data = 0;
  uint32_t num_sge = 0;
  Operation operation = Operation::kSend;
  bool with_imm = false;
  bool inlined = false;
  bool persistent = false;  // FLUSH
  bool signaled = false;
  bool solicited = false;
  bool fence = false;

  // Execution.
  bool started = false;
  bool done = false;
  bool performed = false;    // at the responder, whose answer was lost
  bool late = false;         // a READ that later requests overtook
  uint32_t outstanding = 0;  // READs when this one was sent, itself included
  ibv_wc_status status = IBV_WC_SUCCESS;

  ibv_sge* sges = nullptr;  // its part of the arrays of the queue
  std::byte* inline_data = nullptr;

  // Whether it occupies one of the responder's resources for READs
  // (IBTA 9.4.5, A19.4).
  bool IsReadLike() const {
    return operation == Operation::kRead || operation == Operation::kFlush ||
           operation == Operation::kAtomicWrite;
  }
  bool NeedsReceive() const {
    return operation == Operation::kSend || with_imm;
  }
};

// Requests are named by how many were posted before them. They pass through
// three states in posting order: posted [executed(), end()), executed
// [completed(), executed()), which late READs among them are not yet, and
// completed. A completed request keeps its slot until slots() says otherwise.
//
// Guarded by its owner's lock, except slots(). All it needs is allocated by the
// constructor.
class SendQueue {
 public:
  explicit SendQueue(const QueuePairAttributes& attributes);

  // Each copies a request to the end of the queue. EINVAL: sizes or flags;
  // EOPNOTSUPP: not an operation of `profile`; ENOMEM: no slot is free.
  int Append(const ibv_send_wr& wr, const Profile& profile);
  int Append(const FlushRequest& request, const Profile& profile);
  int Append(const AtomicWriteRequest& request, const Profile& profile);

  uint32_t completed() const { return completed_; }
  uint32_t executed() const { return executed_; }
  uint32_t end() const { return end_; }
  Request& operator[](uint32_t number) { return requests_[number & mask_]; }

  void AdvanceExecuted() { ++executed_; }
  void AdvanceCompleted() { ++completed_; }
  void Clear();  // forgets all requests and frees all slots

  SendQueueSlots& slots() { return slots_; }

 private:
  // The next place with its fields reset, or nullptr: no slot is free.
  Request* NextPlace();
  void CopyData(const ibv_send_wr& wr, Request& request) const;
  void Publish(Request& request, unsigned send_flags);

  const uint32_t max_wr_;
  const uint32_t max_sge_;
  const uint32_t max_inline_;
  const bool signal_all_;
  const uint32_t mask_;  // the ring has a power of two of places
  std::unique_ptr<Request[]> requests_;
  std::unique_ptr<ibv_sge[]> sges_;
  std::unique_ptr<std::byte[]> inline_data_;
  uint32_t completed_ = 0;
  uint32_t executed_ = 0;
  uint32_t end_ = 0;
  SendQueueSlots slots_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_SEND_QUEUE_H_
