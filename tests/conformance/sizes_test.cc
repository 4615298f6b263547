// SPDX-License-Identifier: BSD-3-Clause
// Lengths beyond what a request, a device or 32 bits can hold: refused, never
// truncated.

#include <string>

#include "tests/conformance/fixture.h"
#include "tests/support/pages.h"

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr size_t kGiB = size_t{1} << 30;
constexpr size_t kMaxMessage = 65536;  // of the device

// Lengths that fit 32 bits, but not the device; and lengths that do not.
constexpr size_t kTooLongForTheDevice[] = {kMaxMessage + 1, kGiB + 1, 2 * kGiB,
                                           4 * kGiB - 1};
constexpr size_t kTooLongForVerbs[] = {4 * kGiB, 4 * kGiB + 8, 6 * kGiB};

// Address space of 6 GiB of zeros, of which no page is touched.
class SparseRegion {
 public:
  static constexpr size_t kSize = 6 * kGiB;

  explicit SparseRegion(rpma_peer* peer) : memory_(AllocateSparsePages(kSize)) {
    EXPECT_THAT(rpma_mr_reg(peer, memory_, kSize, kAllUsages, mr_.address()),
                IsOk());
  }
  SparseRegion(const SparseRegion&) = delete;
  SparseRegion& operator=(const SparseRegion&) = delete;
  ~SparseRegion() {
    mr_.reset();
    FreeSparsePages(memory_, kSize);
  }

  rpma_mr_local* mr() const { return mr_; }

 private:
  void* memory_;
  LocalMr mr_;
};

// Requests that move `len` bytes between the beginnings of two regions.
using Post = int (*)(const End& end, const SparseRegion& local, size_t len);
const Post kRequests[] = {
    [](const End& end, const SparseRegion& local, size_t len) {
      return rpma_write(end.conn, end.remote, 0, local.mr(), 0, len,
                        RPMA_F_COMPLETION_ALWAYS, Context(1));
    },
    [](const End& end, const SparseRegion& local, size_t len) {
      return rpma_read(end.conn, local.mr(), 0, end.remote, 0, len,
                       RPMA_F_COMPLETION_ALWAYS, Context(1));
    },
    [](const End& end, const SparseRegion& local, size_t len) {
      return rpma_send(end.conn, local.mr(), 0, len, RPMA_F_COMPLETION_ALWAYS,
                       Context(1));
    },
};

class SizesTest : public ConformanceTest {
 protected:
  std::string device_options() const override {
    return "max_msg_sz=" + std::to_string(kMaxMessage);
  }

  void SetUp() override {
    ConformanceTest::SetUp();
    local_.emplace(client_peer());
    target_.emplace(server_peer());
  }
  void TearDown() override {
    local_.reset();
    target_.reset();
    ConformanceTest::TearDown();
  }

  // A pair whose client is told of the server's sparse region.
  Pair SparsePair() {
    Pair pair = ConnectedPair();
    pair.client.remote = RemoteOf(target_->mr());
    return pair;
  }

  const SparseRegion& local() const { return *local_; }
  const SparseRegion& target() const { return *target_; }

 private:
  std::optional<SparseRegion> local_;
  std::optional<SparseRegion> target_;
};

