// SPDX-License-Identifier: BSD-3-Clause
// How bytes move from one registered memory to another, and in which order they
// become visible to a program that polls the memory (semantics of a DMA write).

#ifndef RPMA_EMULATOR_TRANSFER_H_
#define RPMA_EMULATOR_TRANSFER_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emulator/memory_region.h"

namespace rpma::emu {

// Copies `size` bytes in ascending order. Every naturally aligned word of up to
// 8 bytes at the destination is stored at once; the last one is stored with
// release order, so a poller that acquires it sees all others. The ranges may
// overlap, as both sides may be in one process; if `to` is above `from`, what
// the overlap makes of the bytes at `to` is not specified.
//
// Invisible to ThreadSanitizer: a program may poll the destination with plain
// hardware semantics, as it does with a real device.
void Transfer(void* to, const void* from, size_t size);

// Stores 8 bytes at once with release order. REQUIRES: `to` is 8-aligned.
void TransferAtomic(void* to, const void* from);

// Bytes in memory that a transfer touches.
struct Piece {
  std::byte* data = nullptr;
  size_t size = 0;
};

// Copies the bytes of `from`, in order, to the bytes of `to`.
// REQUIRES: `to` is at least as long as `from`.
void Transfer(std::span<const Piece> to, std::span<const Piece> from);

// The memory of a scatter/gather list, pinned while a message moves. All it
// needs is allocated by the constructor.
class PinnedList {
 public:
  explicit PinnedList(uint32_t max_sge);

  // Pins the first `length` bytes of `sges`. On failure nothing stays pinned
  // and *bad is what was refused. REQUIRES: it is empty; sges have so many.
  AccessError Pin(MrTable& regions, const ibv_pd* pd,
                  std::span<const ibv_sge> sges, uint64_t length,
                  unsigned rights, ibv_sge* bad);
  // Memory that needs no key. REQUIRES: it is empty.
  void Add(const void* data, size_t size);
  void Release();

  std::span<const Piece> pieces() const { return {pieces_.get(), count_}; }

 private:
  std::unique_ptr<Piece[]> pieces_;
  std::unique_ptr<MrPin[]> pins_;
  uint32_t count_ = 0;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_TRANSFER_H_
