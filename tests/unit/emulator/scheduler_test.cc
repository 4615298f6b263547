// SPDX-License-Identifier: BSD-3-Clause
// What a stepped world does next, and when it is dead; for one thread.

#include "emulator/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syslog.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/emulator/scheduler_fixture.h"

namespace rpma::emu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ObjectKind kQueue = ObjectKind::kCompletionQueue;

int AwaitTrue(World& world, const bool& flag) {
  return world.scheduler.Await({"Wait", kQueue, 1, [&] { return flag; }});
}

TEST(SchedulerTest, NothingMovesByItself) {
  World world;
  int steps = 0;
  TestTask task(world, [&] { ++steps; });
  task.MakeRunnable();
  EXPECT_EQ(steps, 0);
  EXPECT_TRUE(world.scheduler.Step());
  EXPECT_EQ(steps, 1);
  EXPECT_FALSE(world.scheduler.Step());
  EXPECT_EQ(steps, 1);
}

TEST(SchedulerTest, ATaskStepsOnceHoweverOftenItIsMadeRunnable) {
  World world;
  int steps = 0;
  TestTask task(world, [&] { ++steps; });
  task.MakeRunnable();
  task.MakeRunnable();
  EXPECT_TRUE(world.scheduler.Step());
  EXPECT_FALSE(world.scheduler.Step());
  EXPECT_EQ(steps, 1);
}

TEST(SchedulerTest, ATaskMayMakeItselfRunnableInItsStep) {
  World world;
  int steps = 0;
  TestTask* self = nullptr;
  TestTask task(world, [&] {
    if (++steps < 3) self->MakeRunnable();
  });
  self = &task;
  task.MakeRunnable();
  while (world.scheduler.Step()) continue;
  EXPECT_EQ(steps, 3);
}

TEST(SchedulerTest, ARemovedTaskTakesNoStep) {
  World world;
  std::vector<int> steps;
  TestTask first(world, [&] { steps.push_back(1); });
  auto second = std::make_unique<TestTask>(world, [&] { steps.push_back(2); });
  TestTask third(world, [&] { steps.push_back(3); });
  first.MakeRunnable();
  second->MakeRunnable();
  third.MakeRunnable();
  second.reset();
  while (world.scheduler.Step()) continue;
  EXPECT_THAT(steps, testing::UnorderedElementsAre(1, 3));
}

TEST(SchedulerTest, ATaskWhoseOwnerIsGoneTakesNoStep) {
  struct Owned final : Task {
    void Step() override { ADD_FAILURE() << "stepped"; }
    void SayWhatItWaitsFor(std::vector<std::string>*) override {}
  };
  World world;
  Owned task;
  auto owner = std::make_shared<int>();
  world.scheduler.Add(task, owner);
  world.scheduler.MakeRunnable(task);
  owner.reset();
  EXPECT_TRUE(world.scheduler.Step());
  world.scheduler.Remove(task);
}

// The order in which three tasks step.
std::vector<int> OrderOfThree(uint64_t seed) {
  World world(seed);
  std::vector<int> order;
  TestTask first(world, [&] { order.push_back(1); });
  TestTask second(world, [&] { order.push_back(2); });
  TestTask third(world, [&] { order.push_back(3); });
  first.MakeRunnable();
  second.MakeRunnable();
  third.MakeRunnable();
  while (world.scheduler.Step()) continue;
  return order;
}

TEST(SchedulerTest, SeedsGiveEveryOrderAndEachAlwaysTheSame) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    orders.insert(OrderOfThree(seed));
    EXPECT_EQ(OrderOfThree(seed), OrderOfThree(seed));
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(SchedulerTest, StreamsOfObjectsDiffer) {
  World world;
  std::set<uint64_t> drawn;
  for (uint32_t number = 1; number <= 100; ++number) {
    for (const ObjectKind kind : {kQueue, ObjectKind::kQueuePair}) {
      drawn.insert(world.scheduler.StreamOf(kind, number).Next());
    }
  }
  EXPECT_EQ(drawn.size(), 200u);
}

// --- Timers ------------------------------------------------------------------

TEST(SchedulerTest, ATimerExpiresOnlyWhenNoTaskCanStep) {
  World world;
  std::vector<std::string> order;
  Timer timer(world.timers, [&] { order.push_back("timer"); });
  TestTask task(world, [&] { order.push_back("task"); });
  ASSERT_TRUE(timer.Arm(milliseconds(0)));
  task.MakeRunnable();
  while (world.scheduler.Step()) continue;
  EXPECT_THAT(order, ElementsAre("task", "timer"));
}

TEST(SchedulerTest, WaitingForAFarTimerTakesNoTime) {
  World world;
  bool expired = false;
  Timer timer(world.timers, [&] { expired = true; });
  ASSERT_TRUE(timer.Arm(hours(1000)));
  EXPECT_EQ(AwaitTrue(world, expired), 0);
  EXPECT_EQ(world.timers.Now().time_since_epoch(), hours(1000));
}

// --- Waits -------------------------------------------------------------------

