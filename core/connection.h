// SPDX-License-Identifier: BSD-3-Clause
//
// A connection: requests to the peer's memory, messages, events, tear-down.

#ifndef RPMA_CORE_CONNECTION_H_
#define RPMA_CORE_CONNECTION_H_

#include <librpma.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/completion_queue.h"
#include "core/connection_end.h"
#include "core/flusher.h"
#include "core/mr_local.h"
#include "core/mr_remote.h"
#include "core/peer.h"
#include "core/peer_cfg.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

class SendRequest;

// Requests may be posted from any number of threads. NextEvent() and Wait():
// one thread at a time each.
//
// Requests, for all that post one. `flags` is RPMA_F_COMPLETION_*; only
// RPMA_F_COMPLETION_ALWAYS asks for a completion of a request that succeeds.
// `op_context` comes back as the wr_id of the completion. kOk: the request is
// queued, and its memory stays in use until it completes. kInval: an offset or
// a length lies outside of its region, or the length does not fit 32 bits;
// nothing was posted. kProvider: the provider refused the request. Regions may
// be nullptr where their offset and all lengths are 0: a request without data.
class alignas(64) Connection {
 public:
  // Makes a connection of `end`: registers what flushing needs, then connects
  // (active) or accepts (passive), with the private data `pdata` unless that is
  // nullptr. Consumes `end` in any case. kProvider: a call failed.
  static Rc Establish(std::unique_ptr<ConnectionEnd> end,
                      const rpma_conn_private_data* pdata,
                      std::unique_ptr<Connection>* out);

  ~Connection() { (void)Close(); }

  // Destroys everything in order: flush region, QP, RCQ, CQ, id, channels. Each
  // step is tried, once; kProvider: one failed. Nothing is left to use.
  Rc Close();

  // --- Requests --------------------------------------------------------------
  Rc Read(const MrLocal* dst, size_t dst_offset, const MrRemote* src,
          size_t src_offset, size_t length, int flags, const void* op_context);
  Rc Write(const MrRemote* dst, size_t dst_offset, const MrLocal* src,
           size_t src_offset, size_t length, int flags, const void* op_context);
  Rc WriteWithImm(const MrRemote* dst, size_t dst_offset, const MrLocal* src,
                  size_t src_offset, size_t length, int flags, uint32_t imm,
                  const void* op_context);
  Rc Send(const MrLocal* src, size_t offset, size_t length, int flags,
          const void* op_context);
  Rc SendWithImm(const MrLocal* src, size_t offset, size_t length, int flags,
                 uint32_t imm, const void* op_context);
  Rc Recv(const MrLocal* dst, size_t offset, size_t length,
          const void* op_context);

  // Writes 8 bytes at once, after every flush posted before has taken effect.
  // kInval also: the offset or the address is not a multiple of 8.
  Rc AtomicWrite(const MrRemote& dst, size_t dst_offset, const void* src,
                 int flags, const void* op_context);

  // Makes the writes posted before it visible or persistent. A length that runs
  // past the end of the region is cut there, which is logged once. kInval: the
  // offset is beyond the region. kNoSupp: the region was not registered for
  // this type, or the peer does not write directly to persistent memory.
  Rc Flush(const MrRemote& dst, size_t dst_offset, size_t length,
           rpma_flush_type type, int flags, const void* op_context);

  // --- Peer, events, tear-down -----------------------------------------------
  // Applies what the peer says about itself to the flushes from now on.
  void ApplyRemotePeerCfg(const PeerCfg& cfg);

  // [blocks] until the connection has an event. kNoEvent: see NextCmEvent().
  // kUnknown: an event that says nothing about a connection. kProvider: it
  // could not be taken or acknowledged.
  Rc NextEvent(rpma_conn_event* event);

  // [blocks] until a CQ of the shared channel raises an event, then arms it
  // again and says which it was. kNotSharedChannel: each CQ has its own
  // channel, use CompletionQueue::Wait(). kNoCompletion: see NextCqEvent().
  // kUnknown: the event is of another CQ. kProvider: it could not be armed; the
  // next call does that first, as CompletionQueue::Wait() does.
  Rc Wait(CompletionQueue** cq, bool* is_rcq);

  // Starts to disconnect. kProvider: the call failed.
  Rc Disconnect();

  // --- What it consists of ---------------------------------------------------
  // kNotSharedChannel: there is no channel for all completions.
  Rc GetCompletionFd(int* fd) const;
  int event_fd() const { return end_->event_channel()->fd; }
  uint32_t qp_num() const { return qp_->qp_num; }
  CompletionQueue* cq() const { return end_->cq(); }
  CompletionQueue* rcq() const { return end_->rcq(); }  // nullptr: none
  // What the peer sent when the connection was made.
  rpma_conn_private_data private_data() const {
    return end_->private_data().View();
  }

 private:
  explicit Connection(std::unique_ptr<ConnectionEnd> end);

  // A CQ of which no event may come, or nullptr.
  CompletionQueue* UnarmedQueue() const;
  // [blocks] until a CQ of the shared channel raises an event; see Wait().
  Rc NextSource(CompletionQueue** out);
  Rc PostWrite(ibv_wr_opcode opcode, const MrRemote* dst, size_t dst_offset,
               const MrLocal* src, size_t src_offset, size_t length, int flags,
               uint32_t imm, const void* op_context);
  Rc PostMessage(ibv_wr_opcode opcode, const MrLocal* src, size_t offset,
                 size_t length, int flags, uint32_t imm,
                 const void* op_context);
  Rc PostNativeAtomicWrite(const AtomicWriteWr& wr);
  Rc PostSend(const char* operation, size_t length, SendRequest& request);
  Rc CheckFlushType(const MrRemote& dst, rpma_flush_type type) const;
  [[gnu::cold]] void WarnOfCut(const MrRemote& dst, size_t offset,
                               size_t length);

  // What requests use comes first, in one cache line.
  Transport& transport_;
  ibv_qp* const qp_;
  const Peer& peer_;
  Flusher flusher_;
  const bool native_atomic_write_;
  std::atomic<bool> direct_write_to_pmem_ = false;
  std::atomic<bool> warned_of_cut_ = false;

  const std::unique_ptr<ConnectionEnd> end_;
};

}  // namespace rpma

#endif  // RPMA_CORE_CONNECTION_H_
