// SPDX-License-Identifier: BSD-3-Clause

#include "core/flusher.h"

#include <librpma.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/work_request.h"

namespace rpma {
namespace {

// Reading so much is enough to flush everything written before.
constexpr uint32_t kReadSize = 8;

// Lies in an abandoned buffer, behind what the device writes.
struct Abandoned {
  Abandoned* next;
};
constexpr size_t kLinkOffset = 64;
static_assert(kLinkOffset >= kReadSize);
constinit std::atomic<Abandoned*> abandoned = nullptr;

// The buffer has whole pages to itself: fork() in a process that uses RDMA
// leaves registered pages out of the child (MADV_DONTFORK), which must not
// take other objects of the heap with them.
size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

void Flusher::FreeBuffer::operator()(std::byte* buffer) const {
  ::operator delete (buffer, std::align_val_t{PageSize()});
}

Flusher::Flusher()
    : buffer_(static_cast<std::byte*>(
          ::operator new (PageSize(), std::align_val_t{PageSize()}))) {}

void Flusher::AbandonBuffer() {
  auto* const link = new (buffer_.release() + kLinkOffset)
      Abandoned{abandoned.load(std::memory_order_relaxed)};
  while (!abandoned.compare_exchange_weak(link->next, link)) {
  }
}

Rc Flusher::Register(const Peer& peer, const QpCaps& qp_caps) {
  const Rc rc = peer.RegisterMemory(buffer_.get(), kReadSize,
                                    RPMA_MR_USAGE_READ_DST, &mr_);
  if (rc != Rc::kOk) return rc;
  lkey_ = mr_->lkey;
  can_native_ = qp_caps.flush;
  return Rc::kOk;
}

Errno Flusher::PostNative(Transport& transport, ibv_qp* qp, const Range& range,
                          FlushKind kind, int flags,
                          const void* op_context) const {
  return transport.PostFlush(qp, {.wr_id = WrId(op_context),
                                  .remote_addr = range.address,
                                  .length = range.length,
                                  .rkey = range.rkey,
                                  .kind = kind,
                                  .signaled = WantsCompletion(flags)});
}

Errno Flusher::PostRead(Transport& transport, ibv_qp* qp, const Range& range,
                        int flags, const void* op_context) const {
  SendRequest request(IBV_WR_RDMA_READ, flags, op_context);
  request.SetData({.addr = reinterpret_cast<uintptr_t>(buffer_.get()),
                   .length = static_cast<uint32_t>(
                       std::min<uint64_t>(range.length, kReadSize)),
                   .lkey = lkey_});
  request.SetRemote(range.address, range.rkey);
  return transport.PostSend(qp, request.get());
}

}  // namespace rpma
