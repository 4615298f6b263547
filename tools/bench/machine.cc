// SPDX-License-Identifier: BSD-3-Clause

#include "tools/bench/machine.h"

#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <system_error>

#include "tools/bench/side.h"
#include "tools/bench/timing.h"

namespace rpma::bench {
namespace {

// Other sizes, rings of 64 KiB to 8 MiB, were not faster.
constexpr size_t kPart = size_t{32} << 10;
constexpr size_t kRing = 8 * kPart;
static_assert(kBulk % kPart == 0);
constexpr uint64_t kOver = ~uint64_t{0};

// Two counters, each written by one process, and a ring. Processors fetch cache
// lines in pairs.
struct Shared {
  alignas(128) std::atomic<uint64_t> sent;
  alignas(128) std::atomic<uint64_t> answered;
  alignas(4096) std::byte ring[kRing];
};

std::unique_ptr<std::byte[]> MakeMemory() {
  std::unique_ptr<std::byte[]> memory(new std::byte[kBulk]);
  std::memset(memory.get(), 1, kBulk);
  return memory;
}

void Await(const std::atomic<uint64_t>& counter, uint64_t value) {
  while (counter.load(std::memory_order_acquire) < value) {
  }
}

void MeasureLine(const Effort& effort, Board& board, Shared& shared) {
  const auto answer = [&] {
    for (uint64_t next = 1;; ++next) {
      Await(shared.sent, next);
      if (shared.sent.load(std::memory_order_relaxed) == kOver) return;
      shared.answered.store(next, std::memory_order_release);
    }
  };
  const auto measure = [&] {
    Times times(effort.writes, effort.limit);
    uint64_t next = 0;
    times.TakeAll([&] {
      shared.sent.store(++next, std::memory_order_release);
      Await(shared.answered, next);
    });
    shared.sent.store(kOver, std::memory_order_release);
    At(board.figures, Figure::kMachineOneWay) = times.Median() / 2;
  };
  RunInProcesses({answer, measure});
}

class Event {
 public:
  Event() : descriptor_(eventfd(0, 0)) { Check(descriptor_); }

  void Set(uint64_t value) { Check(eventfd_write(descriptor_, value)); }
  uint64_t Sleep() {
    eventfd_t value = 0;
    Check(eventfd_read(descriptor_, &value));
    return value;
  }

 private:
  static void Check(int result) {
    if (result >= 0) return;
    throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  const int descriptor_;  // as long as the program
};

void MeasureWakeUp(const Effort& effort, Clock::duration silence, Board& board,
                   Figure figure) {
  constexpr uint64_t kGoOn = 1;
  Event there;
  Event back;
  const auto answer = [&] {
    while (there.Sleep() == kGoOn) {
      board.woken_at.store(Now());
      back.Set(kGoOn);
    }
  };
  const auto measure = [&] {
    Times times(effort.wakes, effort.limit);
    while (!times.IsFull()) {
      StayAwakeFor(silence);
      const double begin = Now();
      there.Set(kGoOn);
      back.Sleep();
      times.Add(board.woken_at.load() - begin);
    }
    there.Set(kGoOn + 1);
    At(board.figures, figure) = times.Median();
  };
  RunInProcesses({answer, measure});
}

void MeasureTwoCopies(const Effort& effort, Board& board, Shared& shared) {
  const auto take = [&] {
    const auto memory = MakeMemory();
    for (uint64_t taken = 0;; taken += kPart) {
      Await(shared.sent, taken + kPart);
      if (shared.sent.load(std::memory_order_relaxed) == kOver) return;
      std::memcpy(memory.get() + taken % kBulk, shared.ring + taken % kRing,
                  kPart);
      shared.answered.store(taken + kPart, std::memory_order_release);
    }
  };
  const auto measure = [&] {
    const auto memory = MakeMemory();
    Times times(effort.bulk_writes, effort.limit);
    uint64_t sent = 0;
    times.TakeAll([&] {
      for (size_t skip = 0; skip < kBulk; skip += kPart, sent += kPart) {
        if (sent >= kRing) Await(shared.answered, sent - kRing + kPart);
        std::memcpy(shared.ring + sent % kRing, memory.get() + skip, kPart);
        shared.sent.store(sent + kPart, std::memory_order_release);
      }
      Await(shared.answered, sent);
    });
    shared.sent.store(kOver, std::memory_order_release);
    At(board.figures, Figure::kMachineBulk) = times.Median();
  };
  RunInProcesses({take, measure});
}

}  // namespace

void MeasureMachine(const Effort& effort, Board& board) {
  MeasureLine(effort, board, MakeShared<Shared>());
  MeasureWakeUp(effort, {}, board, Figure::kMachineWake);
  MeasureWakeUp(effort, kSilence, board, Figure::kMachineWakeLater);
  MeasureTwoCopies(effort, board, MakeShared<Shared>());
}

}  // namespace rpma::bench
