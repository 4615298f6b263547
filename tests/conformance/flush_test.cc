// SPDX-License-Identifier: BSD-3-Clause
// rpma_flush(): which ranges and types it takes, and what completes, whether
// the device has the operation or the library makes it of a read.

#include <string>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr rpma_flush_type kTypes[] = {RPMA_FLUSH_TYPE_PERSISTENT,
                                      RPMA_FLUSH_TYPE_VISIBILITY};

class FlushTest : public ConformanceTest {
 protected:
  // A pair whose server grants the client every kind of flush.
  Pair FlushingPair(const PairOptions& options = {}) {
    Pair pair = ConnectedPair(options);
    ApplyPeerCfg(pair.client, kDirectWriteAndNativeFlush);
    return pair;
  }

  // A flush that succeeded; a library that reads instead reads `read` bytes.
  CompletionMatcher FlushCompleted(uint64_t wr_id, uint32_t read,
                                   uint32_t qp_num) const {
    return provider().native_flush ? Succeeded(wr_id, kWcFlush, qp_num)
                                   : ReadSucceeded(wr_id, read, qp_num);
  }
};

INSTANTIATE_TEST_SUITE_P(, FlushTest, ::testing::ValuesIn(Providers()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, FlushTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

TEST_P(FlushTest, FollowsAWrite) {
  const Pair pair = FlushingPair();
  const End& client = pair.client;
  client.region->Fill(0xa5);
  for (const rpma_flush_type type : kTypes) {
    ASSERT_THAT(client.Write(1, 0, 0, 64, RPMA_F_COMPLETION_ON_ERROR), IsOk());
    ASSERT_THAT(client.Flush(2, 0, 64, type), IsOk());
    EXPECT_THAT(Poll(client.cq), FlushCompleted(2, 8, client.qp_num));
    EXPECT_THAT(pair.server.region->bytes().first(64), Each(0xa5));
  }
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_TRUE(IsEmpty(pair.server.cq));
}

TEST_P(FlushTest, ChangesNoBytes) {
  const Pair pair = FlushingPair();
  pair.client.region->Fill(0x11);
  pair.server.region->Fill(0x22);
  ASSERT_THAT(pair.client.Flush(1, 0, 4096), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), FlushCompleted(1, 8, pair.client.qp_num));
  EXPECT_THAT(pair.client.region->bytes(), Each(0x11));
  EXPECT_THAT(pair.server.region->bytes(), Each(0x22));
}

TEST_P(FlushTest, WorksFromTheServerToo) {
  const Pair pair = ConnectedPair();
  ApplyPeerCfg(pair.server, kDirectWriteAndNativeFlush);
  ASSERT_THAT(pair.server.Flush(1, 0, 64), IsOk());
  EXPECT_THAT(Poll(pair.server.cq), FlushCompleted(1, 8, pair.server.qp_num));
}

TEST_P(FlushTest, WithoutACompletionIsSilent) {
  const Pair pair = FlushingPair();
  const End& client = pair.client;
  ASSERT_THAT(client.Flush(1, 0, 64, RPMA_FLUSH_TYPE_VISIBILITY,
                           RPMA_F_COMPLETION_ON_ERROR),
              IsOk());
  ASSERT_THAT(client.Flush(2, 0, 64), IsOk());
  EXPECT_THAT(Poll(client.cq), FlushCompleted(2, 8, client.qp_num));
  EXPECT_TRUE(IsEmpty(client.cq));
}

// --- Ranges ------------------------------------------------------------------

TEST_P(FlushTest, EveryRangeWithinTheRegionWorks) {
  struct Range {
    size_t offset;
    size_t len;
    uint32_t read;  // by a flush that reads: what there is, up to 8 bytes
  };
  constexpr Range kRanges[] = {
      {0, 4096, 8}, {4088, 8, 8}, {4089, 7, 7}, {4092, 4, 4}, {4095, 1, 1},
      {0, 1, 1},    {100, 3, 3},  {0, 0, 1},    {17, 0, 1},   {4096, 0, 1},
  };
  const Pair pair = FlushingPair();
  for (const Range& range : kRanges) {
    for (const rpma_flush_type type : kTypes) {
      SCOPED_TRACE("offset " + std::to_string(range.offset) + ", len " +
                   std::to_string(range.len));
      ASSERT_THAT(pair.client.Flush(1, range.offset, range.len, type), IsOk());
      ASSERT_THAT(Poll(pair.client.cq),
                  FlushCompleted(1, range.read, pair.client.qp_num));
    }
  }
}

TEST_P(FlushTest, RegionOfOneByteCanBeFlushed) {
  const Pair pair = FlushingPair({.region_size = 1});
  const End& client = pair.client;
  for (const size_t offset : {0u, 1u}) {
    ASSERT_THAT(client.Flush(1, offset, 1 - offset), IsOk());
    EXPECT_THAT(Poll(client.cq), FlushCompleted(1, 1, client.qp_num));
  }
}

TEST_P(FlushTest, RangePastTheEndIsCutWithOneWarningAConnection) {
  const Pair pair = FlushingPair();
  const End& client = pair.client;
  ASSERT_THAT(client.Flush(1, 4090, 100), IsOk());
  EXPECT_THAT(Poll(client.cq), FlushCompleted(1, 6, client.qp_num));
  EXPECT_THAT(log().Take(RPMA_LOG_LEVEL_WARNING),
              ElementsAre(HasSubstr("100 bytes at offset 4090")));

  ASSERT_THAT(client.Flush(2, 0, SIZE_MAX), IsOk());
  EXPECT_THAT(Poll(client.cq), FlushCompleted(2, 8, client.qp_num));
  ASSERT_THAT(client.Flush(3, 4096, 1), IsOk());
  EXPECT_THAT(Poll(client.cq), FlushCompleted(3, 1, client.qp_num));
  EXPECT_THAT(log().Take(RPMA_LOG_LEVEL_WARNING), ElementsAre());

  const Pair other = FlushingPair();
  ASSERT_THAT(other.client.Flush(4, 0, 4097), IsOk());
  EXPECT_THAT(log().Take(RPMA_LOG_LEVEL_WARNING),
              ElementsAre(HasSubstr("4097 bytes at offset 0")));
}

TEST_P(FlushTest, OffsetBeyondTheRegionIsInvalid) {
  const Pair pair = FlushingPair();
  EXPECT_THAT(pair.client.Flush(1, 4097, 0), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(pair.client.Flush(1, 4097, 8), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(pair.client.Flush(1, SIZE_MAX, 1), RcIs(RPMA_E_INVAL));
  log().Discard();
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

// --- Types and arguments -----------------------------------------------------

TEST_P(FlushTest, UnknownTypeIsInvalid) {
  const Pair pair = FlushingPair();
  for (const int type : {2, 3, 7}) {
    EXPECT_THAT(pair.client.Flush(1, 0, 8, static_cast<rpma_flush_type>(type)),
                RcIs(RPMA_E_INVAL))
        << type;
  }
  log().Discard();
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

TEST_P(FlushTest, NullArgumentsAndNoFlagsAreInvalid) {
  const Pair pair = FlushingPair();
  const End& client = pair.client;
  constexpr auto kVisibility = RPMA_FLUSH_TYPE_VISIBILITY;
  constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;
  EXPECT_THAT(
      rpma_flush(nullptr, client.remote, 0, 8, kVisibility, kAlways, nullptr),
      RcIs(RPMA_E_INVAL));
  EXPECT_THAT(
      rpma_flush(client.conn, nullptr, 0, 8, kVisibility, kAlways, nullptr),
      RcIs(RPMA_E_INVAL));
  EXPECT_THAT(
      rpma_flush(client.conn, client.remote, 0, 8, kVisibility, 0, nullptr),
      RcIs(RPMA_E_INVAL));
  log().Discard();
  EXPECT_TRUE(IsEmpty(client.cq));
}

TEST_P(FlushTest, PersistenceNeedsAPeerThatWritesDirectlyToPmem) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  EXPECT_THAT(client.Flush(1, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT),
              RcIs(RPMA_E_NOSUPP));
  ApplyPeerCfg(client, kNothing);
  EXPECT_THAT(client.Flush(2, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT),
              RcIs(RPMA_E_NOSUPP));
  log().Discard();
  EXPECT_TRUE(IsEmpty(client.cq));

  ASSERT_THAT(client.Flush(3, 0, 8, RPMA_FLUSH_TYPE_VISIBILITY), IsOk());
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(3, 8, client.qp_num));
  ApplyPeerCfg(client, kDirectWriteAndNativeFlush);
  ASSERT_THAT(client.Flush(4, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT), IsOk());
  EXPECT_THAT(Poll(client.cq), FlushCompleted(4, 8, client.qp_num));
}

TEST_P(FlushTest, RegionMustHaveBeenRegisteredForTheType) {
  struct Case {
    int usage;
    rpma_flush_type supported;
    rpma_flush_type unsupported;
  };
  constexpr Case kCases[] = {
      {RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, RPMA_FLUSH_TYPE_PERSISTENT,
       RPMA_FLUSH_TYPE_VISIBILITY},
      {RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, RPMA_FLUSH_TYPE_VISIBILITY,
       RPMA_FLUSH_TYPE_PERSISTENT},
  };
  for (const auto& [usage, supported, unsupported] : kCases) {
    const Pair pair = FlushingPair({.server_usage = usage});
    EXPECT_THAT(pair.client.Flush(1, 0, 8, unsupported), RcIs(RPMA_E_NOSUPP));
    log().Discard();
    EXPECT_TRUE(IsEmpty(pair.client.cq));
    ASSERT_THAT(pair.client.Flush(2, 0, 8, supported), IsOk());
    EXPECT_THAT(Poll(pair.client.cq), FlushCompleted(2, 8, pair.client.qp_num));
  }
}

TEST_P(FlushTest, RegionWithoutFlushUsageSupportsNoType) {
  constexpr int kOthers = kAllUsages & ~(RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT |
                                         RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY);
  const Pair pair = FlushingPair({.server_usage = kOthers});
  for (const rpma_flush_type type : kTypes) {
    EXPECT_THAT(pair.client.Flush(1, 0, 8, type), RcIs(RPMA_E_NOSUPP));
  }
  log().Discard();
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

TEST_P(FlushTest, RegionThatIsGoneCannotBeFlushed) {
  Pair pair = FlushingPair();
  const End& client = pair.client;
  pair.server.region->Deregister();
  ASSERT_THAT(client.Flush(1, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq),
              EndedWith(1, provider().RefusedRead(IBV_WC_REM_ACCESS_ERR),
                        client.qp_num));
  ExpectExplained(client, HasSubstr("was deregistered"));
}

}  // namespace
}  // namespace rpma::test
