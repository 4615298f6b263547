// SPDX-License-Identifier: BSD-3-Clause
// Prints how many executions of a scenario a sweep over its provider calls
// makes in a second of a core.

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

#include "tests/faults/scenario.h"
#include "tests/faults/stage.h"

namespace rpma::faults {
namespace {

constexpr char kScenario[] = "write_and_flush";
constexpr double kSeconds = 3;  // of the processor

double SecondsUsed() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Runs the scenario under each failing call, and after each without one.
// Returns how often it ran, or 0 if something is wrong.
uint64_t SweepOnce(Stage& stage) {
  uint64_t executions = 0;
  for (uint64_t k = 1;; ++k) {
    const Execution faulty =
        stage.Run({.plan = "fail any nth=" + std::to_string(k)});
    const Execution healed = stage.Run({});
    executions += 2;
    if (!faulty.findings.empty() || !healed.findings.empty()) {
      std::printf("%s%s", faulty.findings.text(), healed.findings.text());
      return 0;
    }
    if (faulty.fired == 0) return executions;
  }
}

int Measure() {
  Stage stage(*FindScenario(kScenario));
  uint64_t executions = 0;
  double seconds = 0;
  const double begin = SecondsUsed();
  while (seconds < kSeconds) {
    const uint64_t more = SweepOnce(stage);
    if (more == 0) return 1;
    executions += more;
    seconds = SecondsUsed() - begin;
  }
  std::printf("%s: %llu scenario executions in %.2f s of one core: %.0f/s\n",
              kScenario, static_cast<unsigned long long>(executions), seconds,
              static_cast<double>(executions) / seconds);
  return 0;
}

}  // namespace
}  // namespace rpma::faults

int main() { return rpma::faults::Measure(); }
