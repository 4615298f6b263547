// SPDX-License-Identifier: BSD-3-Clause
//
// Rights that the uses of memory need.

#include "core/mr_usage.h"

#include <gtest/gtest.h>

namespace rpma {
namespace {

constexpr int kVisibility = RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
constexpr int kPersistent = RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;

TEST(MrUsageTest, AnyKnownUseIsValidAndNothingElse) {
  for (int usage = 1; usage <= 0xFF; ++usage) {
    EXPECT_TRUE(IsValidUsage(usage)) << usage;
  }
  EXPECT_FALSE(IsValidUsage(0));
  EXPECT_FALSE(IsValidUsage(0x100));
  EXPECT_FALSE(IsValidUsage(0x101));
  EXPECT_FALSE(IsValidUsage(-1));
}

TEST(MrUsageTest, EachUseHasItsRights) {
  const DeviceCaps caps;
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_READ_SRC, caps), kMrRemoteRead);
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_READ_DST, caps), kMrLocalWrite);
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_WRITE_SRC, caps), kMrLocalWrite);
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_WRITE_DST, caps),
            kMrRemoteWrite | kMrLocalWrite);
  EXPECT_EQ(AccessFor(kVisibility, caps), kMrRemoteRead);
  EXPECT_EQ(AccessFor(kPersistent, caps), kMrRemoteRead);
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_SEND, caps), 0u);
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_RECV, caps), kMrLocalWrite);
}

TEST(MrUsageTest, UsesAddUp) {
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST |
                          RPMA_MR_USAGE_SEND,
                      DeviceCaps{}),
            kMrRemoteRead | kMrRemoteWrite | kMrLocalWrite);
}

TEST(MrUsageTest, OnIwarpReadsArriveLikeWrites) {
  DeviceCaps caps;
  caps.iwarp = true;
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_READ_DST, caps),
            kMrLocalWrite | kMrRemoteWrite);
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_RECV, caps), kMrLocalWrite);
}

TEST(MrUsageTest, NativeFlushAddsItsRightsToRemoteRead) {
  DeviceCaps caps;
  caps.native_flush = true;
  EXPECT_EQ(AccessFor(kVisibility, caps), kMrRemoteRead | kMrFlushVisibility);
  EXPECT_EQ(AccessFor(kPersistent, caps), kMrRemoteRead | kMrFlushPersistence);
  EXPECT_EQ(AccessFor(RPMA_MR_USAGE_READ_SRC, caps), kMrRemoteRead);
}

TEST(MrUsageTest, SourcesAreOnlyRead) {
  EXPECT_FALSE(NeedsLocalWrite(RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_SEND |
                               RPMA_MR_USAGE_READ_SRC));
  EXPECT_TRUE(NeedsLocalWrite(RPMA_MR_USAGE_READ_DST));
  EXPECT_TRUE(NeedsLocalWrite(RPMA_MR_USAGE_WRITE_DST));
  EXPECT_TRUE(NeedsLocalWrite(RPMA_MR_USAGE_RECV));
}

}  // namespace
}  // namespace rpma
