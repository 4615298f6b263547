// SPDX-License-Identifier: BSD-3-Clause
// In which order requests take effect at the other side. A READ may take effect
// after later requests unless they are fenced (IBTA 10.8.3.3); here the device
// makes READs as late as it may.

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tests/conformance/arrival.h"
#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kSilent = RPMA_F_COMPLETION_ON_ERROR;

class LateReadTest : public ConformanceTest {
 protected:
  std::string device_options() const override { return "reads=late"; }
};

INSTANTIATE_TEST_SUITE_P(, LateReadTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, LateReadTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

// Without this the tests below would show nothing.
TEST_P(LateReadTest, ReadSeesWhatALaterWriteBrings) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  client.region->Fill(0xa5);
  ASSERT_THAT(client.Read(1, 1024, 0, 8), IsOk());
  ASSERT_THAT(client.Write(2, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(1, 8, client.qp_num));
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_THAT(pair.server.region->bytes().first(8), Each(0xa5));
  EXPECT_THAT(client.region->bytes().subspan(1024, 8), Each(0xa5));
}

TEST_P(LateReadTest, ReadCompletesWithoutLaterRequests) {
  const Pair pair = ConnectedPair();
  pair.server.region->Fill(0x5a);
  ASSERT_THAT(pair.client.Read(1, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), ReadSucceeded(1, 8, pair.client.qp_num));
  EXPECT_THAT(pair.client.region->bytes().first(8), Each(0x5a));
}

TEST_P(LateReadTest, CompletionsKeepTheOrderOfPosting) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(pair.server.Recv(9, 0, 8), IsOk());
  ASSERT_THAT(client.Read(1, 0, 0, 8), IsOk());
  ASSERT_THAT(client.Write(2, 0, 0, 8), IsOk());
  ASSERT_THAT(client.Read(3, 0, 0, 16), IsOk());
  ASSERT_THAT(client.Send(4, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(1, 8, client.qp_num));
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(3, 16, client.qp_num));
  EXPECT_THAT(Poll(client.cq), Succeeded(4, IBV_WC_SEND, client.qp_num));
}

TEST_P(LateReadTest, NothingSucceedsAfterAFailedRead) {
  Pair pair = ConnectedPair();
  End& client = pair.client;
  RemoteMr deregistered = Region(server_peer(), 64).Remote();
  std::swap(client.remote, deregistered);
  ASSERT_THAT(client.Read(1, 0, 0, 8), IsOk());
  std::swap(client.remote, deregistered);
  ASSERT_THAT(client.Write(2, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq),
              EndedWith(1, provider().RefusedRead(IBV_WC_REM_ACCESS_ERR),
                        client.qp_num));
  EXPECT_THAT(Poll(client.cq), Flushed(2, client.qp_num));
}

TEST_P(LateReadTest, WritesTakeEffectInOrder) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  for (uint64_t i = 1; i <= 8; ++i) {
    client.region->bytes()[i] = static_cast<uint8_t>(i);
    ASSERT_THAT(client.Read(i, 1024, 0, 8, kSilent), IsOk());
    ASSERT_THAT(client.Write(10 + i, 0, i, 1, kSilent), IsOk());
    ASSERT_THAT(client.Read(20 + i, 1024, 0, 8), IsOk());
    EXPECT_THAT(Poll(client.cq), ReadSucceeded(20 + i, 8, client.qp_num));
    EXPECT_EQ(pair.server.region->bytes()[0], i);
    EXPECT_EQ(client.region->bytes()[1024], i);
  }
}

TEST_P(LateReadTest, AtomicWriteDoesNotOvertakeARead) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  pair.server.region->Fill(0x11);
  ASSERT_THAT(client.Read(1, 1024, 0, 8), IsOk());
  ASSERT_THAT(client.AtomicWrite(2, 0, 0x2222222222222222), IsOk());
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(1, 8, client.qp_num));
  EXPECT_THAT(Poll(client.cq),
              Succeeded(2, provider().atomic_write_opcode, client.qp_num));
  EXPECT_THAT(client.region->bytes().subspan(1024, 8), Each(0x11));
  EXPECT_THAT(pair.server.region->bytes().first(8), Each(0x22));
}

// --- More reads than may be outstanding --------------------------------------

