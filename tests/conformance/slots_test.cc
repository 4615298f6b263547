// SPDX-License-Identifier: BSD-3-Clause
// How many requests fit into the queues, and when a slot is free again.

#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int kSilent = RPMA_F_COMPLETION_ON_ERROR;

class SlotsTest : public ConformanceTest {
 protected:
  // A pair whose client has four slots in each of its queues.
  Pair PairWithFourSlots() {
    ConnCfg cfg;
    EXPECT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_sq_size(cfg, 4), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_rq_size(cfg, 4), IsOk());
    return ConnectedPair({.client_cfg = cfg});
  }

  void ExpectRefused(int rc, const char* call) {
    EXPECT_THAT(rc, RcIs(RPMA_E_PROVIDER));
    EXPECT_THAT(log().TakeErrors(),
                ElementsAre(AllOf(HasSubstr(call),
                                  HasSubstr("Cannot allocate memory"))));
  }
};

INSTANTIATE_TEST_SUITE_P(
    , SlotsTest,
    ::testing::ValuesIn(With(&Provider::frees_slots_when_polled, Providers())),
    ProviderName);

TEST_P(SlotsTest, FullSendQueueRefusesEveryKindOfRequest) {
  const Pair pair = PairWithFourSlots();
  const End& client = pair.client;
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_THAT(client.Write(i, 8 * i, 0, 8, kSilent), IsOk());
  }
  ExpectRefused(client.Write(5, 0, 0, 8), "ibv_post_send");
  ExpectRefused(client.Read(6, 0, 0, 8), "ibv_post_send");
  ExpectRefused(client.Send(7, 0, 8), "ibv_post_send");
  ExpectRefused(client.AtomicWrite(8, 0, 1), "ibv_post_send");
  ExpectRefused(client.Flush(9, 0, 8), "ibv_post_send");
  EXPECT_TRUE(IsEmpty(client.cq));
  EXPECT_TRUE(IsEmpty(pair.server.cq));
}

TEST_P(SlotsTest, RefusedRequestMovesNothing) {
  const Pair pair = PairWithFourSlots();
  const End& client = pair.client;
  client.region->Fill(0xa5);
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_THAT(client.Write(i, 0, 0, 8, kSilent), IsOk());
  }
  ExpectRefused(client.Write(5, 1024, 0, 8), "ibv_post_send");
  EXPECT_EQ(pair.server.region->bytes()[1024], 0);
}

TEST_P(SlotsTest, PollingACompletionFreesTheSlotsOfAllRequestsBeforeIt) {
  const Pair pair = PairWithFourSlots();
  const End& client = pair.client;
  for (uint64_t round = 0; round < 100; ++round) {
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_THAT(client.Write(i, 0, 0, 8, kSilent), IsOk());
    }
    ASSERT_THAT(client.Write(round, 0, 0, 8), IsOk());
    ExpectRefused(client.Write(5, 0, 0, 8), "ibv_post_send");
    ASSERT_THAT(Poll(client.cq),
                Succeeded(round, IBV_WC_RDMA_WRITE, client.qp_num));
  }
}

TEST_P(SlotsTest, RequestsAfterThePolledOneKeepTheirSlots) {
  const Pair pair = PairWithFourSlots();
  const End& client = pair.client;
  ASSERT_THAT(client.Write(1, 0, 0, 8, kSilent), IsOk());
  ASSERT_THAT(client.Write(2, 0, 0, 8), IsOk());
  ASSERT_THAT(client.Write(3, 0, 0, 8, kSilent), IsOk());
  ASSERT_THAT(client.Write(4, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_RDMA_WRITE, client.qp_num));
  ASSERT_THAT(client.Write(5, 0, 0, 8), IsOk());
  ASSERT_THAT(client.Write(6, 0, 0, 8), IsOk());
  ExpectRefused(client.Write(7, 0, 0, 8), "ibv_post_send");

  for (const uint64_t wr_id : {4u, 5u, 6u}) {
    EXPECT_THAT(Poll(client.cq),
                Succeeded(wr_id, IBV_WC_RDMA_WRITE, client.qp_num));
  }
}

