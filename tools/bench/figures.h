// SPDX-License-Identifier: BSD-3-Clause
// What is measured, and what is to be reached.

#ifndef RPMA_TOOLS_BENCH_FIGURES_H_
#define RPMA_TOOLS_BENCH_FIGURES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rpma::bench {

// How often things are measured, at most.
struct Effort {
  uint64_t writes;  // of 8 bytes
  uint64_t wakes;   // there and back
  uint64_t bulk_writes;
  uint64_t connections;
  std::chrono::milliseconds limit;  // of each measurement, on a busy machine
  std::chrono::milliseconds idle;
};

inline constexpr Effort kFullEffort{.writes = 200'000,
                                    .wakes = 5'000,
                                    .bulk_writes = 2'000,
                                    .connections = 5'000,
                                    .limit = std::chrono::seconds(5),
                                    .idle = std::chrono::seconds(1)};
inline constexpr Effort kQuickEffort{.writes = 200,
                                     .wakes = 20,
                                     .bulk_writes = 10,
                                     .connections = 10,
                                     .limit = std::chrono::seconds(1),
                                     .idle = std::chrono::milliseconds(20)};

// Times in microseconds, sizes in bytes, rates per second.
enum class Figure : size_t {
  // Two processes.
  kWriteOneWay,     // until the other process sees 8 bytes; median
  kWriteCompleted,  // rpma_write() of 8 bytes until its completion; median
  kWriteCompleted99,
  // From rpma_send() until the other has returned from a wait; median.
  kWake,       // one message after the other
  kWakeLater,  // after kSilence
  kBulk,       // 1 MiB until its completion; median
  kBulkBest,
  kMemcpy,  // 1 MiB in the same process in turns with kBulk; median
  kIdle,    // of both processes, while they wait, in a second
  // One process.
  kWriteRate,  // of 8 bytes, with their completions
  kBulkInside,
  kMemcpyInside,
  kConnectionRate,
  // Two processes with shared memory and no library.
  kMachineOneWay,  // until the other process sees a cache line; median
  // Of a process that sleeps in the kernel; medians.
  kMachineWake,
  kMachineWakeLater,
  kMachineBulk,  // 1 MiB copied into a ring and out of it; median
  kCount,
};

// Longer than any thread looks for messages before it sleeps.
inline constexpr std::chrono::milliseconds kSilence{1};

using Figures = double[static_cast<size_t>(Figure::kCount)];
inline double& At(Figures& figures, Figure figure) {
  return figures[static_cast<size_t>(figure)];
}

// What UCX's shared memory reaches, if it is there.
struct UcxFigures {
  std::optional<double> one_way;  // as kWriteOneWay
  std::optional<double> wake;     // as kWake
  std::optional<double> bulk;     // as kBulk
};

struct Row {
  std::string id;
  std::string text;
  std::string unit;
  double value = 0;
  int digits = 2;
  std::optional<double> target = {};  // at most, or at least
  bool is_at_least = false;
  // In the same unit.
  std::optional<double> machine = {};
  std::optional<double> ucx = {};

  bool IsMet() const {
    return !target || (is_at_least ? value >= *target : value <= *target);
  }
};

std::vector<Row> MakeRows(Figures& figures, const UcxFigures& ucx);
// `note` is a sentence about UCX.
std::string ToPlainText(const std::vector<Row>& rows, const std::string& note);
std::string ToJson(const std::vector<Row>& rows, const std::string& note);

}  // namespace rpma::bench

#endif  // RPMA_TOOLS_BENCH_FIGURES_H_
