// SPDX-License-Identifier: BSD-3-Clause

#include "api/testing/fault_run.h"

#include <gtest/gtest-spi.h>

#include <exception>
#include <string>

#include "api/testing/run_log.h"

namespace rpma_testing {
namespace {

using ::testing::ScopedFakeTestPartResultReporter;
using ::testing::TestPartResult;
using ::testing::TestPartResultArray;

rpma_emu_fabric* current_fabric = nullptr;

// The failures that the scenario records, and what it throws.
std::vector<Failure> FailuresOf(const std::function<void()>& scenario) {
  std::vector<Failure> failures;
  TestPartResultArray results;
  {
    // Whoever called may have a reporter for this thread, before that of all.
    const ScopedFakeTestPartResultReporter of_other_threads(
        ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    const ScopedFakeTestPartResultReporter of_this_thread(&results);
    try {
      scenario();
    } catch (const std::exception& thrown) {
      failures.push_back({.text = std::string("threw ") + thrown.what()});
    }
  }
  for (int i = 0; i < results.size(); ++i) {
    const TestPartResult& result = results.GetTestPartResult(i);
    if (!result.failed()) continue;
    const char* file = result.file_name();
    failures.push_back({.file = file != nullptr ? file : "",
                        .line = result.line_number(),
                        .text = result.message()});
  }
  return failures;
}

// "" if nothing lives on the fabric.
std::string WhatIsLeft(const rpma_emu_fabric* fabric) {
  rpma_emu_census census = {};
  rpma_emu_get_census(fabric, &census);
  const struct {
    uint32_t count;
    const char* name;
  } kinds[] = {
      {census.pds, "peer"},
      {census.mrs, "memory region"},
      {census.comp_channels, "completion channel"},
      {census.cqs, "completion queue"},
      {census.srqs, "shared receive queue"},
      {census.qps, "queue pair"},
      {census.cm_ids, "connection identifier"},
      {census.event_channels, "event channel"},
      {census.unacked_events, "unacknowledged event"},
  };
  std::string text;
  for (const auto& [count, name] : kinds) {
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name +
            (count > 1 ? "s" : "");
  }
  return text;
}

// A fabric under a plan, selected for the time of a run.
class RunFabric {
 public:
  RunFabric(const FaultSweepOptions& options, const std::string& plan) {
    usable_ = rpma_emu_fabric_new(options.fabric.c_str(), &fabric_) == 0;
    if (!usable_) return;
    if (options.prepare) options.prepare(fabric_);
    usable_ = rpma_emu_set_faults(fabric_, plan.c_str()) == 0 &&
              rpma_emu_fabric_select(fabric_) == 0;
    current_fabric = fabric_;
  }
  RunFabric(const RunFabric&) = delete;
  RunFabric& operator=(const RunFabric&) = delete;
  // If something is left on it, the fabric stays, with nobody to use it.
  ~RunFabric() {
    current_fabric = nullptr;
    rpma_emu_fabric_delete(&fabric_);
  }

  // False: the options or the plan are wrong, which was logged.
  bool usable() const { return usable_; }

  // Ends the faults, and with them what lives on only because they made the
  // call fail that was to end it.
  void EndFaults() {
    rpma_emu_set_faults(fabric_, nullptr);
    rpma_emu_reclaim_all(fabric_);
  }

 private:
  rpma_emu_fabric* fabric_ = nullptr;
  bool usable_ = false;
};

}  // namespace

RunOutcome RunUnderPlan(const std::function<void()>& scenario,
                        const FaultSweepOptions& options,
                        const std::string& plan, bool echo_to_stderr) {
  RunOutcome outcome;
  const RunLog log(plan, echo_to_stderr);
  RunFabric fabric(options, plan);
  if (fabric.usable()) {
    outcome.failures = FailuresOf(scenario);
    outcome.fired = FaultsFired();
    outcome.log = log.Text();
    if (!log.Fatal().empty()) outcome.failures.push_back({.text = log.Fatal()});
    fabric.EndFaults();
    const std::string left = WhatIsLeft(CurrentFabric());
    if (!left.empty()) {
      outcome.failures.push_back({.text = "left behind: " + left});
    }
  } else {
    outcome.failures.push_back({.text = "the run could not begin"});
    outcome.log = log.Text();
  }
  return outcome;
}

uint64_t FaultsFired() {
  if (current_fabric == nullptr) return 0;
  rpma_emu_fault_counts counts = {};
  rpma_emu_get_fault_counts(current_fabric, &counts);
  return counts.fired;
}

rpma_emu_fabric* CurrentFabric() { return current_fabric; }

void AddHost(rpma_emu_fabric* fabric, const std::string& device,
             const std::string& address) {
  EXPECT_THAT(rpma_emu_device_add(fabric, device.c_str(), ""), IsOk());
  EXPECT_THAT(rpma_emu_address_add(fabric, address.c_str(), device.c_str()),
              IsOk());
  EXPECT_THAT(rpma_emu_route_add(fabric, address.c_str(), "emu0"), IsOk());
}

}  // namespace rpma_testing
