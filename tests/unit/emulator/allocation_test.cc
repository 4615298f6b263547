// SPDX-License-Identifier: BSD-3-Clause
// Nothing is allocated per operation: counts calls of operator new while
// requests are posted, executed, completed, retried, flushed and failed.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>

#include "tests/unit/emulator/connected_pair.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int> allocations = 0;

void* Allocate(size_t size) {
  if (counting) ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept try {
  return Allocate(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
// Not inlined: g++ 12 would take the free() for a mismatch with operator new.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}

namespace rpma::emu {
namespace {

template <typename Work>
int AllocationsOf(Work work) {
  allocations = 0;
  counting = true;
  work();
  counting = false;
  return allocations;
}

ibv_wc_status PollOne(CompletionQueue& cq) {
  ibv_wc wc;
  while (cq.Poll(1, &wc) == 0) {
  }
  return wc.status;
}

TEST(AllocationTest, TheCounterCounts) {
  EXPECT_EQ(AllocationsOf([] { ::operator delete(::operator new(1)); }), 1);
}

TEST(AllocationTest, SuccessfulOperationsAllocateNothing) {
  PairOptions options;
  options.profile.native_atomic_write = options.profile.native_flush = true;
  ConnectedPair pair(options);
  const uint64_t value = 1;
  EXPECT_EQ(
      AllocationsOf([&] {
        for (int i = 0; i < 100; ++i) {
          pair.server.Recv(1, 0, 64);
          pair.client.Send(2, 0, 64);
          pair.client.Write(3, 0, 64, pair.server, 64);
          pair.client.Write(4, 0, 64, pair.server, 64,
                            IBV_SEND_INLINE | IBV_SEND_SIGNALED);
          pair.client.Read(5, 0, 64, pair.server, 64);
          pair.client.qp->PostAtomicWrite({.remote_addr = pair.server.Address(),
                                           .source = &value,
                                           .rkey = pair.server.mr->rkey});
          pair.client.qp->PostFlush({.send_flags = IBV_SEND_SIGNALED});
          for (int polled = 0; polled < 5; ++polled) {
            PollOne(*pair.client.send_cq);
          }
          PollOne(*pair.server.recv_cq);
        }
      }),
      0);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_RTS);
}

TEST(AllocationTest, WaitingAndEventsAllocateNothing) {
  PairOptions options;
  options.with_srq = true;
  ConnectedPair pair(options);
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(AllocationsOf([&] {
              for (int i = 0; i < 100; ++i) {
                pair.server.recv_cq->Arm(/*solicited_only=*/false);
                pair.client.Send(2, 0, 64);
                pair.server.Recv(1, 0, 64);
                pair.server.channel->GetEvent(&cq);
                cq->AckEvents(1);
                PollOne(*pair.client.send_cq);
                PollOne(*pair.server.recv_cq);
              }
            }),
            0);
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 100u);
}

TEST(AllocationTest, LateReadsAllocateNothing) {
  PairOptions options;
  options.profile.reads = ReadOrder::kLate;
  options.time_divisor = 1;
  ConnectedPair pair(options);
  // The first timer starts the thread that serves it.
  pair.client.Read(1, 0, 8, pair.server, 0);
  pair.client.Write(2, 0, 8, pair.server, 0, IBV_SEND_FENCE);
  EXPECT_EQ(PollOne(*pair.client.send_cq), IBV_WC_SUCCESS);
  EXPECT_EQ(AllocationsOf([&] {
              for (int i = 0; i < 100; ++i) {
                pair.client.Read(1, 0, 8, pair.server, 0);
                pair.client.Write(2, 0, 8, pair.server, 0,
                                  IBV_SEND_FENCE | IBV_SEND_SIGNALED);
                PollOne(*pair.client.send_cq);
                PollOne(*pair.client.send_cq);
              }
            }),
            0);
}

TEST(AllocationTest, FaultsOfRequestsAllocateNothing) {
  ConnectedPair pair;
  using std::chrono::milliseconds;
  pair.SetFaults({{.action = FaultAction::kDelay,
                   .site = FaultSite::kSend,
                   .from = true,
                   .time = milliseconds(1)},
                  {.action = FaultAction::kDelay,
                   .site = FaultSite::kWrite,
                   .from = true,
                   .response = true,
                   .time = milliseconds(1)},
                  {.site = FaultSite::kRead, .nth = 2},
                  {.action = FaultAction::kRnr,
                   .nth = 10,
                   .from = true,
                   .time = milliseconds(1)}});
  // The first timer starts the thread that serves it.
  pair.client.Write(1, 0, 8, pair.server, 0);
  EXPECT_EQ(PollOne(*pair.client.send_cq), IBV_WC_SUCCESS);
  EXPECT_EQ(AllocationsOf([&] {
              for (int i = 0; i < 50; ++i) {
                pair.server.Recv(1, 0, 64);
                pair.client.Send(2, 0, 64);
                pair.client.Write(3, 0, 64, pair.server, 64);
                pair.client.Read(4, 0, 64, pair.server, 64);
                for (int polled = 0; polled < 3; ++polled) {
                  PollOne(*pair.client.send_cq);
                }
                PollOne(*pair.server.recv_cq);
              }
            }),
            0);
  EXPECT_EQ(pair.client.qp->State(), IBV_QPS_RTS);
  EXPECT_GT(pair.Counts().fired, 100u);
}

TEST(AllocationTest, FlushesAllocateNothing) {
  ConnectedPair pair;
  pair.client.qp->ToError();
  EXPECT_EQ(AllocationsOf([&] {
              for (int i = 0; i < 100; ++i) {
                pair.client.Recv(1, 0, 64);
                pair.client.Send(2, 0, 64);
                PollOne(*pair.client.send_cq);
                PollOne(*pair.client.recv_cq);
              }
            }),
            0);
}

}  // namespace
}  // namespace rpma::emu
