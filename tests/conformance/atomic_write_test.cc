// SPDX-License-Identifier: BSD-3-Clause
// rpma_atomic_write(): eight bytes change at once, whether the device has the
// operation or the library makes it of a write.

#include <cstring>
#include <stop_token>
#include <thread>

#include "tests/conformance/arrival.h"
#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

uint64_t LoadWord(const Region& region, size_t offset) {
  const auto* word = reinterpret_cast<const uint64_t*>(&region.bytes()[offset]);
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

class AtomicWriteTest : public ConformanceTest {
 protected:
  ibv_wc_opcode opcode() const { return provider().atomic_write_opcode; }
};

INSTANTIATE_TEST_SUITE_P(, AtomicWriteTest, ::testing::ValuesIn(Providers()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, AtomicWriteTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

TEST_P(AtomicWriteTest, WritesEightBytes) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const std::span<uint8_t> target = pair.server.region->bytes();
  const char source[8] = {'c', 'o', 'm', 'm', 'i', 't', 'e', 'd'};
  ASSERT_THAT(rpma_atomic_write(client.conn, client.remote, 16, source,
                                RPMA_F_COMPLETION_ALWAYS, Context(1)),
              IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, opcode(), client.qp_num));
  AwaitArrival(provider(), client);
  EXPECT_EQ(std::memcmp(&target[16], source, 8), 0);
  EXPECT_THAT(target.first(16), Each(0));
  EXPECT_THAT(target.subspan(24), Each(0));
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_TRUE(IsEmpty(pair.server.cq));
}

TEST_P(AtomicWriteTest, ReachesTheFirstAndTheLastWordOfTheRegion) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.AtomicWrite(1, 0, 0x1111111111111111), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, opcode(), client.qp_num));
  ASSERT_THAT(client.AtomicWrite(2, 4088, 0x2222222222222222), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, opcode(), client.qp_num));
  AwaitArrival(provider(), client);
  EXPECT_EQ(LoadWord(*pair.server.region, 0), 0x1111111111111111u);
  EXPECT_EQ(LoadWord(*pair.server.region, 4088), 0x2222222222222222u);
}

TEST_P(AtomicWriteTest, WithoutACompletionStillWrites) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.AtomicWrite(1, 0, 7, RPMA_F_COMPLETION_ON_ERROR), IsOk());
  ASSERT_THAT(client.AtomicWrite(2, 8, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, opcode(), client.qp_num));
  AwaitArrival(provider(), client);
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_EQ(LoadWord(*pair.server.region, 0), 7u);
}

TEST_P(AtomicWriteTest, NullArgumentsAndNoFlagsAreInvalid) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const char source[8] = {};
  constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;
  EXPECT_THAT(
      rpma_atomic_write(nullptr, client.remote, 0, source, kAlways, nullptr),
      RcIs(RPMA_E_INVAL));
  EXPECT_THAT(
      rpma_atomic_write(client.conn, nullptr, 0, source, kAlways, nullptr),
      RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_atomic_write(client.conn, client.remote, 0, nullptr, kAlways,
                                nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(
      rpma_atomic_write(client.conn, client.remote, 0, source, 0, nullptr),
      RcIs(RPMA_E_INVAL));
  log().Discard();
  EXPECT_TRUE(IsEmpty(client.cq));
}

TEST_P(AtomicWriteTest, OffsetMustBeAMultipleOfEight) {
  const Pair pair = ConnectedPair();
  for (const size_t offset : {1u, 2u, 4u, 7u, 9u, 12u, 4087u}) {
    EXPECT_THAT(pair.client.AtomicWrite(1, offset, 1), RcIs(RPMA_E_INVAL))
        << offset;
  }
  log().Discard();
  EXPECT_TRUE(IsEmpty(pair.client.cq));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));
}

