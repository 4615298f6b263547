// SPDX-License-Identifier: BSD-3-Clause
// Processes of their own for what is measured: this one never uses the library,
// as a child of one that has used it may not.

#ifndef RPMA_TOOLS_BENCH_PROCESSES_H_
#define RPMA_TOOLS_BENCH_PROCESSES_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <new>
#include <vector>

#include "tools/bench/figures.h"

namespace rpma::bench {

// What the processes share; all 0 at first.
struct Board {
  std::atomic<bool> is_listening;
  std::atomic<bool> is_over;
  std::atomic<int> num_measured;  // processes
  std::atomic<double> woken_at;   // as Now() of tools/bench/timing.h
  double idle_of_server;
  Figures figures;
};

// Runs each in a process of its own until all have returned. Throws
// std::runtime_error if one throws, whose text it prints, or dies; the others
// are killed then.
void RunInProcesses(const std::vector<std::function<void()>>& bodies);

// Memory that children share, all 0. It stays as long as the program. Throws
// std::system_error if there is none.
void* MapShared(size_t size);

template <typename T>
T& MakeShared() {
  return *new (MapShared(sizeof(T))) T{};
}

}  // namespace rpma::bench

#endif  // RPMA_TOOLS_BENCH_PROCESSES_H_
