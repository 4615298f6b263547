// SPDX-License-Identifier: BSD-3-Clause
// Memory regions: registering, descriptors, the other side's view, advice.

#include <algorithm>
#include <array>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MemoryTest : public ConformanceTest {
 protected:
  int Register(void* ptr, size_t size, int usage) {
    LocalMr mr;
    return rpma_mr_reg(server_peer(), ptr, size, usage, mr.address());
  }

  char bytes_[4096] = {};
};

INSTANTIATE_TEST_SUITE_P(, MemoryTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

// --- Registering -------------------------------------------------------------

TEST_P(MemoryTest, EveryUsageCanBeRegistered) {
  for (int usage = 1; usage <= kAllUsages; ++usage) {
    EXPECT_THAT(Register(bytes_, sizeof(bytes_), usage), IsOk()) << usage;
  }
}

TEST_P(MemoryTest, AnyAlignmentAndSizeCanBeRegistered) {
  EXPECT_THAT(Register(bytes_ + 1, 1, kAllUsages), IsOk());
  EXPECT_THAT(Register(bytes_ + 4095, 1, kAllUsages), IsOk());
  EXPECT_THAT(Register(bytes_ + 7, 4089, kAllUsages), IsOk());
}

TEST_P(MemoryTest, SameMemoryCanBeRegisteredTwice) {
  const Region region(server_peer(), 64);
  LocalMr again;
  ASSERT_THAT(rpma_mr_reg(server_peer(), region.bytes().data(), 64,
                          RPMA_MR_USAGE_SEND, again.address()),
              IsOk());
  EXPECT_NE(again, region.mr());
}

TEST_P(MemoryTest, InvalidRegistrations) {
  rpma_mr_local* mr = nullptr;
  EXPECT_THAT(rpma_mr_reg(nullptr, bytes_, 8, kAllUsages, &mr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_reg(server_peer(), nullptr, 8, kAllUsages, &mr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_reg(server_peer(), bytes_, 0, kAllUsages, &mr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_reg(server_peer(), bytes_, 8, kAllUsages, nullptr),
              RcIs(RPMA_E_INVAL));
  for (const int usage : {0, 0x100, 0x1ff, -1}) {
    EXPECT_THAT(rpma_mr_reg(server_peer(), bytes_, 8, usage, &mr),
                RcIs(RPMA_E_INVAL))
        << usage;
  }
  EXPECT_EQ(mr, nullptr);
  log().Discard();
}

TEST_P(MemoryTest, DeregisteringClearsTheHandle) {
  LocalMr mr;
  ASSERT_THAT(rpma_mr_reg(server_peer(), bytes_, 8, kAllUsages, mr.address()),
              IsOk());
  EXPECT_THAT(rpma_mr_dereg(mr.address()), IsOk());
  EXPECT_EQ(mr, nullptr);
  EXPECT_THAT(rpma_mr_dereg(mr.address()), IsOk());
  EXPECT_THAT(rpma_mr_dereg(nullptr), RcIs(RPMA_E_INVAL));
  log().Discard();
}

TEST_P(MemoryTest, RegionKnowsItsAddressAndSize) {
  const Region region(server_peer(), 100);
  void* ptr = nullptr;
  size_t size = 0;
  ASSERT_THAT(rpma_mr_get_ptr(region.mr(), &ptr), IsOk());
  ASSERT_THAT(rpma_mr_get_size(region.mr(), &size), IsOk());
  EXPECT_EQ(ptr, region.bytes().data());
  EXPECT_EQ(size, 100u);

  EXPECT_THAT(rpma_mr_get_ptr(nullptr, &ptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_get_ptr(region.mr(), nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_get_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_get_size(region.mr(), nullptr), RcIs(RPMA_E_INVAL));
  log().Discard();
}

// --- Descriptors -------------------------------------------------------------

template <typename T>
T LittleEndian(const uint8_t* bytes) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8 | bytes[i]);
  }
  return value;
}

TEST_P(MemoryTest, DescriptorIsAddressSizeKeyAndUsage) {
  constexpr int kUsage =
      RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
  const Region region(server_peer(), 4095, kUsage);
  size_t size = 0;
  ASSERT_THAT(rpma_mr_get_descriptor_size(region.mr(), &size), IsOk());
  EXPECT_EQ(size, kMrDescriptorSize);

  std::array<uint8_t, kMrDescriptorSize + 1> bytes;
  bytes.fill(0xee);
  ASSERT_THAT(rpma_mr_get_descriptor(region.mr(), bytes.data()), IsOk());
  EXPECT_EQ(LittleEndian<uint64_t>(bytes.data()),
            reinterpret_cast<uintptr_t>(region.bytes().data()));
  EXPECT_EQ(LittleEndian<uint64_t>(bytes.data() + 8), 4095u);
  EXPECT_NE(LittleEndian<uint32_t>(bytes.data() + 16), 0u);
  EXPECT_EQ(bytes[20], kUsage);
  EXPECT_EQ(bytes[21], 0xee) << "wrote beyond the descriptor";
}

TEST_P(MemoryTest, RegionsHaveDifferentKeys) {
  const Region first(server_peer(), 64);
  const Region second(server_peer(), 64);
  EXPECT_NE(LittleEndian<uint32_t>(first.Descriptor().data() + 16),
            LittleEndian<uint32_t>(second.Descriptor().data() + 16));
}

TEST_P(MemoryTest, InvalidArgumentsOfDescriptors) {
  const Region region(server_peer(), 64);
  MrDescriptor descriptor;
  size_t size = 0;
  EXPECT_THAT(rpma_mr_get_descriptor(nullptr, descriptor.data()),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_get_descriptor(region.mr(), nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_get_descriptor_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_get_descriptor_size(region.mr(), nullptr),
              RcIs(RPMA_E_INVAL));
  log().Discard();
}

// --- The other side's view ---------------------------------------------------

// A descriptor put together by hand.
MrDescriptor Describe(uint64_t address, uint64_t size, uint8_t usage) {
  MrDescriptor bytes = {};
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<uint8_t>(address >> (8 * i));
    bytes[8 + i] = static_cast<uint8_t>(size >> (8 * i));
  }
  bytes[16] = 1;
  bytes[20] = usage;
  return bytes;
}

int FromDescriptor(const MrDescriptor& descriptor) {
  RemoteMr mr;
  return rpma_mr_remote_from_descriptor(descriptor.data(), descriptor.size(),
                                        mr.address());
}

TEST_P(MemoryTest, RemoteRegionHasTheSizeOfItsDescriptor) {
  for (const uint64_t size : {uint64_t{1}, uint64_t{1} << 40}) {
    const MrDescriptor descriptor = Describe(4096, size, kAllUsages);
    RemoteMr mr;
    ASSERT_THAT(rpma_mr_remote_from_descriptor(descriptor.data(),
                                               descriptor.size(), mr.address()),
                IsOk());
    size_t got = 0;
    ASSERT_THAT(rpma_mr_remote_get_size(mr, &got), IsOk());
    EXPECT_EQ(got, size);
  }
}

TEST_P(MemoryTest, RemoteRegionHasTheFlushTypesOfItsUsage) {
  for (int usage = 1; usage <= kAllUsages; ++usage) {
    const MrDescriptor descriptor =
        Describe(4096, 64, static_cast<uint8_t>(usage));
    RemoteMr mr;
    ASSERT_THAT(rpma_mr_remote_from_descriptor(descriptor.data(),
                                               descriptor.size(), mr.address()),
                IsOk());
    int types = -1;
    ASSERT_THAT(rpma_mr_remote_get_flush_type(mr, &types), IsOk());
    EXPECT_EQ(types, usage & (RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
                              RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT));
  }
}

TEST_P(MemoryTest, BytesAfterADescriptorAreIgnored) {
  std::array<uint8_t, 64> longer = {};
  std::ranges::copy(Describe(4096, 77, kAllUsages), longer.begin());
  RemoteMr mr;
  ASSERT_THAT(rpma_mr_remote_from_descriptor(longer.data(), longer.size(),
                                             mr.address()),
              IsOk());
  size_t size = 0;
  ASSERT_THAT(rpma_mr_remote_get_size(mr, &size), IsOk());
  EXPECT_EQ(size, 77u);
}

TEST_P(MemoryTest, DescriptorsOfNoPossibleRegionAreNotSupported) {
  EXPECT_THAT(FromDescriptor(Describe(4096, 0, 1)), RcIs(RPMA_E_NOSUPP));
  EXPECT_THAT(FromDescriptor(Describe(UINT64_MAX, 2, 1)), RcIs(RPMA_E_NOSUPP));
  EXPECT_THAT(FromDescriptor(Describe(4096, UINT64_MAX, 1)),
              RcIs(RPMA_E_NOSUPP));
  log().Discard();
  EXPECT_THAT(FromDescriptor(Describe(UINT64_MAX, 1, 1)), IsOk());
}

TEST_P(MemoryTest, InvalidDescriptors) {
  const MrDescriptor good = Describe(4096, 64, 1);
  rpma_mr_remote* mr = nullptr;
  EXPECT_THAT(FromDescriptor(Describe(4096, 64, 0)), RcIs(RPMA_E_INVAL));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(rpma_mr_remote_from_descriptor(good.data(), size, &mr),
                RcIs(RPMA_E_INVAL))
        << size;
  }
  EXPECT_THAT(rpma_mr_remote_from_descriptor(nullptr, good.size(), &mr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_remote_from_descriptor(good.data(), good.size(), nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_EQ(mr, nullptr);
  log().Discard();
}

TEST_P(MemoryTest, InvalidArgumentsOfRemoteRegions) {
  RemoteMr mr = Region(server_peer(), 64).Remote();
  size_t size = 0;
  int types = 0;
  EXPECT_THAT(rpma_mr_remote_get_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_remote_get_size(mr, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_remote_get_flush_type(nullptr, &types),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_remote_get_flush_type(mr, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_remote_delete(nullptr), RcIs(RPMA_E_INVAL));
  log().Discard();
  EXPECT_THAT(rpma_mr_remote_delete(mr.address()), IsOk());
  EXPECT_EQ(mr, nullptr);
  EXPECT_THAT(rpma_mr_remote_delete(mr.address()), IsOk());
}

// --- Advice ------------------------------------------------------------------

// Advice is for regions paged in on demand; these are pinned.

constexpr int kPrefetch = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;

TEST_P(MemoryTest, PinnedRegionTakesNoAdvice) {
  const int expected = provider().advise_mr ? RPMA_E_INVAL : RPMA_E_NOSUPP;
  const Region region(server_peer(), 8192);
  for (const uint32_t flags : {0u, uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}}) {
    EXPECT_THAT(rpma_mr_advise(region.mr(), 0, 8192, kPrefetch, flags),
                RcIs(expected));
    EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_advise_mr")));
  }
}

TEST_P(MemoryTest, UnknownAdviceIsNotSupported) {
  const Region region(server_peer(), 8192);
  EXPECT_THAT(rpma_mr_advise(region.mr(), 0, 8192, 77, 0), RcIs(RPMA_E_NOSUPP));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_advise_mr")));
}

TEST_P(MemoryTest, UnknownFlagsOfAdviceAreRefused) {
  const int expected = provider().advise_mr ? RPMA_E_INVAL : RPMA_E_NOSUPP;
  const Region region(server_peer(), 8192);
  EXPECT_THAT(rpma_mr_advise(region.mr(), 0, 8192, kPrefetch, 0x80),
              RcIs(expected));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_advise_mr")));
}

TEST_P(MemoryTest, AdviceBeyondTheRegionIsInvalid) {
  const Region region(server_peer(), 8192);
  EXPECT_THAT(rpma_mr_advise(nullptr, 0, 8, kPrefetch, 0), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_advise(region.mr(), 0, 8193, kPrefetch, 0),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_advise(region.mr(), 8193, 0, kPrefetch, 0),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_mr_advise(region.mr(), SIZE_MAX, 2, kPrefetch, 0),
              RcIs(RPMA_E_INVAL));
  log().Discard();
}

}  // namespace
}  // namespace rpma::test
