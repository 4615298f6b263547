// SPDX-License-Identifier: BSD-3-Clause
// A reliable-connected queue pair: its state machine, its send queue and what
// each request does at the responder.

#ifndef RPMA_EMULATOR_QUEUE_PAIR_H_
#define RPMA_EMULATOR_QUEUE_PAIR_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "emulator/completion.h"

namespace rpma::emu {

class CompletionQueue;
class Device;
class FarLink;
class FarQp;
class QueuePair;
class SharedReceiveQueue;
struct ProtectionDomain;
namespace wire {
struct Message;
}

// A queue pair, of this process or of another.
struct QpRef {
  QpRef() = default;
  QpRef(std::shared_ptr<QueuePair> qp, std::shared_ptr<FarQp> far_qp = nullptr)
      : near(std::move(qp)), far(std::move(far_qp)) {}
  QpRef(std::shared_ptr<FarQp> qp) : far(std::move(qp)) {}
  explicit operator bool() const { return near != nullptr || far != nullptr; }
  // REQUIRES, for both: there is one.
  uint32_t qp_num() const;
  bool has_srq() const;

  std::shared_ptr<QueuePair> near;
  std::shared_ptr<FarQp> far;
};

// Requests that ibv_send_wr of rdma-core 44 cannot carry.
struct FlushRequest {
  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;
  uint64_t length = 0;
  uint32_t rkey = 0;
  bool persistent = false;  // else to global visibility
  unsigned send_flags = 0;  // ibv_send_flags
};

struct AtomicWriteRequest {
  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;
  const void* source = nullptr;  // 8 bytes, copied when posted
  uint32_t rkey = 0;
  unsigned send_flags = 0;
};

struct QueuePairAttributes {
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  uint32_t max_send_wr = 0;
  uint32_t max_recv_wr = 0;
  uint32_t max_send_sge = 0;
  uint32_t max_recv_sge = 0;
  uint32_t max_inline_data = 0;
  bool sq_sig_all = false;
};

// What the connection manager negotiated.
struct ConnectionAttributes {
  uint8_t max_rd_atomic = 0;       // outstanding READs this side may start
  uint8_t max_dest_rd_atomic = 0;  // and serves
  uint8_t retry_count = 7;
  uint8_t rnr_retry = 7;  // 7: for ever
};

// Threads: all calls, any thread. Post*() executes all it can on the calling
// thread, the responder's part included. In a stepped world nothing but the
// scheduler's steps executes requests, and each executes one.
//
// Lifetime: a connected QP keeps its remote QP's memory through a shared_ptr;
// Destroy() ends all transfers first, so no transfer touches a destroyed QP.
class QueuePair final : public ibv_qp,
                        public std::enable_shared_from_this<QueuePair> {
 public:
  // Made by Device::CreateQp.
  QueuePair(Device& device, ProtectionDomain& pd,
            const QueuePairAttributes& attributes, uint32_t qp_num);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  ~QueuePair();

  // --- State machine: each 0, or EINVAL from a state that does not allow it.
  // What the remote's requests wait for changes with the state, so these calls
  // may execute requests of the remote QP and then call the environment
  // (QueuePairFailed, Log): the caller holds no lock that those take.
  int ToInit();
  // Sets the remote QP; what the remote's requests waited for goes on. ENOMEM
  // is possible, too.
  int ToReadyToReceive(QpRef remote, const ConnectionAttributes& attributes);
  int ToReadyToSend();
  int ToSendQueueDrained();
  int FromSendQueueDrained();
  int ToReset();
  // From any state but RESET: outstanding requests complete with WR_FLUSH, the
  // send queue's first, each queue in posting order. Idempotent.
  int ToError();

  ibv_qp_state State() const;

  // --- Data path. 0, EINVAL (state, opcode, sizes), ENOMEM (queue full:
  // nothing was queued), EOPNOTSUPP (the device lacks the operation). A chain
  // stops at the first failure, which *bad_wr names. Nothing is allocated.
  int PostSend(ibv_send_wr* wr, ibv_send_wr** bad_wr);
  int PostRecv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
  int PostFlush(const FlushRequest& request);
  int PostAtomicWrite(const AtomicWriteRequest& request);

  // Goes on with requests that waited (for a receive, for the remote QP, for a
  // late READ). Called without any lock of the emulator held.
  void Resume();
  // The remote QP will not get ready: what waits for that is from now on
  // without an answer. Called without any lock of the emulator held.
  void EndPatience();

  // --- Messages of the process that has the remote QP, and room for those to
  // it, as FarEnds has them. Called without any lock of the emulator held.
  const char* OnRequest(FarLink& link, const wire::Message& message,
                        std::span<const std::byte> payload);
  const char* OnReply(const FarLink& link, const wire::Message& message,
                      std::span<const std::byte> payload);
  void OnRoom(const FarLink& link);
  void OnEnd(const FarLink& link);

  // Writes one sentence on why the last error completion of this QP arose (an
  // empty string: there was none), NUL-terminated, cut to `size` bytes.
  void Explain(char* text, size_t size) const;

  uint64_t rnr_naks_received() const;

  uint32_t number() const;  // in traces; 0: the world is not stepped

 private:
  friend class Aftermath;
  friend class Device;
  friend class QueuePairSteps;
  friend class SharedReceiveQueue;
  struct Impl;

  // The second half of construction, which needs the shared_ptr.
  void Complete();
  // Ends all transfers and detaches from CQs, SRQ and the remote QP.
  void Destroy();
  // Lets the remote QP go on, whose request found this one without a receive.
  void ResumeRequester();
  // One of its CQs has overrun: to ERR, with QP_FATAL, unless it is there.
  void FailIfOverrun();
  // To ERR, for the reason `why`, a sentence.
  void End(const char* why);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_QUEUE_PAIR_H_
