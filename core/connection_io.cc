// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of a connection. Hot: no allocation, lock, log or copy on the
// way to the provider; what goes wrong is told by cold functions.

#include <algorithm>
#include <cinttypes>

#include "core/connection.h"
#include "core/log.h"
#include "core/receive.h"
#include "core/request_failure.h"
#include "core/work_request.h"

namespace rpma {

namespace {

[[gnu::cold]] Rc AlignmentFailure(size_t dst_offset, uint64_t address) {
  RPMA_LOG(ERROR,
           "atomic write at offset %zu, address 0x%" PRIx64
           ": both must be multiples of %d",
           dst_offset, address, RPMA_ATOMIC_WRITE_ALIGNMENT);
  return Rc::kInval;
}

}  // namespace

Rc Connection::PostSend(const char* operation, size_t length,
                        SendRequest& request) {
  const Errno error = transport_.PostSend(qp_, request.get());
  if (error != Errno::kOk) [[unlikely]] {
    return PostFailure("ibv_post_send", operation, length, peer_.caps(), error);
  }
  return Rc::kOk;
}

Rc Connection::PostWrite(ibv_wr_opcode opcode, const MrRemote* dst,
                         size_t dst_offset, const MrLocal* src,
                         size_t src_offset, size_t length, int flags,
                         uint32_t imm, const void* op_context) {
  if (!Fits(dst, dst_offset, length)) [[unlikely]] {
    return RangeFailure("write", "remote", dst_offset, length, dst->size());
  }
  if (!Fits(src, src_offset, length)) [[unlikely]] {
    return RangeFailure("write", "local", src_offset, length, src->size());
  }
  SendRequest request(opcode, flags, op_context);
  request.SetData(src, src_offset, length);
  request.SetRemote(dst, dst_offset);
  request.SetImm(imm);
  return PostSend(
      opcode == IBV_WR_RDMA_WRITE ? "write" : "write with immediate", length,
      request);
}

Rc Connection::PostMessage(ibv_wr_opcode opcode, const MrLocal* src,
                           size_t offset, size_t length, int flags,
                           uint32_t imm, const void* op_context) {
  if (!Fits(src, offset, length)) [[unlikely]] {
    return RangeFailure("send", "local", offset, length, src->size());
  }
  SendRequest request(opcode, flags, op_context);
  request.SetData(src, offset, length);
  request.SetImm(imm);
  return PostSend(opcode == IBV_WR_SEND ? "send" : "send with immediate",
                  length, request);
}

Rc Connection::Read(const MrLocal* dst, size_t dst_offset, const MrRemote* src,
                    size_t src_offset, size_t length, int flags,
                    const void* op_context) {
  if (!Fits(dst, dst_offset, length)) [[unlikely]] {
    return RangeFailure("read", "local", dst_offset, length, dst->size());
  }
  if (!Fits(src, src_offset, length)) [[unlikely]] {
    return RangeFailure("read", "remote", src_offset, length, src->size());
  }
  SendRequest request(IBV_WR_RDMA_READ, flags, op_context);
  request.SetData(dst, dst_offset, length);
  request.SetRemote(src, src_offset);
  return PostSend("read", length, request);
}

Rc Connection::Write(const MrRemote* dst, size_t dst_offset, const MrLocal* src,
                     size_t src_offset, size_t length, int flags,
                     const void* op_context) {
  return PostWrite(IBV_WR_RDMA_WRITE, dst, dst_offset, src, src_offset, length,
                   flags, 0, op_context);
}

Rc Connection::WriteWithImm(const MrRemote* dst, size_t dst_offset,
                            const MrLocal* src, size_t src_offset,
                            size_t length, int flags, uint32_t imm,
                            const void* op_context) {
  return PostWrite(IBV_WR_RDMA_WRITE_WITH_IMM, dst, dst_offset, src, src_offset,
                   length, flags, imm, op_context);
}

Rc Connection::Send(const MrLocal* src, size_t offset, size_t length, int flags,
                    const void* op_context) {
  return PostMessage(IBV_WR_SEND, src, offset, length, flags, 0, op_context);
}

Rc Connection::SendWithImm(const MrLocal* src, size_t offset, size_t length,
                           int flags, uint32_t imm, const void* op_context) {
  return PostMessage(IBV_WR_SEND_WITH_IMM, src, offset, length, flags, imm,
                     op_context);
}

Rc Connection::Recv(const MrLocal* dst, size_t offset, size_t length,
                    const void* op_context) {
  return PostReceive(peer_, transport_, qp_, dst, offset, length, op_context);
}

Rc Connection::AtomicWrite(const MrRemote& dst, size_t dst_offset,
                           const void* src, int flags, const void* op_context) {
  constexpr uint32_t kSize = RPMA_ATOMIC_WRITE_ALIGNMENT;
  if (!dst.Contains(dst_offset, kSize)) [[unlikely]] {
    return RangeFailure("atomic write", "remote", dst_offset, kSize,
                        dst.size());
  }
  const uint64_t address = dst.address() + dst_offset;
  if (dst_offset % kSize != 0 || address % kSize != 0) [[unlikely]] {
    return AlignmentFailure(dst_offset, address);
  }
  if (native_atomic_write_) {
    // A flush that reads may take effect after later requests, unless they
    // wait for it; which flushes of this connection read changes with the
    // configuration applied and the length.
    return PostNativeAtomicWrite({.wr_id = WrId(op_context),
                                  .remote_addr = address,
                                  .source = src,
                                  .rkey = dst.rkey(),
                                  .fence = true,
                                  .signaled = WantsCompletion(flags)});
  }
  SendRequest request(IBV_WR_RDMA_WRITE, flags, op_context);
  request.SetData(
      {.addr = reinterpret_cast<uintptr_t>(src), .length = kSize, .lkey = 0});
  request.SetRemote(address, dst.rkey());
  request.AddFlags(IBV_SEND_INLINE | IBV_SEND_FENCE);
  return PostSend("atomic write", kSize, request);
}

Rc Connection::PostNativeAtomicWrite(const AtomicWriteWr& wr) {
  const Errno error = transport_.PostAtomicWrite(qp_, wr);
  if (error != Errno::kOk) [[unlikely]] {
    return PostFailure("ibv_wr_atomic_write", "atomic write",
                       RPMA_ATOMIC_WRITE_ALIGNMENT, peer_.caps(), error);
  }
  return Rc::kOk;
}

Rc Connection::CheckFlushType(const MrRemote& dst, rpma_flush_type type) const {
  const bool persistent = type == RPMA_FLUSH_TYPE_PERSISTENT;
  if (persistent && !direct_write_to_pmem_.load(std::memory_order_relaxed)) {
    RPMA_LOG(ERROR,
             "flush to persistence: the peer configuration applied to the "
             "connection does not say that the peer writes directly to "
             "persistent memory");
    return Rc::kNoSupp;
  }
  const int needed = persistent ? RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT
                                : RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
  if ((dst.usage() & needed) == 0) {
    RPMA_LOG(ERROR,
             "flush of type %s: the remote region was registered with usage "
             "0x%x, which lacks it",
             persistent ? "persistent" : "visibility",
             static_cast<unsigned>(dst.usage()));
    return Rc::kNoSupp;
  }
  return Rc::kOk;
}

Rc Connection::Flush(const MrRemote& dst, size_t dst_offset, size_t length,
                     rpma_flush_type type, int flags, const void* op_context) {
  if (dst_offset > dst.size()) [[unlikely]] {
    return RangeFailure("flush", "remote", dst_offset, length, dst.size());
  }
  const Rc rc = CheckFlushType(dst, type);
  if (rc != Rc::kOk) return rc;

  const size_t rest = dst.size() - dst_offset;
  if (length > rest) [[unlikely]] {
    WarnOfCut(dst, dst_offset, length);
  }
  // Something must be touched, also by a flush of nothing at the very end.
  const size_t first = std::min(dst_offset, dst.size() - 1);
  const size_t flushed = std::max<size_t>(std::min(length, rest), 1);

  const Errno error = flusher_.Post(
      transport_, qp_,
      {.address = dst.address() + first, .length = flushed, .rkey = dst.rkey()},
      type == RPMA_FLUSH_TYPE_PERSISTENT ? FlushKind::kPersistence
                                         : FlushKind::kVisibility,
      flags, op_context);
  if (error != Errno::kOk) [[unlikely]] {
    return PostFailure(
        flusher_.IsNative(flushed) ? "ibv_wr_flush" : "ibv_post_send", "flush",
        flushed, peer_.caps(), error);
  }
  return Rc::kOk;
}

void Connection::WarnOfCut(const MrRemote& dst, size_t offset, size_t length) {
  if (warned_of_cut_.exchange(true, std::memory_order_relaxed)) return;
  RPMA_LOG(WARNING,
           "flush of %zu bytes at offset %zu is cut at the end of a remote "
           "region of %zu bytes (said once for a connection)",
           length, offset, dst.size());
}

}  // namespace rpma
