// SPDX-License-Identifier: BSD-3-Clause
// Many threads on the data path: of one connection, of several, of one shared
// receive queue. Every request completes exactly once and moves its own bytes.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "tests/conformance/arrival.h"
#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;

constexpr uint64_t kThreads = 4;
constexpr uint64_t kPerThread = 250;
constexpr uint64_t kTotal = kThreads * kPerThread;

// Counts completions by wr_id. Any number of threads may use it.
class Tally {
 public:
  void Add(const ibv_wc& wc) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    ASSERT_LT(wc.wr_id, kTotal);
    ++seen_[wc.wr_id];
    ++count_;
  }
  uint64_t count() const { return count_; }
  void ExpectEachOnce() const {
    for (const std::atomic<int>& times : seen_) EXPECT_EQ(times, 1);
  }

 private:
  std::vector<std::atomic<int>> seen_ = std::vector<std::atomic<int>>(kTotal);
  std::atomic<uint64_t> count_ = 0;
};

class ConcurrencyTest : public ConformanceTest {
 protected:
  // Runs body(0) to body(kThreads - 1), each in a thread of its own.
  void InThreads(const std::function<void(uint64_t)>& body) {
    std::vector<std::function<void()>> bodies;
    for (uint64_t i = 0; i < kThreads; ++i) bodies.push_back([=] { body(i); });
    ConformanceTest::InThreads(bodies);
  }

  // A pair whose queues have room for all requests of a test.
  Pair RoomyPair() {
    ConnCfg cfg;
    EXPECT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_sq_size(cfg, 2 * kTotal), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_rq_size(cfg, kTotal), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_cq_size(cfg, 2 * kTotal), IsOk());
    return ConnectedPair(
        {.client_cfg = cfg, .server_cfg = cfg, .region_size = 8 * kTotal});
  }
};

