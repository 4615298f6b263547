// SPDX-License-Identifier: BSD-3-Clause
// Several threads in a stepped world: who goes on, and when.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/emulator/scheduler_fixture.h"

namespace rpma::emu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr ObjectKind kQueue = ObjectKind::kCompletionQueue;

int AwaitTrue(World& world, const std::function<bool()>& ready) {
  return world.scheduler.Await({"Wait", kQueue, 1, ready});
}

// Runs each body in a thread that is attached, in the order of the bodies,
// before any of them begins.
void RunAttached(World& world, std::vector<std::function<void()>> bodies) {
  std::vector<std::thread> threads;
  std::promise<void> begin;
  const std::shared_future<void> begins = begin.get_future().share();
  for (auto& body : bodies) {
    std::promise<void> attached;
    threads.emplace_back([&world, &attached, begins, body] {
      EXPECT_EQ(world.scheduler.AttachThread(), 0);
      attached.set_value();
      begins.wait();
      body();
      EXPECT_EQ(world.scheduler.DetachThread(), 0);
    });
    attached.get_future().wait();
  }
  begin.set_value();
  for (std::thread& thread : threads) thread.join();
}

TEST(SchedulerThreadsTest, AThreadAttachesOnceAndDetachesOnce) {
  World world;
  EXPECT_EQ(world.scheduler.DetachThread(), EINVAL);
  EXPECT_EQ(world.scheduler.AttachThread(), 0);
  EXPECT_EQ(world.scheduler.AttachThread(), EINVAL);
  EXPECT_EQ(world.scheduler.DetachThread(), 0);
  EXPECT_EQ(world.scheduler.DetachThread(), EINVAL);
}

TEST(SchedulerThreadsTest, TheWorldStandsStillWhileAThreadIsOutside) {
  World world;
  int steps = 0;
  TestTask task(world, [&] { ++steps; });
  task.MakeRunnable();
  bool done = false;
  RunAttached(world,
              {[&] { EXPECT_EQ(AwaitTrue(world, [&] { return done; }), 0); },
               [&] {
                 // The other thread waits or is about to.
                 for (int i = 0; i < 100; ++i) std::this_thread::yield();
                 EXPECT_EQ(steps, 0);
                 done = true;
               }});
  EXPECT_EQ(steps, 0);
}

TEST(SchedulerThreadsTest, AThreadWakesAnotherWithWhatItWaitsFor) {
  World world;
  bool ping = false;
  bool pong = false;
  RunAttached(world, {[&] {
                        ping = true;
                        EXPECT_EQ(AwaitTrue(world, [&] { return pong; }), 0);
                      },
                      [&] {
                        EXPECT_EQ(AwaitTrue(world, [&] { return ping; }), 0);
                        pong = true;
                      }});
}

TEST(SchedulerThreadsTest, TheWorldIsDeadOnlyWhenAllThreadsWait) {
  World world;
  int results[2] = {};
  const auto wait = [&](int* result) {
    *result = AwaitTrue(world, [] { return false; });
  };
  RunAttached(world, {[&] { wait(&results[0]); }, [&] { wait(&results[1]); }});
  EXPECT_EQ(results[0], EDEADLK);
  EXPECT_EQ(results[1], EDEADLK);
  EXPECT_THAT(world.report, AllOf(HasSubstr("thread 1 waits in Wait on CQ 1"),
                                  HasSubstr("thread 2 waits in Wait")));
}

// Two threads that each make three steps and note when they went on.
std::string Interleaving(uint64_t seed) {
  World world(seed);
  std::string order;  // one thread at a time touches it
  TestTask* self = nullptr;
  TestTask forever(world, [&] { self->MakeRunnable(); });
  self = &forever;
  forever.MakeRunnable();
  const auto body = [&](char name) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(world.scheduler.Step());
      order += name;
    }
  };
  RunAttached(world, {[&] { body('a'); }, [&] { body('b'); }});
  return order;
}

TEST(SchedulerThreadsTest, ThreadsGoOnOneAtATimeInTheOrderOfTheSeed) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::string order = Interleaving(seed);
    EXPECT_EQ(order.size(), 6u);
    EXPECT_EQ(Interleaving(seed), order);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 5u);
}

TEST(SchedulerThreadsTest, AThreadThatIsNotAttachedMayWait) {
  World world;
  bool there = false;
  TestTask task(world, [&] { there = true; });
  ASSERT_EQ(world.scheduler.AttachThread(), 0);
  task.MakeRunnable();
  std::thread other(
      [&] { EXPECT_EQ(AwaitTrue(world, [&] { return there; }), 0); });
  bool both = false;
  TestTask second(world, [&] { both = there; });
  second.MakeRunnable();
  EXPECT_EQ(AwaitTrue(world, [&] { return both || there; }), 0);
  EXPECT_EQ(world.scheduler.DetachThread(), 0);
  other.join();
}

TEST(SchedulerThreadsTest, AThreadThatDetachesLetsTheOthersGoOn) {
  World world;
  bool there = false;
  TestTask task(world, [&] { there = true; });
  task.MakeRunnable();
  ASSERT_EQ(world.scheduler.AttachThread(), 0);
  std::promise<void> attached;
  std::thread other([&] {
    EXPECT_EQ(world.scheduler.AttachThread(), 0);
    attached.set_value();
    EXPECT_EQ(AwaitTrue(world, [&] { return there; }), 0);
    EXPECT_EQ(world.scheduler.DetachThread(), 0);
  });
  attached.get_future().wait();
  EXPECT_EQ(world.scheduler.DetachThread(), 0);
  other.join();
}

}  // namespace
}  // namespace rpma::emu
