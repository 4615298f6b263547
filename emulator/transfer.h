// SPDX-License-Identifier: BSD-3-Clause
// How bytes move from one registered memory to another, and in which order they
// become visible to a program that polls the memory (semantics of a DMA write).

#ifndef RPMA_EMULATOR_TRANSFER_H_
#define RPMA_EMULATOR_TRANSFER_H_

#include <cstddef>
#include <span>

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

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_TRANSFER_H_
