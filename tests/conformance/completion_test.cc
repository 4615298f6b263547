// SPDX-License-Identifier: BSD-3-Clause
// rpma_cq_get_wc(): how many completions it gives, in which order, and what is
// in them.

#include <algorithm>
#include <array>
#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

class CompletionTest : public ConformanceTest {
 protected:
  // Posts writes of the client with the wr_ids first to last and waits until
  // all have completed: a completion is counted as one by the queue's
  // descriptor.
  void WriteUntilDone(const Pair& pair, uint8_t first, uint8_t last) {
    for (uint8_t wr_id = first; wr_id <= last; ++wr_id) {
      pair.client.region->bytes()[wr_id] = wr_id;
      ASSERT_THAT(pair.client.Write(wr_id, 0, wr_id, 1), IsOk());
    }
    EXPECT_TRUE(BecomesReadable(CompletionFd(pair.client.cq)));
    ComeToRestAfter(pair.server.region->bytes()[0], last);
  }

  // Fetches as many completions as requests were `posted`: in that order, or
  // READs and others each in theirs.
  void ExpectInOrder(rpma_cq* cq, const std::vector<CompletionMatcher>& posted);
};

INSTANTIATE_TEST_SUITE_P(, CompletionTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

void CompletionTest::ExpectInOrder(
    rpma_cq* cq, const std::vector<CompletionMatcher>& posted) {
  std::vector<ibv_wc> wcs;
  while (wcs.size() < posted.size() && !HasFailure()) wcs.push_back(Poll(cq));
  if (provider().completes_in_order) {
    EXPECT_THAT(wcs, ElementsAreArray(posted));
    return;
  }
  EXPECT_THAT(wcs, UnorderedElementsAreArray(posted));
  std::vector<uint64_t> reads;
  std::vector<uint64_t> others;
  for (const ibv_wc& wc : wcs) {
    (wc.opcode == IBV_WC_RDMA_READ ? reads : others).push_back(wc.wr_id);
  }
  EXPECT_TRUE(std::ranges::is_sorted(reads));
  EXPECT_TRUE(std::ranges::is_sorted(others));
}

// Up to `num_entries` completions that wait now.
std::vector<ibv_wc> Fetch(rpma_cq* cq, int num_entries) {
  std::vector<ibv_wc> wcs(static_cast<size_t>(num_entries));
  int got = 0;
  EXPECT_THAT(rpma_cq_get_wc(cq, num_entries, wcs.data(), &got), IsOk());
  wcs.resize(static_cast<size_t>(got));
  return wcs;
}

TEST_P(CompletionTest, EmptyQueueHasNone) {
  const Pair pair = ConnectedPair();
  ibv_wc wc = {};
  int got = 77;
  EXPECT_THAT(rpma_cq_get_wc(pair.client.cq, 1, &wc, nullptr),
              RcIs(RPMA_E_NO_COMPLETION));
  EXPECT_THAT(rpma_cq_get_wc(pair.client.cq, 1, &wc, &got),
              RcIs(RPMA_E_NO_COMPLETION));
  EXPECT_EQ(got, 77);  // as every out-parameter on failure
}

TEST_P(CompletionTest, EachCompletionIsFetchedOnce) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

TEST_P(CompletionTest, BatchesTakeAtMostWhatWasAskedFor) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  WriteUntilDone(pair, 1, 5);
  uint64_t next = 1;
  for (const int batch : {2, 1, 2}) {
    for (const ibv_wc& wc : Fetch(client.cq, batch)) {
      EXPECT_THAT(wc, Succeeded(next++, IBV_WC_RDMA_WRITE, client.qp_num));
    }
  }
  EXPECT_EQ(next, 6u);
  EXPECT_TRUE(IsEmpty(client.cq));
}

TEST_P(CompletionTest, BatchLargerThanTheQueueTakesAll) {
  const Pair pair = ConnectedPair();
  WriteUntilDone(pair, 1, 3);
  EXPECT_EQ(Fetch(pair.client.cq, 100).size(), 3u);
  EXPECT_TRUE(IsEmpty(pair.client.cq));
}

TEST_P(CompletionTest, NumberGotIsSetForOneEntryToo) {
  const Pair pair = ConnectedPair();
  WriteUntilDone(pair, 1, 2);
  ibv_wc wc = {};
  int got = 77;
  ASSERT_THAT(rpma_cq_get_wc(pair.client.cq, 1, &wc, &got), IsOk());
  EXPECT_EQ(got, 1);
}