TEST_P(SlotsTest, SlotIsTakenUntilItsCompletionIsPolled) {
  const Pair pair = PairWithFourSlots();
  const End& client = pair.client;
  for (uint64_t i = 1; i <= 4; ++i) {
    ASSERT_THAT(client.Write(i, 0, 0, 8), IsOk());
  }
  EXPECT_TRUE(BecomesReadable(CompletionFd(client.cq)));  // one has completed
  ExpectRefused(client.Write(5, 0, 0, 8), "ibv_post_send");
  for (uint64_t i = 1; i <= 4; ++i) {
    EXPECT_THAT(Poll(client.cq),
                Succeeded(i, IBV_WC_RDMA_WRITE, client.qp_num));
    EXPECT_THAT(client.Write(4 + i, 0, 0, 8), IsOk());
  }
}

TEST_P(SlotsTest, FullReceiveQueueRefusesReceives) {
  const Pair pair = PairWithFourSlots();
  const End& client = pair.client;
  for (uint64_t i = 1; i <= 4; ++i) {
    ASSERT_THAT(client.Recv(i, 0, 8), IsOk());
  }
  ExpectRefused(client.Recv(5, 0, 8), "ibv_post_recv");

  ASSERT_THAT(pair.server.Send(6, 0, 8), IsOk());
  EXPECT_THAT(Poll(client.cq), Received(1, 8, client.qp_num));
  ASSERT_THAT(client.Recv(7, 0, 8), IsOk());
  ExpectRefused(client.Recv(8, 0, 8), "ibv_post_recv");
}

TEST_P(SlotsTest, FullReceiveQueueOfARequestRefusesReceives) {
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_rq_size(cfg, 1), IsOk());
  const Region region(client_peer(), 64);
  const ConnReq request = NewRequest(NewPort(), cfg);
  ASSERT_THAT(rpma_conn_req_recv(request, region.mr(), 0, 8, nullptr), IsOk());
  ExpectRefused(rpma_conn_req_recv(request, region.mr(), 0, 8, nullptr),
                "ibv_post_recv");
}

// --- Queues that may be longer than was asked for ----------------------------

class LongQueueTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, LongQueueTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

TEST_P(LongQueueTest, FullQueueIsGivenAsTheReason) {
  constexpr uint64_t kMost = 10'000;  // 10 were asked for
  const Pair pair = ConnectedPair();
  uint64_t posted = 0;
  while (posted < kMost && pair.client.Recv(posted, 0, 8) == 0) ++posted;
  EXPECT_GE(posted, 10u);
  EXPECT_LT(posted, kMost);
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("the queue is full")));
}

// --- Requests that wait ------------------------------------------------------

class WaitingSlotsTest : public SlotsTest {};

INSTANTIATE_TEST_SUITE_P(
    , WaitingSlotsTest,
    ::testing::ValuesIn(With(&Provider::exact_queue_sizes,
                             With(&Provider::waits_for_receive, Providers()))),
    ProviderName);

TEST_P(WaitingSlotsTest, MessagesWithoutAReceiveFillTheQueue) {
  const Pair pair = PairWithFourSlots();
  const End& client = pair.client;
  for (uint64_t i = 1; i <= 4; ++i) {
    ASSERT_THAT(client.Send(i, 0, 8), IsOk());
  }
  ExpectRefused(client.Send(5, 0, 8), "ibv_post_send");
  for (uint64_t i = 1; i <= 4; ++i) {
    ASSERT_THAT(pair.server.Recv(10 + i, 0, 8), IsOk());
    EXPECT_THAT(Poll(client.cq), Succeeded(i, IBV_WC_SEND, client.qp_num));
    EXPECT_THAT(Poll(pair.server.cq), Received(10 + i, 8, pair.server.qp_num));
  }
  EXPECT_THAT(client.Write(6, 0, 0, 8), IsOk());
}