TEST(SchedulerTest, AWaitEndsWhenWhatItWaitsForIsThere) {
  World world;
  bool there = false;
  int steps_after = 0;
  TestTask after(world, [&] { ++steps_after; });
  TestTask task(world, [&] {
    there = true;
    after.MakeRunnable();
  });
  task.MakeRunnable();
  EXPECT_EQ(AwaitTrue(world, there), 0);
  EXPECT_EQ(steps_after, 0);
}

TEST(SchedulerTest, AWaitForWhatIsThereMakesNoStep) {
  World world;
  int steps = 0;
  TestTask task(world, [&] { ++steps; });
  task.MakeRunnable();
  EXPECT_EQ(AwaitTrue(world, true), 0);
  EXPECT_EQ(steps, 0);
}

TEST(SchedulerTest, AWaitInsideOfAStepFails) {
  World world;
  int wait = 0;
  bool step = true;
  TestTask other(world, [] {});
  TestTask task(world, [&] {
    wait = AwaitTrue(world, false);
    step = world.scheduler.Step();
  });
  task.MakeRunnable();
  EXPECT_TRUE(world.scheduler.Step());
  EXPECT_EQ(wait, EDEADLK);
  EXPECT_FALSE(step);
}

// --- Deadlocks ---------------------------------------------------------------

TEST(SchedulerTest, AWaitInADeadWorldFailsAndSaysWhoWaits) {
  World world;
  TestTask waiting(world, [] {});
  waiting.WaitFor("QP 3 has waited for a receive since noon");
  TestTask idle(world, [] {});
  EXPECT_EQ(world.scheduler.Await({"GetCqEvent", ObjectKind::kCompletionChannel,
                                   4, [] { return false; }}),
            EDEADLK);
  EXPECT_THAT(world.levels, Each(LOG_CRIT));
  EXPECT_THAT(world.report,
              HasSubstr("waits in GetCqEvent on completion channel 4"));
  EXPECT_THAT(world.report, HasSubstr("QP 3 has waited for a receive"));
  EXPECT_EQ(world.levels.size(), 3u);
}

TEST(SchedulerTest, AReportHasAnEnd) {
  World world;
  std::vector<std::unique_ptr<TestTask>> tasks;
  for (int i = 0; i < 100; ++i) {
    tasks.push_back(std::make_unique<TestTask>(world, [] {}));
    tasks.back()->WaitFor("task " + std::to_string(i) + " waits");
  }
  EXPECT_EQ(AwaitTrue(world, false), EDEADLK);
  EXPECT_THAT(world.report, HasSubstr("task 30 waits"));
  EXPECT_THAT(world.report, HasSubstr("and 69 more"));
  EXPECT_EQ(world.levels.size(), 34u);
}

TEST(SchedulerTest, ADeadWorldMayComeToLifeAgain) {
  World world;
  bool there = false;
  TestTask task(world, [&] { there = true; });
  EXPECT_EQ(AwaitTrue(world, there), EDEADLK);
  task.MakeRunnable();
  EXPECT_EQ(AwaitTrue(world, there), 0);
}

// A timer that is armed again whenever it expires.
class Repeater {
 public:
  explicit Repeater(World& world)
      : timer_(world.timers, [this] {
          ++expiries_;
          Arm();
        }) {
    Arm();
  }
  int expiries() const { return expiries_; }

 private:
  void Arm() {
    EXPECT_TRUE(timer_.Arm(milliseconds(1), Recurrence::kRepeating));
  }
  int expiries_ = 0;
  Timer timer_;
};

TEST(SchedulerTest, AWorldOfRepeatingTimersIsDeadAfterAThousand) {
  World world;
  const Repeater repeater(world);
  EXPECT_EQ(AwaitTrue(world, false), EDEADLK);
  EXPECT_EQ(repeater.expiries(), 1000);
  EXPECT_EQ(AwaitTrue(world, false), EDEADLK);
  EXPECT_EQ(repeater.expiries(), 2000);
}

TEST(SchedulerTest, AnyOtherEventShowsThatAWorldIsAlive) {
  World world;
  int expiries = 0;
  bool there = false;
  Timer* self = nullptr;
  Timer timer(world.timers, [&] {
    if (++expiries % 900 == 0) world.scheduler.NoteEvent();
    there = expiries == 2000;
    ASSERT_TRUE(self->Arm(milliseconds(1), Recurrence::kRepeating));
  });
  self = &timer;
  ASSERT_TRUE(timer.Arm(milliseconds(1), Recurrence::kRepeating));
  EXPECT_EQ(AwaitTrue(world, there), 0);
}

TEST(SchedulerTest, AnArmedTimerThatDoesNotRepeatKeepsAWorldAlive) {
  World world;
  bool there = false;
  const Repeater repeater(world);
  Timer timer(world.timers, [&] { there = true; });
  ASSERT_TRUE(timer.Arm(milliseconds(5000)));
  EXPECT_EQ(AwaitTrue(world, there), 0);
  EXPECT_GE(repeater.expiries(), 4999);
}

TEST(SchedulerTest, StepsDoNotCountRepetitions) {
  World world;
  const Repeater repeater(world);
  for (int i = 0; i < 3000; ++i) EXPECT_TRUE(world.scheduler.Step());
  EXPECT_EQ(repeater.expiries(), 3000);
}

}  // namespace
}  // namespace rpma::emu