class NarrowReadTest : public ConformanceTest {
 protected:
  std::string device_options() const override {
    return "reads=late max_qp_rd_atom=2 max_qp_init_rd_atom=2";
  }
};

INSTANTIATE_TEST_SUITE_P(, NarrowReadTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, NarrowReadTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

TEST_P(NarrowReadTest, ReadsBeyondTheLimitWaitForTheirTurn) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  Number(pair.server.region->bytes(), 0);
  for (uint64_t i = 0; i < 9; ++i) {
    ASSERT_THAT(client.Read(i, 8 * i, 8 * i, 8), IsOk());
  }
  ASSERT_THAT(client.Write(9, 1024, 0, 8), IsOk());
  for (uint64_t i = 0; i < 9; ++i) {
    EXPECT_THAT(Poll(client.cq), ReadSucceeded(i, 8, client.qp_num));
  }
  EXPECT_THAT(Poll(client.cq), Succeeded(9, IBV_WC_RDMA_WRITE, client.qp_num));
  EXPECT_TRUE(std::ranges::equal(client.region->bytes().first(72),
                                 pair.server.region->bytes().first(72)));
}

class NoReadTest : public ConformanceTest {
 protected:
  std::string device_options() const override { return "max_qp_rd_atom=0"; }
};

INSTANTIATE_TEST_SUITE_P(, NoReadTest, ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(NoReadTest, SideThatServesNoneRefusesARead) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(client.Read(2, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq),
              FailedWith(2, provider().RefusedRead(IBV_WC_REM_INV_REQ_ERR),
                         client.qp_num));
  EXPECT_THAT(Poll(pair.server.cq), Flushed(1, pair.server.qp_num));
  ExpectExplained(client, HasSubstr("serves 0 at a time"));
}

// --- write; flush; atomic write ----------------------------------------------

// The commit of a log: data, then a flush of them, then a word that says they
// are there. Whatever way the connection flushes.
class CommitTest : public LateReadTest {
 protected:
  Pair CommittingPair() {
    Pair pair = ConnectedPair();
    ApplyPeerCfg(pair.client, kDirectWriteAndNativeFlush);
    pair.client.region->Fill(0xd0);
    return pair;
  }
};

INSTANTIATE_TEST_SUITE_P(, CommitTest, ::testing::ValuesIn(Providers()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, CommitTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

TEST_P(CommitTest, WordFollowsTheFlushedData) {
  const Pair pair = CommittingPair();
  const End& client = pair.client;
  for (uint64_t i = 1; i <= 50; ++i) {
    ASSERT_THAT(client.Write(1, 64, 0, 256, kSilent), IsOk());
    ASSERT_THAT(client.Flush(2, 64, 256, RPMA_FLUSH_TYPE_PERSISTENT, kSilent),
                IsOk());
    ASSERT_THAT(client.AtomicWrite(i, 0, i), IsOk());
    ASSERT_THAT(Poll(client.cq),
                Succeeded(i, provider().atomic_write_opcode, client.qp_num));
    AwaitArrival(provider(), client);
    ASSERT_THAT(pair.server.region->bytes().subspan(64, 256), Each(0xd0));
    uint64_t word = 0;
    std::memcpy(&word, pair.server.region->bytes().data(), sizeof(word));
    ASSERT_EQ(word, i);
  }
}

TEST_P(CommitTest, NothingIsCommittedIfTheFlushFailed) {
  Region data(server_peer(), 4096);
  const Pair pair = CommittingPair();
  const End& client = pair.client;
  const RemoteMr gone = data.Remote();
  data.Deregister();
  ASSERT_THAT(rpma_flush(client.conn, gone, 0, 256, RPMA_FLUSH_TYPE_PERSISTENT,
                         kSilent, Context(1)),
              IsOk());
  ASSERT_THAT(client.AtomicWrite(2, 0, UINT64_MAX), IsOk());
  EXPECT_THAT(Poll(client.cq),
              FailedWith(1, provider().RefusedRead(IBV_WC_REM_ACCESS_ERR),
                         client.qp_num));
  EXPECT_THAT(Poll(client.cq), Flushed(2, client.qp_num));
  EXPECT_THAT(pair.server.region->bytes(), Each(0));
}

}  // namespace
}  // namespace rpma::test