// --- Completion queues that overrun ------------------------------------------

class OverrunTest : public ConformanceTest {
 protected:
  // Has requested a completion queue of three entries for the client, a size
  // that no provider rounds up, and lets it post four signalled writes.
  Pair OverrunPair() {
    ConnCfg cfg;
    EXPECT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_cq_size(cfg, 3), IsOk());
    Pair pair = ConnectedPair({.client_cfg = cfg});
    EXPECT_THAT(pair.server.Recv(9, 0, 8), IsOk());
    for (uint8_t i = 1; i <= 4; ++i) {
      pair.client.region->bytes()[i] = i;
      EXPECT_THAT(pair.client.Write(i, 0, i, 1), IsOk());
    }
    ComeToRestAfter(pair.server.region->bytes()[0], 4);
    return pair;
  }
  // The completions that found room.
  void ExpectThreeCompletions(const End& end) {
    for (uint64_t i = 1; i <= 3; ++i) {
      EXPECT_THAT(Poll(end.cq), Succeeded(i, IBV_WC_RDMA_WRITE, end.qp_num));
    }
  }
};

class OverrunErrorTest : public OverrunTest {
 protected:
  std::string device_options() const override { return "cq_overrun=error"; }
};

INSTANTIATE_TEST_SUITE_P(, OverrunErrorTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(OverrunErrorTest, QueueFailsOnceItIsDrained) {
  const Pair pair = OverrunPair();
  ExpectThreeCompletions(pair.client);
  ibv_wc wc = {};
  EXPECT_THAT(rpma_cq_get_wc(pair.client.cq, 1, &wc, nullptr),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(HasSubstr("has overrun"), HasSubstr("ibv_poll_cq")));
}

TEST_P(OverrunErrorTest, ConnectionHasFailed) {
  const Pair pair = OverrunPair();
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("has overrun")));
  ExpectEventIff(provider().error_ends_connection, pair.server.conn);
  ASSERT_THAT(pair.server.Send(5, 0, 8), IsOk());
  const uint32_t qp_num = pair.server.qp_num;
  const std::vector<ibv_wc> wcs = {Poll(pair.server.cq), Poll(pair.server.cq)};
  EXPECT_THAT(wcs, UnorderedElementsAre(
                       FailedWith(5, provider().send_to_failed_peer, qp_num),
                       Flushed(9, qp_num)));
}

TEST_P(OverrunErrorTest, ByFlushedRequestsIsNoError) {
  const LogThreshold threshold(RPMA_LOG_LEVEL_INFO);
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  for (uint64_t i = 1; i <= 10; ++i) ASSERT_THAT(client.Recv(i, 0, 8), IsOk());
  for (uint64_t i = 1; i <= 10; ++i) {
    ASSERT_THAT(client.Write(i, 0, 0, 8), IsOk());
  }
  ASSERT_THAT(rpma_conn_disconnect(client.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(log().TakeErrors(), ElementsAre());
  EXPECT_THAT(log().Take(RPMA_LOG_LEVEL_INFO),
              Contains(HasSubstr("has overrun")));
}

class OverrunDropTest : public OverrunTest {
 protected:
  std::string device_options() const override { return "cq_overrun=drop"; }
};

INSTANTIATE_TEST_SUITE_P(, OverrunDropTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(OverrunDropTest, CompletionIsLostAndTheConnectionGoesOn) {
  const Pair pair = OverrunPair();
  ExpectThreeCompletions(pair.client);
  EXPECT_TRUE(IsEmpty(pair.client.cq));
  ASSERT_THAT(pair.client.Send(5, 0, 8), IsOk());
  EXPECT_THAT(Poll(pair.client.cq),
              Succeeded(5, IBV_WC_SEND, pair.client.qp_num));
  EXPECT_THAT(Poll(pair.server.cq), Received(9, 8, pair.server.qp_num));
}

}  // namespace
}  // namespace rpma::test
