// SPDX-License-Identifier: BSD-3-Clause
// Many threads on one fabric: posting, polling, deregistering and destroying at
// the same time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::HasSubstr;

void RunInThreads(std::vector<std::function<void()>> bodies) {
  std::vector<std::thread> threads;
  for (auto& body : bodies) threads.emplace_back(std::move(body));
  for (std::thread& thread : threads) thread.join();
}

TEST(DataPathThreadsTest, ManyPostersAndPollersOfOneQueuePair) {
  PairOptions options;
  ConnectedPair pair(options);
  constexpr int kThreads = 3;
  constexpr int kEach = 2000;
  std::atomic<int> polled = 0;
  const auto post = [&] {
    for (int i = 0; i < kEach; ++i) {
      while (pair.client.Write(1, 0, 8, pair.server, 0) == ENOMEM) {
        std::this_thread::yield();
      }
    }
  };
  const auto poll = [&] {
    ibv_wc wc;
    while (polled < kThreads * kEach) {
      if (pair.client.send_cq->Poll(1, &wc) == 1) {
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        ++polled;
      } else {
        std::this_thread::yield();
      }
    }
  };
  RunInThreads({post, post, post, poll, poll});
  EXPECT_EQ(polled, kThreads * kEach);
}

TEST(DataPathThreadsTest, BothSidesSendToEachOther) {
  ConnectedPair pair;
  constexpr uint64_t kMessages = 2000;
  const auto side = [&](End& end) {
    return [&end] {
      uint64_t sent = 0;
      uint64_t posted = 0;
      uint64_t received = 0;
      while (received < kMessages || sent < kMessages) {
        if (posted < kMessages && posted - received < 8 &&
            end.Recv(posted, 64, 8) == 0) {
          ++posted;
        }
        if (sent < kMessages && end.Send(sent, 0, 8) == 0) ++sent;
        for (const ibv_wc& wc : end.PollSend()) {
          EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        }
        for (const ibv_wc& wc : end.PollRecv()) {
          EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
          EXPECT_EQ(wc.wr_id, received++);
        }
        std::this_thread::yield();
      }
    };
  };
  RunInThreads({side(pair.client), side(pair.server)});
}

// A client that writes without pause until a request fails; its status.
ibv_wc_status WriteUntilFailure(ConnectedPair& pair,
                                std::atomic<bool>& started) {
  ibv_sge sge = pair.client.Sge(0, 2048);
  const ibv_send_wr wr = End::RdmaRequest(1, IBV_WR_RDMA_WRITE, &sge,
                                          IBV_SEND_SIGNALED, pair.server, 0);
  for (;;) {
    EXPECT_EQ(pair.client.Post(wr), 0);
    started = true;
    const ibv_wc wc = pair.client.AwaitSend();
    if (wc.status != IBV_WC_SUCCESS) return wc.status;
  }
}

// Runs `end_it` against a client that writes; what the client's request ends
// with.
ibv_wc_status EndUnderFire(ConnectedPair& pair, std::function<void()> end_it) {
  std::atomic<bool> started = false;
  std::thread other([&] {
    while (!started) std::this_thread::yield();
    end_it();
  });
  const ibv_wc_status status = WriteUntilFailure(pair, started);
  other.join();
  return status;
}

constexpr int kRounds = 50;