TEST_P(CompletionTest, EntriesBeyondThoseGotStayAsTheyAre) {
  const Pair pair = ConnectedPair();
  WriteUntilDone(pair, 1, 1);
  std::array<ibv_wc, 2> wcs = {};
  wcs[1].wr_id = 99;
  int got = 0;
  ASSERT_THAT(rpma_cq_get_wc(pair.client.cq, 2, wcs.data(), &got), IsOk());
  EXPECT_EQ(got, 1);
  EXPECT_EQ(wcs[0].wr_id, 1u);
  EXPECT_EQ(wcs[1].wr_id, 99u);
}

TEST_P(CompletionTest, InvalidArgumentsFetchNothing) {
  const Pair pair = ConnectedPair();
  rpma_cq* const cq = pair.client.cq;
  WriteUntilDone(pair, 1, 1);
  std::array<ibv_wc, 2> wcs = {};
  int got = 77;
  EXPECT_THAT(rpma_cq_get_wc(nullptr, 1, wcs.data(), &got), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(cq, 1, nullptr, &got), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(cq, 0, wcs.data(), &got), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(cq, -1, wcs.data(), &got), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(cq, 2, wcs.data(), nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_EQ(got, 77);
  log().Discard();
  EXPECT_THAT(Poll(cq), Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
}

TEST_P(CompletionTest, RequestsOfAllKindsCompleteInTheOrderPosted) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  const uint32_t qp_num = client.qp_num;
  ASSERT_THAT(pair.server.Recv(9, 0, 8), IsOk());
  ASSERT_THAT(client.Write(1, 0, 0, 8), IsOk());
  ASSERT_THAT(client.Read(2, 0, 0, 8), IsOk());
  ASSERT_THAT(client.Send(3, 0, 8), IsOk());
  ASSERT_THAT(client.Flush(4, 0, 8), IsOk());
  ASSERT_THAT(client.AtomicWrite(5, 0, 1), IsOk());
  ASSERT_THAT(client.Read(6, 0, 0, 16), IsOk());
  ASSERT_THAT(client.Write(7, 0, 0, 8), IsOk());
  ExpectInOrder(
      client.cq,
      {Succeeded(1, IBV_WC_RDMA_WRITE, qp_num), ReadSucceeded(2, 8, qp_num),
       Succeeded(3, IBV_WC_SEND, qp_num), ReadSucceeded(4, 8, qp_num),
       Succeeded(5, IBV_WC_RDMA_WRITE, qp_num), ReadSucceeded(6, 16, qp_num),
       Succeeded(7, IBV_WC_RDMA_WRITE, qp_num)});
}

TEST_P(CompletionTest, UnsignalledRequestsLeaveNoGapInTheOrder) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  for (uint64_t wr_id = 1; wr_id <= 9; ++wr_id) {
    ASSERT_THAT(client.Write(wr_id, 0, 0, 8,
                             wr_id % 3 == 0 ? RPMA_F_COMPLETION_ALWAYS
                                            : RPMA_F_COMPLETION_ON_ERROR),
                IsOk());
  }
  for (const uint64_t wr_id : {3u, 6u, 9u}) {
    EXPECT_THAT(Poll(client.cq),
                Succeeded(wr_id, IBV_WC_RDMA_WRITE, client.qp_num));
  }
  EXPECT_TRUE(IsEmpty(client.cq));
}

TEST_P(CompletionTest, ContextComesBackBitForBit) {
  const Pair pair = ConnectedPair();
  for (const uint64_t wr_id : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63,
                               UINT64_MAX - 1, uint64_t{0x123456789abcdef0}}) {
    ASSERT_THAT(pair.server.Recv(wr_id, 0, 8), IsOk());
    ASSERT_THAT(pair.client.Send(wr_id, 0, 8), IsOk());
    EXPECT_THAT(Poll(pair.client.cq),
                Succeeded(wr_id, IBV_WC_SEND, pair.client.qp_num));
    EXPECT_THAT(Poll(pair.server.cq), Received(wr_id, 8, pair.server.qp_num));
  }
}

}  // namespace
}  // namespace rpma::test
