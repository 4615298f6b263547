// SPDX-License-Identifier: BSD-3-Clause
// Flushing between devices of which only one has the operation, and only with
// the other side's permission: each combination works, natively or by a read.

#include <string>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;

constexpr char kServerAddress[] = "10.77.0.4";

// The client is on the first device, the server on a second.
class MixedFlushTest : public ConformanceTest {
 protected:
  // The second device has the operation if the first has not.
  void Extend(Emulation& emulation) override {
    emulation.AddDevice("second",
                        std::string("profile=") + provider().name +
                            (provider().native_flush ? " native_flush=off"
                                                     : " native_flush=on"),
                        kServerAddress);
    emulation.AddRoute(kServerAddress);
  }
  const char* server_address() const override { return kServerAddress; }

  // Writes, flushes both ways, and expects that the flush was a read.
  void ExpectReads(const End& end, const Region& target, uint8_t peer_cfg) {
    ApplyPeerCfg(end, peer_cfg);
    end.region->Fill(0xa5);
    for (const rpma_flush_type type :
         {RPMA_FLUSH_TYPE_PERSISTENT, RPMA_FLUSH_TYPE_VISIBILITY}) {
      ASSERT_THAT(end.Write(1, 0, 0, 64, RPMA_F_COMPLETION_ON_ERROR), IsOk());
      ASSERT_THAT(end.Flush(2, 0, 64, type), IsOk());
      EXPECT_THAT(Poll(end.cq), ReadSucceeded(2, 8, end.qp_num));
      EXPECT_THAT(target.bytes().first(64), Each(0xa5));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(, MixedFlushTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, MixedFlushTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

// Only a peer with the operation grants it.
TEST_P(MixedFlushTest, SideWithoutTheOperationReads) {
  const Pair pair = ConnectedPair();
  const bool client_is_native = provider().native_flush;
  const End& end = client_is_native ? pair.server : pair.client;
  const End& other = client_is_native ? pair.client : pair.server;
  ExpectReads(end, *other.region, kDirectWriteAndNativeFlush);
}

TEST_P(MixedFlushTest, SideWithTheOperationReadsIfThePeerHasNot) {
  const Pair pair = ConnectedPair();
  const bool client_is_native = provider().native_flush;
  const End& end = client_is_native ? pair.client : pair.server;
  const End& other = client_is_native ? pair.server : pair.client;
  ExpectReads(end, *other.region, kDirectWrite);
}

// --- Two devices that both have it -------------------------------------------

class GrantedFlushTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(Native, GrantedFlushTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

TEST_P(GrantedFlushTest, OnlyBitOneOfTheDescriptorGrantsIt) {
  const struct {
    uint8_t descriptor;
    bool native;
  } kCases[] = {{kDirectWrite, false},
                {kDirectWriteAndNativeFlush, true},
                {4, false},  // as librpma 1.3.0: any other value is bit 0
                {kDirectWrite, false}};
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  for (const auto& [descriptor, native] : kCases) {
    ApplyPeerCfg(client, descriptor);
    ASSERT_THAT(client.Flush(1, 0, 64, RPMA_FLUSH_TYPE_PERSISTENT), IsOk());
    EXPECT_THAT(Poll(client.cq), native ? Succeeded(1, kWcFlush, client.qp_num)
                                        : ReadSucceeded(1, 8, client.qp_num));
  }
}

TEST_P(GrantedFlushTest, VisibilityIsFlushedByAReadUntilThePeerGrantsMore) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.Flush(1, 0, 64), IsOk());
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(1, 8, client.qp_num));
  ApplyPeerCfg(client, kDirectWriteAndNativeFlush);
  ASSERT_THAT(client.Flush(2, 0, 64), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, kWcFlush, client.qp_num));
}

}  // namespace
}  // namespace rpma::test
