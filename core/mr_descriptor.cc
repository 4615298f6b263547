// SPDX-License-Identifier: BSD-3-Clause

#include "core/mr_descriptor.h"

#include <endian.h>

#include <cstring>

namespace rpma {
namespace {

constexpr size_t kAddressAt = 0;
constexpr size_t kLengthAt = 8;
constexpr size_t kRkeyAt = 16;
constexpr size_t kUsageAt = 20;

}  // namespace

std::array<uint8_t, MrDescriptor::kSize> MrDescriptor::Encode() const {
  const uint64_t le_address = htole64(address);
  const uint64_t le_length = htole64(length);
  const uint32_t le_rkey = htole32(rkey);
  std::array<uint8_t, kSize> bytes;
  std::memcpy(&bytes[kAddressAt], &le_address, sizeof(le_address));
  std::memcpy(&bytes[kLengthAt], &le_length, sizeof(le_length));
  std::memcpy(&bytes[kRkeyAt], &le_rkey, sizeof(le_rkey));
  bytes[kUsageAt] = usage;
  return bytes;
}

MrDescriptor MrDescriptor::Decode(const void* bytes) {
  const auto* const from = static_cast<const uint8_t*>(bytes);
  uint64_t le_address = 0;
  uint64_t le_length = 0;
  uint32_t le_rkey = 0;
  std::memcpy(&le_address, from + kAddressAt, sizeof(le_address));
  std::memcpy(&le_length, from + kLengthAt, sizeof(le_length));
  std::memcpy(&le_rkey, from + kRkeyAt, sizeof(le_rkey));
  return {.address = le64toh(le_address),
          .length = le64toh(le_length),
          .rkey = le32toh(le_rkey),
          .usage = from[kUsageAt]};
}

}  // namespace rpma
