// SPDX-License-Identifier: BSD-3-Clause
// A scheduler by itself, and tasks that note their steps.

#ifndef RPMA_TESTS_UNIT_EMULATOR_SCHEDULER_FIXTURE_H_
#define RPMA_TESTS_UNIT_EMULATOR_SCHEDULER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/scheduler.h"

namespace rpma::emu {

// What a test needs of a world: a clock, a scheduler and what it reported.
struct World {
  explicit World(uint64_t seed = 0)
      : scheduler(seed, timers, [this](int level, const char* text) {
          levels.push_back(level);
          report += std::string(text) + "\n";
        }) {}

  TimerQueue timers{ClockKind::kVirtual};
  std::vector<int> levels;
  std::string report;
  Scheduler scheduler;
};

// Runs `body` as its step.
class TestTask final : public Task {
 public:
  TestTask(World& world, std::function<void()> body)
      : world_(world), body_(std::move(body)) {
    world_.scheduler.Add(*this, owner_);
  }
  ~TestTask() { world_.scheduler.Remove(*this); }

  void MakeRunnable() { world_.scheduler.MakeRunnable(*this); }
  // From now on it waits for this.
  void WaitFor(std::string what) { waits_for_ = std::move(what); }

  void Step() override { body_(); }
  void SayWhatItWaitsFor(std::vector<std::string>* lines) override {
    if (!waits_for_.empty()) lines->push_back(waits_for_);
  }

 private:
  World& world_;
  std::function<void()> body_;
  std::string waits_for_;
  std::shared_ptr<int> owner_ = std::make_shared<int>();
};

}  // namespace rpma::emu

#endif  // RPMA_TESTS_UNIT_EMULATOR_SCHEDULER_FIXTURE_H_
