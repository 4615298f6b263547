// SPDX-License-Identifier: BSD-3-Clause
// The registered memory that a message comes from or goes to.

#include "emulator/pinned_list.h"

#include <algorithm>

namespace rpma::emu {

PinnedList::PinnedList(uint32_t max_sge)
    : pieces_(std::make_unique<Piece[]>(std::max(max_sge, 1u))),
      slice_(std::make_unique<Piece[]>(std::max(max_sge, 1u))),
      pins_(std::make_unique<MrPin[]>(std::max(max_sge, 1u))) {}

AccessError PinnedList::Pin(MrTable& regions, const ibv_pd* pd,
                            std::span<const ibv_sge> sges, uint64_t length,
                            unsigned rights, ibv_sge* bad) {
  for (ibv_sge sge : sges) {
    if (length == 0) break;
    sge.length = static_cast<uint32_t>(std::min<uint64_t>(sge.length, length));
    length -= sge.length;
    const AccessError error = regions.Access(sge.lkey, pd, sge.addr, sge.length,
                                             rights, &pins_[count_]);
    if (error != AccessError::kNone) {
      *bad = sge;
      Release();
      return error;
    }
    pieces_[count_++] = {reinterpret_cast<std::byte*>(sge.addr), sge.length};
  }
  return AccessError::kNone;
}

void PinnedList::Add(const void* data, size_t size) {
  pieces_[count_++] = {
      const_cast<std::byte*>(static_cast<const std::byte*>(data)), size};
}

std::span<const Piece> PinnedList::Slice(size_t skip, size_t size) {
  size_t pieces = 0;
  for (Piece piece : this->pieces()) {
    const size_t skipped = std::min(skip, piece.size);
    skip -= skipped;
    piece = {piece.data + skipped, std::min(piece.size - skipped, size)};
    size -= piece.size;
    if (piece.size > 0) slice_[pieces++] = piece;
  }
  return {slice_.get(), pieces};
}

void PinnedList::Release() {
  while (count_ > 0) pins_[--count_].Release();
}

}  // namespace rpma::emu
