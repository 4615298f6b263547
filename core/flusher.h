// SPDX-License-Identifier: BSD-3-Clause
//
// How a connection flushes: with a native FLUSH request, or by reading back
// (read-after-write: the read pushes the writes before it out of the peer's
// I/O caches). Always with one request, so that a flush is posted as a whole or
// not at all.

#ifndef RPMA_CORE_FLUSHER_H_
#define RPMA_CORE_FLUSHER_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/owned.h"
#include "core/peer.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// Posting is safe from any number of threads, also while SetGranted() runs.
class Flusher {
 public:
  // A remote range of at least one byte, inside its region.
  struct Range {
    uint64_t address = 0;
    uint64_t length = 0;
    uint32_t rkey = 0;
  };

  // Allocates the few bytes that reads land in.
  Flusher();

  // Registers them. kProvider: the registration failed.
  Rc Register(const Peer& peer, const QpCaps& qp_caps);

  // Deregisters them, once. kProvider: the call failed.
  Rc Close() { return mr_.DestroyOrAbandon(); }

  // The device may still write into the buffer: it must never be reused. It
  // stays reachable, so that no checker of leaks reports what is meant.
  void AbandonBuffer();

  // Says whether the peer takes native FLUSH requests. At first it does not.
  void SetGranted(bool granted) {
    native_.store(granted && can_native_, std::memory_order_relaxed);
  }
  // Whether a flush of so many bytes is a native FLUSH, whose length has 32
  // bits. A peer that grants it can be read from as well.
  bool IsNative(uint64_t length) const {
    return length <= UINT32_MAX && native_.load(std::memory_order_relaxed);
  }

  // Posts the flush. On failure nothing has been posted.
  Errno Post(Transport& transport, ibv_qp* qp, const Range& range,
             FlushKind kind, int flags, const void* op_context) const {
    return IsNative(range.length)
               ? PostNative(transport, qp, range, kind, flags, op_context)
               : PostRead(transport, qp, range, flags, op_context);
  }

 private:
  struct FreeBuffer {
    void operator()(std::byte* buffer) const;
  };

  Errno PostNative(Transport& transport, ibv_qp* qp, const Range& range,
                   FlushKind kind, int flags, const void* op_context) const;
  Errno PostRead(Transport& transport, ibv_qp* qp, const Range& range,
                 int flags, const void* op_context) const;

  std::atomic<bool> native_ = false;
  bool can_native_ = false;
  uint32_t lkey_ = 0;
  std::unique_ptr<std::byte, FreeBuffer> buffer_;
  OwnedMr mr_;
};

}  // namespace rpma

#endif  // RPMA_CORE_FLUSHER_H_
