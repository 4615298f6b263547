// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors of memory regions: the bytes, and the regions made from them.

#include "core/mr_remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

#include "core/mr_descriptor.h"
#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<uint8_t, 22> kBytes = {
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,  // address
    0x00, 0x10, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,  // length
    0xD4, 0xC3, 0xB2, 0xA1,                          // rkey
    0x30,                                            // usage
    0xEE};                                           // not of the descriptor

TEST(MrDescriptorTest, IsLittleEndianWithoutPadding) {
  const MrDescriptor region = {.address = 0x0102030405060708,
                               .length = 0x100001000,
                               .rkey = 0xA1B2C3D4,
                               .usage = 0x30};
  EXPECT_THAT(region.Encode(), ::testing::ElementsAreArray(kBytes.begin(), 21));
}

TEST(MrDescriptorTest, IsReadAtAnyAlignment) {
  for (size_t shift = 0; shift < 8; ++shift) {
    std::array<uint8_t, 32> moved = {};
    std::copy(kBytes.begin(), kBytes.end(), moved.begin() + shift);
    const MrDescriptor region = MrDescriptor::Decode(&moved[shift]);
    EXPECT_EQ(region.address, 0x0102030405060708u);
    EXPECT_EQ(region.length, 0x100001000u);
    EXPECT_EQ(region.rkey, 0xA1B2C3D4u);
    EXPECT_EQ(region.usage, 0x30);
  }
}

class MrRemoteTest : public test::CoreTest {
 protected:
  Rc Make(uint64_t address, uint64_t length, uint8_t usage) {
    const auto bytes =
        MrDescriptor{
            .address = address, .length = length, .rkey = 1, .usage = usage}
            .Encode();
    std::unique_ptr<MrRemote> mr;
    const Rc rc = MrRemote::FromDescriptor(bytes.data(), bytes.size(), &mr);
    EXPECT_EQ(mr != nullptr, rc == Rc::kOk);
    return rc;
  }
};

TEST_F(MrRemoteTest, BytesPastTheDescriptorAreIgnored) {
  std::unique_ptr<MrRemote> mr;
  ASSERT_EQ(MrRemote::FromDescriptor(kBytes.data(), kBytes.size(), &mr),
            Rc::kOk);
  EXPECT_EQ(mr->address(), 0x0102030405060708u);
  EXPECT_EQ(mr->size(), 0x100001000u);
  EXPECT_EQ(mr->rkey(), 0xA1B2C3D4u);
  EXPECT_EQ(mr->usage(), 0x30);
}

TEST_F(MrRemoteTest, ShortDescriptorIsInvalid) {
  std::unique_ptr<MrRemote> mr;
  EXPECT_EQ(MrRemote::FromDescriptor(kBytes.data(), 20, &mr), Rc::kInval);
  EXPECT_EQ(mr, nullptr);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("21 bytes, not 20")));
}

TEST_F(MrRemoteTest, UsageOfNothingIsInvalid) {
  EXPECT_EQ(Make(0x1000, 8, 0), Rc::kInval);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(MrRemoteTest, RegionThatCannotExistIsNotSupported) {
  EXPECT_EQ(Make(0x1000, 0, 1), Rc::kNoSupp);
  EXPECT_EQ(Make(UINT64_MAX, 2, 1), Rc::kNoSupp);
  EXPECT_EQ(Make(2, UINT64_MAX, 1), Rc::kNoSupp);
  EXPECT_EQ(log.Take().size(), 3u);
}

TEST_F(MrRemoteTest, RegionMayEndWithTheAddressSpace) {
  EXPECT_EQ(Make(UINT64_MAX, 1, 1), Rc::kOk);
  EXPECT_EQ(Make(1, UINT64_MAX, 1), Rc::kOk);
}

TEST_F(MrRemoteTest, ContainsWhatLiesInside) {
  const auto mr = MakeRemote(0x1000, 100, 1);
  EXPECT_TRUE(mr->Contains(0, 100));
  EXPECT_TRUE(mr->Contains(100, 0));
  EXPECT_FALSE(mr->Contains(101, 0));
  EXPECT_FALSE(mr->Contains(1, 100));
  EXPECT_FALSE(mr->Contains(50, SIZE_MAX - 20));
}

}  // namespace
}  // namespace rpma
