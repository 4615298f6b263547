// SPDX-License-Identifier: BSD-3-Clause
// The registered memory that a message comes from or goes to.

#ifndef RPMA_EMULATOR_PINNED_LIST_H_
#define RPMA_EMULATOR_PINNED_LIST_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emulator/memory_region.h"
#include "emulator/transfer.h"

namespace rpma::emu {

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
  // `size` bytes from `skip` on; valid until the next call.
  // REQUIRES: there are so many.
  std::span<const Piece> Slice(size_t skip, size_t size);

 private:
  std::unique_ptr<Piece[]> pieces_;
  std::unique_ptr<Piece[]> slice_;
  std::unique_ptr<MrPin[]> pins_;
  uint32_t count_ = 0;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_PINNED_LIST_H_
