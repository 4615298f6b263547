// SPDX-License-Identifier: BSD-3-Clause
//
// The wire format in which a peer describes a memory region to another.

#ifndef RPMA_CORE_MR_DESCRIPTOR_H_
#define RPMA_CORE_MR_DESCRIPTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace rpma {

// 21 bytes, little-endian, without padding: address at 0, length at 8, rkey at
// 16, usage at 20. The format of librpma 1.0 to 1.3.
struct MrDescriptor {
  static constexpr size_t kSize = 21;

  uint64_t address = 0;
  uint64_t length = 0;
  uint32_t rkey = 0;
  uint8_t usage = 0;

  std::array<uint8_t, kSize> Encode() const;

  // `bytes` has at least kSize bytes, of any alignment. Checks nothing.
  static MrDescriptor Decode(const void* bytes);
};

}  // namespace rpma

#endif  // RPMA_CORE_MR_DESCRIPTOR_H_
