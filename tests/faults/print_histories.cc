// SPDX-License-Identifier: BSD-3-Clause
// Prints all histories with their hashes, one a line; and before them where in
// its memory the process has its things.

#include <cinttypes>
#include <cstdio>
#include <memory>

#include "tests/faults/histories.h"

namespace rpma::faults {
namespace {

void PrintLayout() {
  static const int data = 0;
  const auto heap = std::make_unique<int>(0);
  const int stack = 0;
  std::printf(
      "data at %p, heap at %p, stack at %p\n", static_cast<const void*>(&data),
      static_cast<const void*>(heap.get()), static_cast<const void*>(&stack));
}

void PrintHistories() {
  for (const Scenario& scenario : Scenarios()) {
    for (const History& history : HistoriesOf(scenario)) {
      std::printf("%s: %016" PRIx64 "\n", history.Name().c_str(),
                  HashOf(history));
    }
  }
}

}  // namespace
}  // namespace rpma::faults

int main() {
  rpma::faults::PrintLayout();
  rpma::faults::PrintHistories();
}
