// SPDX-License-Identifier: BSD-3-Clause

#include "tools/bench/measure.h"

#include <sys/resource.h>
#include <time.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>

#include "tools/bench/side.h"
#include "tools/bench/timing.h"

namespace rpma::bench {
namespace {

constexpr size_t kSmall = 8;  // bytes
constexpr int kWarmUp = 20;
constexpr uint64_t kRounds = 100;
constexpr uint64_t kGoOn = 1;

using Body = std::function<void(Side&)>;

void RunPair(Board& board, const Body& server, const Body& client) {
  board.is_listening.store(false);
  board.is_over.store(false);
  const auto serve = [&] {
    const Registered memory;
    const Endpoint endpoint(memory);
    board.is_listening.store(true);
    Side side(memory);
    side.Accept(endpoint);
    side.AwaitEstablished();
    server(side);
    side.AwaitClosed();
    side.Disconnect();
  };
  const auto use = [&] {
    const Registered memory;
    while (!board.is_listening.load()) std::this_thread::yield();
    Side side(memory);
    side.Connect();
    side.AwaitEstablished();
    client(side);
    board.is_over.store(true);
    side.Disconnect();
    side.AwaitClosed();
  };
  RunInProcesses({serve, use});
}

// A server that does nothing but poll.
void PollUntilOver(const Board& board, Side& side) {
  while (!board.is_over.load(std::memory_order_relaxed)) side.Poll();
}

void AwaitWord(Side& side, uint64_t value) {
  while (side.target().load(std::memory_order_acquire) != value) side.Poll();
}

void WriteWord(Side& side, uint64_t value) {
  side.AwaitCompletions();  // of the one before, which is answered by now
  side.source().store(value, std::memory_order_relaxed);
  side.Write(kSmall);
}

void BounceBack(const Board& board, Side& side) {
  for (uint64_t value = 1;; ++value) {
    while (side.target().load(std::memory_order_acquire) != value) {
      if (board.is_over.load(std::memory_order_relaxed)) return;
      side.Poll();
    }
    WriteWord(side, value);
  }
}

// The last message says that it is the last. It may come, into the receive
// posted ahead, as soon as the one before is answered.
void AnswerMessages(Board& board, Side& side) {
  side.PostReceive();
  bool goes_on;
  do {
    side.PostReceive();
    side.SleepUntilReceived();
    board.woken_at.store(Now());
    goes_on = side.target().load() == kGoOn;
    side.Send();
  } while (goes_on);
}

double ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto sum = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 +
           static_cast<double>(time.tv_usec);
  };
  return sum(usage.ru_utime) + sum(usage.ru_stime);
}

// Kept out of sight of the compiler, which would leave out the copy.
void Copy(const Registered& memory) {
  std::memcpy(memory.memory() + kTarget, memory.memory() + kSource, kBulk);
  asm volatile("" ::: "memory");
}

// In turns, so that both meet the same machine.
void MeasureCopies(const Registered& own, const std::function<void()>& write,
                   Times* writes, Times* copies) {
  for (int i = 0; i < kWarmUp; ++i) {
    write();
    Copy(own);
  }
  while (!writes->IsFull()) {
    copies->Take([&] { Copy(own); });
    writes->Take(write);
  }
}

// One thread plays both sides: the active one reads its event first.
void ConnectInside(const Endpoint& endpoint, Side& client, Side& server) {
  client.Connect();
  server.Accept(endpoint);
  client.AwaitEstablished();
  server.AwaitEstablished();
}

void MeasureRate(const Effort& effort, Side& client, Board& board) {
  const uint64_t in_round = effort.writes / kRounds;
  Times rounds(kRounds, effort.limit);
  rounds.TakeAll([&] {
    for (uint64_t i = 0; i < in_round; ++i) client.WriteAndAwait(kSmall);
  });
  At(board.figures, Figure::kWriteRate) =
      static_cast<double>(in_round) * 1e6 / rounds.Median();
}

void MeasureConnections(const Effort& effort, const Registered& memory,
                        const Endpoint& endpoint, Board& board) {
  Times times(effort.connections, effort.limit);
  times.TakeAll([&] {
    Side client(memory);
    Side server(memory);
    ConnectInside(endpoint, client, server);
    client.Disconnect();
    server.AwaitClosed();
    server.Disconnect();
    client.AwaitClosed();
  });
  At(board.figures, Figure::kConnectionRate) = 1e6 / times.Median();
}

}  // namespace