TEST_P(AtomicWriteTest, MustNotLeaveTheRegion) {
  const Pair pair = ConnectedPair({.region_size = 20});
  EXPECT_THAT(pair.client.AtomicWrite(1, 16, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(pair.client.AtomicWrite(1, 24, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(pair.client.AtomicWrite(1, SIZE_MAX - 7, 1), RcIs(RPMA_E_INVAL));
  log().Discard();
  EXPECT_TRUE(IsEmpty(pair.client.cq));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));
}

TEST_P(AtomicWriteTest, AddressMustBeAMultipleOfEight) {
  const Pair pair = ConnectedPair();
  uint8_t* const base = pair.server.region->bytes().data() + 1;
  LocalMr odd;
  ASSERT_THAT(rpma_mr_reg(server_peer(), base, 64, RPMA_MR_USAGE_WRITE_DST,
                          odd.address()),
              IsOk());
  const RemoteMr remote = RemoteOf(odd);
  const char source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const size_t offset : {0u, 7u, 8u}) {
    EXPECT_THAT(rpma_atomic_write(pair.client.conn, remote, offset, source,
                                  RPMA_F_COMPLETION_ALWAYS, nullptr),
                RcIs(RPMA_E_INVAL))
        << offset;
  }
  log().Discard();
  EXPECT_TRUE(IsEmpty(pair.client.cq));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));
}

TEST_P(AtomicWriteTest, NeedsTheRightToWrite) {
  const Pair pair = ConnectedPair({.server_usage = RPMA_MR_USAGE_READ_SRC});
  const End& client = pair.client;
  ASSERT_THAT(client.AtomicWrite(1, 0, 1), IsOk());
  EXPECT_THAT(
      Poll(client.cq),
      EndedRefused(1, provider().RefusedAtomicWrite(IBV_WC_REM_ACCESS_ERR),
                   client.qp_num));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));
  ExpectExplained(client, HasSubstr("lacks REMOTE_WRITE"));
}

TEST_P(AtomicWriteTest, ReadersSeeTheOldOrTheNewWord) {
  constexpr uint32_t kWrites = 5'000;
  const Pair pair = ConnectedPair();
  uint64_t torn = 0;
  uint64_t steps_back = 0;
  std::jthread reader([&](const std::stop_token& stop) {
    uint32_t last = 0;
    for (unsigned i = 0; !stop.stop_requested(); ++i) {
      if (i % 64 == 0) std::this_thread::yield();
      const uint64_t word = LoadWord(*pair.server.region, 8);
      const auto low = static_cast<uint32_t>(word);
      torn += low != word >> 32;
      steps_back += low < last;
      last = low;
    }
  });
  for (uint64_t i = 1; i <= kWrites; ++i) {
    const bool tells = i % 8 == 0;
    ASSERT_THAT(pair.client.AtomicWrite(i, 8, i << 32 | i,
                                        tells ? RPMA_F_COMPLETION_ALWAYS
                                              : RPMA_F_COMPLETION_ON_ERROR),
                IsOk());
    if (!tells) continue;
    ASSERT_THAT(Poll(pair.client.cq),
                Succeeded(i, opcode(), pair.client.qp_num));
  }
  reader.request_stop();
  reader.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(steps_back, 0u);
  EXPECT_EQ(LoadWord(*pair.server.region, 8),
            uint64_t{kWrites} << 32 | kWrites);
}

// --- Behind a message that waits for a receive -------------------------------

class QueuedAtomicWriteTest : public AtomicWriteTest {};

INSTANTIATE_TEST_SUITE_P(, QueuedAtomicWriteTest,
                         ::testing::ValuesIn(With(&Provider::waits_for_receive,
                                                  Providers())),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, QueuedAtomicWriteTest,
                         ::testing::ValuesIn(With(&Provider::waits_for_receive,
                                                  NativeProviders())),
                         ProviderName);

TEST_P(QueuedAtomicWriteTest, SourceMayBeReusedOnReturn) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(client.Send(1, 0, 8), IsOk());
  char source[8];
  for (uint64_t i = 0; i < 4; ++i) {
    std::memset(source, static_cast<int>(0x10 + i), sizeof(source));
    ASSERT_THAT(
        rpma_atomic_write(client.conn, client.remote, 1024 + 8 * i, source,
                          RPMA_F_COMPLETION_ALWAYS, Context(2 + i)),
        IsOk());
  }
  std::memset(source, 0xff, sizeof(source));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));

  ASSERT_THAT(pair.server.Recv(9, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_SEND, client.qp_num));
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(Poll(client.cq), Succeeded(2 + i, opcode(), client.qp_num));
    EXPECT_THAT(pair.server.region->bytes().subspan(1024 + 8 * i, 8),
                Each(0x10 + i));
  }
}

}  // namespace
}  // namespace rpma::test