INSTANTIATE_TEST_SUITE_P(, ConcurrencyTest, ::testing::ValuesIn(Providers()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, ConcurrencyTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

// Fetches completions until `tally` has all, together with other threads.
void FetchUntilAll(rpma_cq* cq, Tally& tally) {
  while (tally.count() < kTotal) {
    ibv_wc wcs[7];
    int got = 0;
    const int rc = rpma_cq_get_wc(cq, 7, wcs, &got);
    if (rc == RPMA_E_NO_COMPLETION) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_THAT(rc, IsOk());
    for (int i = 0; i < got; ++i) tally.Add(wcs[i]);
  }
}

// --- One connection ----------------------------------------------------------

TEST_P(ConcurrencyTest, ThreadsWriteOverOneConnection) {
  const Pair pair = RoomyPair();
  const std::span<uint8_t> source = pair.client.region->bytes();
  for (size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<uint8_t>(i * 7 + i / 256);
  }
  Tally tally;
  InThreads([&](uint64_t thread) {
    for (uint64_t i = 0; i < kPerThread; ++i) {
      const uint64_t wr_id = thread * kPerThread + i;
      ASSERT_THAT(pair.client.Write(wr_id, 8 * wr_id, 8 * wr_id, 8), IsOk());
    }
    FetchUntilAll(pair.client.cq, tally);
  });
  tally.ExpectEachOnce();
  AwaitArrival(provider(), pair.client);
  EXPECT_TRUE(std::ranges::equal(source, pair.server.region->bytes()));
}

TEST_P(ConcurrencyTest, ThreadsMixAllOperationsOverOneConnection) {
  const Pair pair = RoomyPair();
  const End& client = pair.client;
  ApplyPeerCfg(client, kDirectWriteAndNativeFlush);
  Tally tally;
  InThreads([&](uint64_t thread) {
    const size_t slot = 64 * thread;
    for (uint64_t i = 0; i < kPerThread; i += 5) {
      const uint64_t wr_id = thread * kPerThread + i;
      ASSERT_THAT(client.Write(wr_id, slot, slot, 8), IsOk());
      ASSERT_THAT(client.Flush(wr_id + 1, slot, 8), IsOk());
      ASSERT_THAT(client.AtomicWrite(wr_id + 2, slot + 8, i), IsOk());
      ASSERT_THAT(client.Read(wr_id + 3, slot + 16, slot + 8, 8), IsOk());
      ASSERT_THAT(client.Write(wr_id + 4, slot + 32, slot + 24, 0), IsOk());
    }
    FetchUntilAll(client.cq, tally);
  });
  tally.ExpectEachOnce();
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    uint64_t word = 0;
    std::memcpy(&word, &pair.server.region->bytes()[64 * thread + 8], 8);
    EXPECT_EQ(word, kPerThread - 5);
  }
}

TEST_P(ConcurrencyTest, BothSidesSendWhileBothReceive) {
  const Pair pair = RoomyPair();
  for (uint64_t i = 0; i < kTotal / 2; ++i) {
    ASSERT_THAT(pair.client.Recv(i, 8 * i, 8), IsOk());
    ASSERT_THAT(pair.server.Recv(i, 8 * i, 8), IsOk());
  }
  Tally client;
  Tally server;
  InThreads([&](uint64_t thread) {
    const End& end = thread % 2 == 0 ? pair.client : pair.server;
    Tally& tally = thread % 2 == 0 ? client : server;
    const uint64_t first = kTotal / 2 + thread / 2 * kPerThread;
    for (uint64_t i = 0; i < kPerThread; ++i) {
      ASSERT_THAT(end.Send(first + i, 0, 8), IsOk());
    }
    FetchUntilAll(end.cq, tally);
  });
  client.ExpectEachOnce();
  server.ExpectEachOnce();
}

// Waits for completions and fetches them until it fetches `last`.
void WaitUntil(uint64_t last, rpma_cq* cq, Tally& tally) {
  for (;;) {
    ASSERT_THAT(rpma_cq_wait(cq), IsOk());
    ibv_wc wc;
    while (rpma_cq_get_wc(cq, 1, &wc, nullptr) == 0) {
      if (wc.wr_id == last) return;
      tally.Add(wc);
    }
  }
}

TEST_P(ConcurrencyTest, ThreadsMayWaitForOneQueue) {
  const Pair pair = RoomyPair();
  Tally tally;
  std::atomic<uint64_t> stopped = 0;
  std::vector<std::jthread> waiters;
  for (uint64_t i = 0; i < kThreads; ++i) {
    waiters.emplace_back([&] {
      WaitUntil(kTotal, pair.client.cq, tally);
      ++stopped;
      stopped.notify_all();
    });
  }
  for (uint64_t wr_id = 0; wr_id < kTotal; ++wr_id) {
    ASSERT_THAT(pair.client.Write(wr_id, 0, 0, 8), IsOk());
  }
  // One more for each waiter, which nobody else may take.
  for (uint64_t i = 0; i < kThreads; ++i) {
    ASSERT_THAT(pair.client.Write(kTotal, 0, 0, 8), IsOk());
    stopped.wait(i);
  }
  tally.ExpectEachOnce();
}

// --- Several connections -----------------------------------------------------

TEST_P(ConcurrencyTest, ConnectionsInThreadsDoNotDisturbEachOther) {
  std::vector<Pair> pairs;
  for (uint64_t i = 0; i < kThreads; ++i) pairs.push_back(RoomyPair());
  InThreads([&](uint64_t thread) {
    const End& client = pairs[thread].client;
    const End& server = pairs[thread].server;
    const auto mark = static_cast<uint8_t>(0x10 + thread);
    client.region->Fill(mark);
    for (uint64_t i = 0; i < kPerThread; ++i) {
      ASSERT_THAT(server.Recv(i, 0, 64), IsOk());
      ASSERT_THAT(client.Write(i, 1024, 0, 64, RPMA_F_COMPLETION_ON_ERROR),
                  IsOk());
      ASSERT_THAT(client.Send(i, 0, 64), IsOk());
      ASSERT_THAT(Poll(client.cq), Succeeded(i, IBV_WC_SEND, client.qp_num));
      ASSERT_THAT(Poll(server.cq), Received(i, 64, server.qp_num));
    }
    EXPECT_THAT(server.region->bytes().first(64), Each(mark));
    EXPECT_THAT(server.region->bytes().subspan(1024, 64), Each(mark));
  });
}

TEST_P(ConcurrencyTest, ConnectionsShareTheirTarget) {
  const Region target(server_peer(), 8 * kTotal);
  std::vector<Pair> pairs;
  for (uint64_t i = 0; i < kThreads; ++i) {
    pairs.push_back(RoomyPair());
    pairs.back().client.remote = target.Remote();
    pairs.back().client.region->Fill(static_cast<uint8_t>(1 + i));
  }
  InThreads([&](uint64_t thread) {
    const End& client = pairs[thread].client;
    for (uint64_t i = 0; i < kPerThread; ++i) {
      ASSERT_THAT(client.Write(i, 8 * (i * kThreads + thread), 0, 8), IsOk());
      ASSERT_THAT(Poll(client.cq),
                  Succeeded(i, IBV_WC_RDMA_WRITE, client.qp_num));
    }
    AwaitArrival(provider(), client);
  });
  for (size_t i = 0; i < kTotal; ++i) {
    ASSERT_THAT(target.bytes().subspan(8 * i, 8), Each(1 + i % kThreads));
  }
}

TEST_P(ConcurrencyTest, PollerSeesTheBytesBeforeTheFlagThatFollowsThem) {
  const Pair pair = RoomyPair();
  const std::span<uint8_t> target = pair.server.region->bytes();
  auto* const flag = reinterpret_cast<uint64_t*>(target.data());
  std::jthread server([&] {
    for (uint64_t round = 1; round <= kPerThread; ++round) {
      while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != round) {
        std::this_thread::yield();
      }
      ASSERT_THAT(target.subspan(64, 256), Each(static_cast<uint8_t>(round)));
      ASSERT_THAT(pair.server.Send(round, 0, 0), IsOk());
    }
  });
  for (uint64_t round = 1; round <= kPerThread; ++round) {
    ASSERT_THAT(pair.client.Recv(round, 0, 0), IsOk());
    pair.client.region->Fill(static_cast<uint8_t>(round));
    ASSERT_THAT(pair.client.Write(0, 64, 0, 256, RPMA_F_COMPLETION_ON_ERROR),
                IsOk());
    ASSERT_THAT(
        pair.client.AtomicWrite(0, 0, round, RPMA_F_COMPLETION_ON_ERROR),
        IsOk());
    ASSERT_THAT(Poll(pair.client.cq), Received(round, 0, pair.client.qp_num));
  }
}

