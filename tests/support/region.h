// SPDX-License-Identifier: BSD-3-Clause
// Registered memory for tests.

#ifndef RPMA_TESTS_SUPPORT_REGION_H_
#define RPMA_TESTS_SUPPORT_REGION_H_

#include <librpma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tests/support/handle.h"

namespace rpma::test {

inline constexpr int kAllUsages = 0xff;
inline constexpr size_t kMrDescriptorSize = 21;
using MrDescriptor = std::array<uint8_t, kMrDescriptorSize>;

// Sets the bytes to first, first + 1 and so on, modulo 256.
void Number(std::span<uint8_t> bytes, uint8_t first);

MrDescriptor DescriptorOf(const rpma_mr_local* mr);
// What the other side makes of the descriptor.
RemoteMr RemoteOf(const rpma_mr_local* mr);

// Page-aligned zero bytes, registered as long as the region lives.
class Region {
 public:
  Region(rpma_peer* peer, size_t size, int usage = kAllUsages);

  std::span<uint8_t> bytes() const { return {memory_.get(), size_}; }
  void Fill(uint8_t value) const;

  rpma_mr_local* mr() const { return mr_; }
  MrDescriptor Descriptor() const { return DescriptorOf(mr_); }
  RemoteMr Remote() const { return RemoteOf(mr_); }

  // Ends the registration early; the bytes stay.
  void Deregister() { mr_.reset(); }

 private:
  struct Free {
    void operator()(uint8_t* memory) const;
  };

  size_t size_;
  std::unique_ptr<uint8_t, Free> memory_;
  LocalMr mr_;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_REGION_H_