INSTANTIATE_TEST_SUITE_P(, SizesTest, ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(SizesTest, LongestMessageOfTheDevicePasses) {
  const Pair pair = SparsePair();
  const End& client = pair.client;
  ASSERT_THAT(
      rpma_recv(pair.server.conn, target().mr(), 0, kMaxMessage, Context(2)),
      IsOk());
  for (const Post post : kRequests) {
    ASSERT_THAT(post(client, local(), kMaxMessage), IsOk());
    EXPECT_EQ(Poll(client.cq).status, IBV_WC_SUCCESS);
  }
  EXPECT_THAT(Poll(pair.server.cq),
              Received(2, kMaxMessage, pair.server.qp_num));
}

TEST_P(SizesTest, LengthsBeyondTheDeviceFailTheRequest) {
  for (const size_t len : kTooLongForTheDevice) {
    for (const Post post : kRequests) {
      SCOPED_TRACE(len);
      const Pair pair = SparsePair();
      ASSERT_THAT(post(pair.client, local(), len), IsOk());
      EXPECT_THAT(Poll(pair.client.cq),
                  FailedWith(1, IBV_WC_LOC_LEN_ERR, pair.client.qp_num));
      ExpectExplained(pair.client,
                      HasSubstr("the device's limit is 65536 bytes"));
    }
  }
}

TEST_P(SizesTest, LengthsBeyond32BitsAreInvalid) {
  const Pair pair = SparsePair();
  for (const size_t len : kTooLongForVerbs) {
    for (const Post post : kRequests) {
      EXPECT_THAT(post(pair.client, local(), len), RcIs(RPMA_E_INVAL)) << len;
    }
  }
  log().Discard();
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

TEST_P(SizesTest, WithImmTheSameLengthsAreInvalid) {
  const Pair pair = SparsePair();
  const End& client = pair.client;
  for (const size_t len : kTooLongForVerbs) {
    EXPECT_THAT(
        rpma_write_with_imm(client.conn, client.remote, 0, local().mr(), 0, len,
                            RPMA_F_COMPLETION_ALWAYS, 1, nullptr),
        RcIs(RPMA_E_INVAL));
    EXPECT_THAT(rpma_send_with_imm(client.conn, local().mr(), 0, len,
                                   RPMA_F_COMPLETION_ALWAYS, 1, nullptr),
                RcIs(RPMA_E_INVAL));
  }
  log().Discard();
  EXPECT_TRUE(IsEmpty(client.cq));
}

TEST_P(SizesTest, ReceivesMayBeLongerThanTheDevicesMessages) {
  const Pair pair = SparsePair();
  const End& server = pair.server;
  ASSERT_THAT(
      rpma_recv(server.conn, target().mr(), 0, 4 * kGiB - 1, Context(1)),
      IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
  EXPECT_THAT(Poll(server.cq), Received(1, 8, server.qp_num));
}

TEST_P(SizesTest, ReceivesBeyond32BitsAreInvalid) {
  const Pair pair = ConnectedPair();
  const ConnReq request = NewRequest(NewPort());
  Srq srq;
  ASSERT_THAT(rpma_srq_new(server_peer(), nullptr, srq.address()), IsOk());
  for (const size_t len : kTooLongForVerbs) {
    EXPECT_THAT(rpma_recv(pair.server.conn, target().mr(), 0, len, nullptr),
                RcIs(RPMA_E_INVAL));
    EXPECT_THAT(rpma_srq_recv(srq, target().mr(), 0, len, nullptr),
                RcIs(RPMA_E_INVAL));
    EXPECT_THAT(rpma_conn_req_recv(request, local().mr(), 0, len, nullptr),
                RcIs(RPMA_E_INVAL));
  }
  log().Discard();
}

TEST_P(SizesTest, OffsetsBeyond32BitsAreReached) {
  constexpr size_t kOffset = 5 * kGiB + 3;
  const Pair pair = SparsePair();
  const End& client = pair.client;
  client.region->Fill(0x5a);
  ASSERT_THAT(client.Write(1, kOffset, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, IBV_WC_RDMA_WRITE, client.qp_num));
  client.region->Fill(0);
  ASSERT_THAT(client.Read(2, 0, kOffset, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), ReadSucceeded(2, 8, client.qp_num));
  EXPECT_THAT(client.region->bytes().first(8), Each(0x5a));
}

// --- Flushes have no limit ---------------------------------------------------

TEST_P(SizesTest, FlushOfAnyLengthIsOneRead) {
  const Pair pair = SparsePair();
  const End& client = pair.client;
  for (const size_t len : {kGiB + 1, 4 * kGiB, SparseRegion::kSize}) {
    ASSERT_THAT(client.Flush(1, 0, len), IsOk());
    EXPECT_THAT(Poll(client.cq), ReadSucceeded(1, 8, client.qp_num));
  }
}

class NativeSizesTest : public SizesTest {};

INSTANTIATE_TEST_SUITE_P(Native, NativeSizesTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

TEST_P(NativeSizesTest, FlushLongerThanTheNativeRequestTakesIsARead) {
  const Pair pair = SparsePair();
  const End& client = pair.client;
  ApplyPeerCfg(client, kDirectWriteAndNativeFlush);
  ASSERT_THAT(client.Flush(1, 0, 4 * kGiB - 1), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(1, kWcFlush, client.qp_num));
  for (const size_t len : {4 * kGiB, SparseRegion::kSize}) {
    ASSERT_THAT(client.Flush(2, 0, len), IsOk());
    EXPECT_THAT(Poll(client.cq), ReadSucceeded(2, 8, client.qp_num));
  }
}

}  // namespace
}  // namespace rpma::test
