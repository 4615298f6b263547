// SPDX-License-Identifier: BSD-3-Clause
//
// What one peer tells the other about itself, and its one-byte wire format.

#ifndef RPMA_CORE_PEER_CFG_H_
#define RPMA_CORE_PEER_CFG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rpma {

// Safe to share among threads.
//
// The descriptor: bit 0, direct write to persistent memory; bit 1, native FLUSH
// requests are welcome, written only together with bit 0. librpma 1.3.0 writes
// 0 or 1 and takes any other value for "direct write"; so do we.
class PeerCfg {
 public:
  static constexpr size_t kDescriptorSize = 1;

  PeerCfg() = default;
  explicit PeerCfg(uint8_t descriptor);

  // Writes to the peer reach persistent memory without help of its CPU.
  bool direct_write_to_pmem() const {
    return direct_write_to_pmem_.load(std::memory_order_relaxed);
  }
  void set_direct_write_to_pmem(bool supported) {
    direct_write_to_pmem_.store(supported, std::memory_order_relaxed);
  }

  // The peer grants native FLUSH requests. Known from its descriptor only; the
  // C API has no setter.
  bool native_flush() const { return native_flush_; }

  uint8_t Descriptor() const;

 private:
  std::atomic<bool> direct_write_to_pmem_ = false;
  const bool native_flush_ = false;
};

}  // namespace rpma

#endif  // RPMA_CORE_PEER_CFG_H_
