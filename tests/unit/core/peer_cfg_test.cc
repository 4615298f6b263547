// SPDX-License-Identifier: BSD-3-Clause
//
// The peer configuration and its byte on the wire.

#include "core/peer_cfg.h"

#include <gtest/gtest.h>

namespace rpma {
namespace {

TEST(PeerCfgTest, PromisesNothingAtFirst) {
  const PeerCfg cfg;
  EXPECT_FALSE(cfg.direct_write_to_pmem());
  EXPECT_FALSE(cfg.native_flush());
  EXPECT_EQ(cfg.Descriptor(), 0);
}

TEST(PeerCfgTest, DirectWriteIsBitZero) {
  PeerCfg cfg;
  cfg.set_direct_write_to_pmem(true);
  EXPECT_TRUE(cfg.direct_write_to_pmem());
  EXPECT_EQ(cfg.Descriptor(), 1);
  cfg.set_direct_write_to_pmem(false);
  EXPECT_EQ(cfg.Descriptor(), 0);
}

TEST(PeerCfgTest, AnyValueButZeroMeansDirectWrite) {
  EXPECT_FALSE(PeerCfg(0).direct_write_to_pmem());
  for (int value = 1; value <= 255; ++value) {
    EXPECT_TRUE(PeerCfg(static_cast<uint8_t>(value)).direct_write_to_pmem());
  }
}

TEST(PeerCfgTest, NativeFlushIsBitOne) {
  EXPECT_FALSE(PeerCfg(1).native_flush());
  EXPECT_TRUE(PeerCfg(3).native_flush());
  EXPECT_EQ(PeerCfg(1).Descriptor(), 1);
  EXPECT_EQ(PeerCfg(3).Descriptor(), 3);
}

TEST(PeerCfgTest, NativeFlushIsNotWrittenAlone) {
  PeerCfg cfg(3);
  cfg.set_direct_write_to_pmem(false);
  EXPECT_EQ(cfg.Descriptor(), 0);
  EXPECT_EQ(PeerCfg(2).Descriptor(), 3);
}

}  // namespace
}  // namespace rpma
