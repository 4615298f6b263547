// SPDX-License-Identifier: BSD-3-Clause
// Timers: what expires, when, in which order, and what may be destroyed
// meanwhile.

#include "emulator/timer.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

namespace rpma::emu {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(10);

// Of this process.
std::ptrdiff_t Threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

TEST(TimerTest, ExpiresOnceAfterItsDelay) {
  TimerQueue queue;
  std::promise<Clock::time_point> expired;  // a second set_value() would throw
  Timer timer(queue, [&] { expired.set_value(Clock::now()); });
  const auto armed_at = Clock::now();

  ASSERT_TRUE(timer.Arm(milliseconds(5)));

  auto future = expired.get_future();
  ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
  EXPECT_GE(future.get() - armed_at, milliseconds(5));
}

TEST(TimerTest, RunsExpiriesInTheOrderOfTheirDeadlines) {
  TimerQueue queue;
  std::vector<int> order;  // written by the queue's thread only
  std::promise<void> done;
  Timer late(queue, [&] {
    order.push_back(3);
    done.set_value();
  });
  Timer middle(queue, [&] { order.push_back(2); });
  Timer early(queue, [&] { order.push_back(1); });

  ASSERT_TRUE(late.Arm(milliseconds(30)));
  ASSERT_TRUE(middle.Arm(milliseconds(20)));
  ASSERT_TRUE(early.Arm(milliseconds(10)));

  ASSERT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(TimerTest, AnEarlierTimerWakesAThreadThatSleepsToALaterOne) {
  TimerQueue queue;
  std::promise<void> expired;
  Timer far(queue, [] {});
  Timer near(queue, [&] { expired.set_value(); });

  ASSERT_TRUE(far.Arm(hours(1)));
  ASSERT_TRUE(near.Arm(milliseconds(1)));

  EXPECT_EQ(expired.get_future().wait_for(kPatience),
            std::future_status::ready);
}

TEST(TimerTest, ArmingAgainReplacesTheDeadline) {
  TimerQueue queue;
  std::atomic<int> expiries = 0;
  std::promise<void> fence;
  Timer timer(queue, [&] { ++expiries; });
  Timer last(queue, [&] { fence.set_value(); });

  ASSERT_TRUE(timer.Arm(hours(1)));
  ASSERT_TRUE(timer.Arm(milliseconds(1)));
  ASSERT_TRUE(last.Arm(milliseconds(5)));

  ASSERT_EQ(fence.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(expiries, 1);
}

TEST(TimerTest, ACancelledTimerDoesNotExpireAndCanBeArmedAgain) {
  TimerQueue queue;
  std::atomic<int> expiries = 0;
  Timer timer(queue, [&] { ++expiries; });

  ASSERT_TRUE(timer.Arm(hours(1)));
  timer.Cancel();
  timer.Cancel();
  {
    std::promise<void> fence;
    Timer later(queue, [&] { fence.set_value(); });
    ASSERT_TRUE(later.Arm(milliseconds(1)));
    ASSERT_EQ(fence.get_future().wait_for(kPatience),
              std::future_status::ready);
  }
  EXPECT_EQ(expiries, 0);

  ASSERT_TRUE(timer.Arm(microseconds(1)));
  const auto deadline = Clock::now() + kPatience;
  while (expiries == 0 && Clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(expiries, 1);
}

TEST(TimerTest, ACallbackMayArmItsOwnTimer) {
  TimerQueue queue;
  std::promise<void> third;
  int expiries = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(queue, [&] {
    if (++expiries == 3) {
      third.set_value();
    } else {
      ASSERT_TRUE(timer->Arm(microseconds(1)));
    }
  });

  ASSERT_TRUE(timer->Arm(microseconds(1)));

  EXPECT_EQ(third.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(TimerTest, ATimerMayBeDestroyedWhileItsCallbackRuns) {
  TimerQueue queue;
  std::promise<void> running;
  std::promise<void> go_on;
  std::promise<int> result;
  auto kept = std::make_shared<int>(42);
  auto timer = std::make_unique<Timer>(
      queue, [&, kept, may_go_on = go_on.get_future().share()] {
        running.set_value();
        may_go_on.wait();
        result.set_value(*kept);
      });
  const std::weak_ptr<int> watched = kept;
  kept.reset();

  ASSERT_TRUE(timer->Arm(microseconds(1)));
  running.get_future().wait();
  timer.reset();
  go_on.set_value();

  EXPECT_EQ(result.get_future().get(), 42);
}

TEST(TimerTest, OnlyAQueueWithAnArmedTimerHasAThread) {
  const auto before = Threads();
  TimerQueue queue;
  Timer timer(queue, [] {});
  timer.Cancel();
  EXPECT_EQ(Threads(), before);

  ASSERT_TRUE(timer.Arm(hours(1)));
  EXPECT_GT(Threads(), before);
}

TEST(TimerTest, TheQueuesThreadBlocksSignals) {
  TimerQueue queue;
  std::promise<bool> blocked;
  Timer timer(queue, [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.set_value(sigismember(&mask, SIGINT) == 1 &&
                      sigismember(&mask, SIGUSR1) == 1);
  });

  ASSERT_TRUE(timer.Arm(microseconds(1)));

  EXPECT_TRUE(blocked.get_future().get());
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 0);
}

TEST(TimerTest, ArmingFailsWithoutAThreadAndWorksOnceThereCanBeOne) {
  pthread_attr_t normal;
  ASSERT_EQ(pthread_getattr_default_np(&normal), 0);
  pthread_attr_t too_large = normal;
  ASSERT_EQ(pthread_attr_setstacksize(&too_large, size_t{1} << 60), 0);
  TimerQueue queue;
  std::promise<void> expired;
  Timer timer(queue, [&] { expired.set_value(); });

  ASSERT_EQ(pthread_setattr_default_np(&too_large), 0);
  EXPECT_FALSE(timer.Arm(microseconds(1)));
  ASSERT_EQ(pthread_setattr_default_np(&normal), 0);

  ASSERT_TRUE(timer.Arm(microseconds(1)));
  EXPECT_EQ(expired.get_future().wait_for(kPatience),
            std::future_status::ready);
}

TEST(TimerTest, ManyThreadsArmCancelAndDestroy) {
  TimerQueue queue;
  auto expiries = std::make_shared<std::atomic<int>>(0);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&queue, expiries] {
      for (int i = 0; i < 500; ++i) {
        Timer timer(queue, [expiries] { ++*expiries; });
        ASSERT_TRUE(timer.Arm(microseconds(i % 3)));
        if (i % 2 == 0) timer.Cancel();
        ASSERT_TRUE(timer.Arm(microseconds(i % 5)));
      }
    });
  }
  threads.clear();
  EXPECT_LE(*expiries, 4 * 500 * 2);
}

}  // namespace
}  // namespace rpma::emu