// --- While a region or a connection goes -------------------------------------

TEST_P(ConcurrencyTest, NothingIsWrittenOnceDeregisteringReturned) {
  for (int round = 0; round < 20; ++round) {
    Region target(server_peer(), 4096);
    Pair pair = RoomyPair();
    pair.client.remote = target.Remote();
    pair.client.region->Fill(0xff);
    std::jthread writer([&] {
      for (uint64_t i = 0; i < kTotal; ++i) {
        ASSERT_THAT(pair.client.Write(i, 0, 0, 4096), IsOk());
      }
    });
    target.Deregister();
    target.Fill(0);
    writer.join();
    EXPECT_THAT(target.bytes(), Each(0));
  }
}

TEST_P(ConcurrencyTest, ConnectionMayEndWhileTheOtherSideWrites) {
  for (int round = 0; round < 20; ++round) {
    Pair pair = RoomyPair();
    std::jthread writer([&] {
      for (uint64_t i = 0; i < kPerThread; ++i) {
        ASSERT_THAT(pair.client.Write(i, 0, 0, 64), IsOk());
      }
    });
    ASSERT_THAT(rpma_conn_delete(pair.server.conn.address()), IsOk());
    writer.join();
    for (uint64_t i = 0; i < kPerThread; ++i) {
      ASSERT_EQ(Poll(pair.client.cq).wr_id, i);
    }
  }
}

}  // namespace
}  // namespace rpma::test