TEST(DataPathThreadsTest, ARegionIsDeregisteredUnderFire) {
  for (int round = 0; round < kRounds; ++round) {
    ConnectedPair pair;
    EXPECT_EQ(EndUnderFire(pair,
                           [&] {
                             EXPECT_EQ(
                                 pair.server.device.DeregMr(pair.server.mr), 0);
                             // No transfer touches the memory from here on.
                             pair.server.SetText(0, std::string(2048, 'x'));
                             pair.server.mr = nullptr;
                           }),
              IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(pair.server.Text(0, 2048), std::string(2048, 'x'));
  }
}

TEST(DataPathThreadsTest, TheRemoteIsDestroyedUnderFire) {
  for (int round = 0; round < kRounds; ++round) {
    PairOptions options;
    options.connection.retry_count = 0;
    ConnectedPair pair(options);
    EXPECT_EQ(EndUnderFire(pair, [&] { pair.server.DestroyQp(); }),
              IBV_WC_RETRY_EXC_ERR);
  }
}

TEST(DataPathThreadsTest, TheRequesterIsMovedToErrorUnderFire) {
  for (int round = 0; round < kRounds; ++round) {
    ConnectedPair pair;
    EXPECT_EQ(
        EndUnderFire(pair, [&] { EXPECT_EQ(pair.client.qp->ToError(), 0); }),
        IBV_WC_WR_FLUSH_ERR);
  }
}

TEST(DataPathThreadsTest, BothSidesFailAtTheSameTime) {
  for (const char* profile : {"roce", "iwarp"}) {
    for (int round = 0; round < kRounds; ++round) {
      PairOptions options;
      options.profile = *FindProfile(profile);
      ConnectedPair pair(options);
      const auto fail = [](End& end, End& other) {
        return [&] {
          EXPECT_EQ(end.Recv(1, 0, 8), 0);
          EXPECT_EQ(end.Write(2, 0, 8, other, End::kSize), 0);
        };
      };
      RunInThreads(
          {fail(pair.client, pair.server), fail(pair.server, pair.client)});
      for (End* end : {&pair.client, &pair.server}) {
        end->AwaitSend();
        EXPECT_EQ(end->AwaitRecv().status, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(end->qp->State(), IBV_QPS_ERR);
      }
    }
  }
}

TEST(DataPathThreadsTest, AFailedReceiveIsExplainedOnceItIsFound) {
  for (int round = 0; round < kRounds; ++round) {
    ConnectedPair pair;
    EXPECT_EQ(pair.server.Recv(1, 0, 8), 0);
    std::atomic<bool> polls = false;
    const auto find = [&] {
      ibv_wc wc;
      while (pair.server.recv_cq->Poll(1, &wc) == 0) polls = true;
      EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
      EXPECT_THAT(pair.server.Explanation(), HasSubstr("room for 8 bytes"));
    };
    const auto send = [&] {
      while (!polls) std::this_thread::yield();
      EXPECT_EQ(pair.client.Send(2, 0, 9), 0);
      pair.client.AwaitSend();
    };
    RunInThreads({find, send});
  }
}

TEST(DataPathThreadsTest, SendersThatWaitForReceivesAreAllServed) {
  constexpr uint64_t kMessages = 2000;
  PairOptions options;
  options.with_srq = true;
  ConnectedPair pair(options);
  const auto send = [&] {
    for (uint64_t sent = 0; sent < kMessages;) {
      if (pair.client.Send(sent, 0, 8) == 0) ++sent;
      for (const ibv_wc& wc : pair.client.PollSend()) {
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      }
    }
  };
  const auto receive = [&] {
    for (uint64_t received = 0; received < kMessages;) {
      pair.server.Recv(0, 64, 8);
      received += pair.server.PollRecv().size();
    }
  };
  RunInThreads({send, receive});
}

TEST(DataPathThreadsTest, LateReadsRaceWithTheirTimer) {
  PairOptions options;
  options.profile.reads = ReadOrder::kLate;
  options.time_divisor = 100000;  // 7 us
  ConnectedPair pair(options);
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(pair.client.Read(i, 0, 8, pair.server, 0), 0);
    ASSERT_EQ(pair.client.Write(i, 64, 8, pair.server, 64), 0);
    for (int half = 0; half < 2; ++half) {
      const ibv_wc wc = pair.client.AwaitSend();
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      ASSERT_EQ(wc.wr_id, i);
    }
  }
}

TEST(DataPathThreadsTest, AtomicWritesAreNeverTorn) {
  PairOptions options;
  options.profile.native_atomic_write = true;
  ConnectedPair pair(options);
  std::atomic<bool> stop = false;
  const auto write = [&] {
    for (uint64_t i = 0; i < 20000; ++i) {
      const uint64_t value = (i & 0xff) * 0x0101010101010101;
      EXPECT_EQ(pair.client.qp->PostAtomicWrite(
                    {.remote_addr = pair.server.Address(8),
                     .source = &value,
                     .rkey = pair.server.mr->rkey,
                     .send_flags = IBV_SEND_SIGNALED}),
                0);
      pair.client.AwaitSend();
    }
    stop = true;
  };
  const auto watch = [&] {
    const auto* const word =
        reinterpret_cast<const uint64_t*>(pair.server.Address(8));
    while (!stop) {
      const uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
      EXPECT_EQ(value, (value & 0xff) * 0x0101010101010101);
    }
  };
  RunInThreads({write, watch});
}

TEST(DataPathThreadsTest, WhatAPollerOfMemorySeesComesWithAllBeforeIt) {
  // The classic of RDMA programs: data by one write, a flag by the next.
  ConnectedPair pair;
  constexpr uint64_t kMessages = 2000;
  std::atomic<uint64_t> consumed = 0;
  const auto produce = [&] {
    for (uint64_t i = 1; i <= kMessages; ++i) {
      while (consumed != i - 1) std::this_thread::yield();
      pair.client.SetText(0, std::string(256, static_cast<char>(i)));
      std::memcpy(reinterpret_cast<void*>(pair.client.Address(512)), &i, 8);
      EXPECT_EQ(pair.client.Write(1, 0, 256, pair.server, 0, 0), 0);
      EXPECT_EQ(pair.client.Write(2, 512, 8, pair.server, 512), 0);
      EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
    }
  };
  const auto consume = [&] {
    const auto* const flag =
        reinterpret_cast<const uint64_t*>(pair.server.Address(512));
    for (uint64_t i = 1; i <= kMessages; ++i) {
      while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != i) {
        std::this_thread::yield();
      }
      EXPECT_EQ(pair.server.Text(0, 256),
                std::string(256, static_cast<char>(i)));
      consumed = i;
    }
  };
  RunInThreads({produce, consume});
}

}  // namespace
}  // namespace rpma::emu
