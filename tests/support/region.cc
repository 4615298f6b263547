// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/region.h"

#include <algorithm>
#include <numeric>

#include "tests/support/pages.h"

namespace rpma::test {

Region::Region(rpma_peer* peer, size_t size, int usage)
    : size_(size), memory_(static_cast<uint8_t*>(AllocatePages(size))) {
  EXPECT_THAT(rpma_mr_reg(peer, memory_.get(), size, usage, mr_.address()),
              IsOk());
}

void Region::Fill(uint8_t value) const { std::ranges::fill(bytes(), value); }

void Number(std::span<uint8_t> bytes, uint8_t first) {
  std::iota(bytes.begin(), bytes.end(), first);
}

MrDescriptor DescriptorOf(const rpma_mr_local* mr) {
  MrDescriptor descriptor = {};
  EXPECT_THAT(rpma_mr_get_descriptor(mr, descriptor.data()), IsOk());
  return descriptor;
}

RemoteMr RemoteOf(const rpma_mr_local* mr) {
  const MrDescriptor descriptor = DescriptorOf(mr);
  RemoteMr remote;
  EXPECT_THAT(rpma_mr_remote_from_descriptor(
                  descriptor.data(), descriptor.size(), remote.address()),
              IsOk());
  return remote;
}

void Region::Free::operator()(uint8_t* memory) const { FreePages(memory); }

}  // namespace rpma::test