void MeasureOneWay(const Effort& effort, Board& board) {
  RunPair(
      board, [&](Side& side) { BounceBack(board, side); },
      [&](Side& side) {
        Times times(effort.writes, effort.limit);
        uint64_t value = 0;
        times.TakeAll([&] {
          WriteWord(side, ++value);
          AwaitWord(side, value);
        });
        side.AwaitCompletions();
        At(board.figures, Figure::kWriteOneWay) = times.Median() / 2;
      });
}

void MeasureCompleted(const Effort& effort, Board& board) {
  RunPair(
      board, [&](Side& side) { PollUntilOver(board, side); },
      [&](Side& side) {
        Times times(effort.writes, effort.limit);
        times.TakeAll([&] { side.WriteAndAwait(kSmall); });
        At(board.figures, Figure::kWriteCompleted) = times.Median();
        At(board.figures, Figure::kWriteCompleted99) = times.Percentile(99);
      });
}

void MeasureWakes(const Effort& effort, Clock::duration silence, Board& board,
                  Figure figure) {
  RunPair(
      board, [&](Side& side) { AnswerMessages(board, side); },
      [&](Side& side) {
        Times times(effort.wakes, effort.limit);
        side.PostReceive();
        side.source().store(kGoOn);
        while (!times.IsFull()) {
          side.PostReceive();
          StayAwakeFor(silence);
          const double begin = Now();
          side.Send();
          side.SleepUntilReceived();
          times.Add(board.woken_at.load() - begin);
        }
        side.source().store(kGoOn + 1);
        side.Send();
        side.SleepUntilReceived();
        At(board.figures, figure) = times.Median();
      });
}

void MeasureWake(const Effort& effort, Board& board) {
  MeasureWakes(effort, {}, board, Figure::kWake);
  MeasureWakes(effort, kSilence, board, Figure::kWakeLater);
}

void MeasureBulk(const Effort& effort, Board& board) {
  RunPair(
      board, [&](Side& side) { PollUntilOver(board, side); },
      [&](Side& side) {
        Times writes(effort.bulk_writes, effort.limit);
        Times copies(effort.bulk_writes, effort.limit);
        MeasureCopies(
            side.memory(), [&] { side.WriteAndAwait(kBulk); }, &writes,
            &copies);
        At(board.figures, Figure::kBulk) = writes.Median();
        At(board.figures, Figure::kBulkBest) = writes.Best();
        At(board.figures, Figure::kMemcpy) = copies.Median();
      });
}

void MeasureIdle(const Effort& effort, Board& board) {
  board.num_measured.store(0);
  // Threads go to sleep a little after the last traffic.
  const auto rest = [&](double* figure) {
    std::this_thread::sleep_for(effort.idle / 4);
    const double before = ProcessorTime();
    std::this_thread::sleep_for(effort.idle);
    *figure = (ProcessorTime() - before) * 1000 /
              static_cast<double>(effort.idle.count());
    board.num_measured.fetch_add(1);
    while (board.num_measured.load() < 2) {
      std::this_thread::sleep_for(effort.idle / 10);
    }
  };
  RunPair(
      board,
      [&](Side& side) {
        AwaitWord(side, 1);
        rest(&board.idle_of_server);
      },
      [&](Side& side) {
        side.source().store(1);
        side.WriteAndAwait(kSmall);
        double own = 0;
        rest(&own);
        At(board.figures, Figure::kIdle) = own + board.idle_of_server;
      });
}

void MeasureInside(const Effort& effort, Board& board) {
  RunInProcesses({[&] {
    const Registered memory;
    const Endpoint endpoint(memory);
    {
      Side client(memory);
      Side server(memory);
      ConnectInside(endpoint, client, server);
      MeasureRate(effort, client, board);
      Times writes(effort.bulk_writes, effort.limit);
      Times copies(effort.bulk_writes, effort.limit);
      MeasureCopies(
          memory, [&] { client.WriteAndAwait(kBulk); }, &writes, &copies);
      At(board.figures, Figure::kBulkInside) = writes.Median();
      At(board.figures, Figure::kMemcpyInside) = copies.Median();
    }
    MeasureConnections(effort, memory, endpoint, board);
  }});
}

}  // namespace rpma::bench
