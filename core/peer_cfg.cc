// SPDX-License-Identifier: BSD-3-Clause

#include "core/peer_cfg.h"

namespace rpma {
namespace {

constexpr uint8_t kDirectWriteBit = 1u << 0;
constexpr uint8_t kNativeFlushBit = 1u << 1;

}  // namespace

PeerCfg::PeerCfg(uint8_t descriptor)
    : direct_write_to_pmem_(descriptor != 0),
      native_flush_((descriptor & kNativeFlushBit) != 0) {}

uint8_t PeerCfg::Descriptor() const {
  if (!direct_write_to_pmem()) return 0;
  return native_flush() ? kDirectWriteBit | kNativeFlushBit : kDirectWriteBit;
}

}  // namespace rpma
