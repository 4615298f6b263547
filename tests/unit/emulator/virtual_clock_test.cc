// SPDX-License-Identifier: BSD-3-Clause
// Timers on a virtual clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

#include "emulator/timer.h"

namespace rpma::emu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using Expired = TimerQueue::Expired;

std::ptrdiff_t ThreadsOfThisProcess() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

class VirtualClockTest : public testing::Test {
 protected:
  nanoseconds Now() const { return queue_.Now().time_since_epoch(); }
  Expired ExpireNext() { return queue_.ExpireNext(ties_); }
  // A timer that notes `mark` when it expires.
  std::unique_ptr<Timer> Marker(int mark) {
    return std::make_unique<Timer>(queue_,
                                   [=, this] { marks_.push_back(mark); });
  }

  TimerQueue queue_{ClockKind::kVirtual};
  Random ties_{0};
  std::vector<int> marks_;
};

TEST_F(VirtualClockTest, StartsAtZeroAndStandsStill) {
  const auto timer = Marker(1);
  EXPECT_EQ(Now(), nanoseconds(0));
  ASSERT_TRUE(timer->Arm(nanoseconds(1)));
  EXPECT_EQ(Now(), nanoseconds(0));
  EXPECT_THAT(marks_, ElementsAre());
}

TEST_F(VirtualClockTest, JumpsToTheEarliestDeadline) {
  const auto late = Marker(2);
  const auto early = Marker(1);
  ASSERT_TRUE(late->Arm(hours(100)));
  ASSERT_TRUE(early->Arm(milliseconds(50)));

  EXPECT_EQ(ExpireNext(), Expired::kOnce);
  EXPECT_THAT(marks_, ElementsAre(1));
  EXPECT_EQ(Now(), milliseconds(50));
  EXPECT_EQ(ExpireNext(), Expired::kOnce);
  EXPECT_THAT(marks_, ElementsAre(1, 2));
  EXPECT_EQ(Now(), hours(100));
  EXPECT_EQ(ExpireNext(), Expired::kNone);
  EXPECT_EQ(Now(), hours(100));
}

TEST_F(VirtualClockTest, DelaysCountFromNow) {
  const auto first = Marker(1);
  const auto second = Marker(2);
  ASSERT_TRUE(first->Arm(milliseconds(3)));
  EXPECT_EQ(ExpireNext(), Expired::kOnce);
  ASSERT_TRUE(second->Arm(milliseconds(4)));
  EXPECT_EQ(ExpireNext(), Expired::kOnce);
  EXPECT_EQ(Now(), milliseconds(7));
}

TEST_F(VirtualClockTest, EqualDeadlinesExpireInAnyOrder) {
  const auto first = Marker(1);
  const auto second = Marker(2);
  const auto third = Marker(3);
  std::set<std::vector<int>> orders;
  for (int round = 0; round < 200; ++round) {
    marks_.clear();
    for (const auto* timer : {&first, &second, &third}) {
      ASSERT_TRUE((*timer)->Arm(milliseconds(1)));
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ExpireNext(), Expired::kOnce);
    orders.insert(marks_);
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST_F(VirtualClockTest, ACancelledTimerDoesNotExpire) {
  const auto cancelled = Marker(1);
  const auto destroyed = Marker(2);
  ASSERT_TRUE(cancelled->Arm(milliseconds(1)));
  ASSERT_TRUE(Marker(2)->Arm(milliseconds(1)));
  cancelled->Cancel();
  EXPECT_EQ(ExpireNext(), Expired::kNone);
}

TEST_F(VirtualClockTest, AnExpiryMayArmItsTimerAgain) {
  int times = 0;
  Timer* self = nullptr;
  Timer timer(queue_, [&] {
    if (++times < 3) {
      EXPECT_TRUE(self->Arm(milliseconds(2)));
    }
  });
  self = &timer;
  ASSERT_TRUE(timer.Arm(milliseconds(2)));
  while (ExpireNext() != Expired::kNone) continue;
  EXPECT_EQ(times, 3);
  EXPECT_EQ(Now(), milliseconds(6));
}

TEST_F(VirtualClockTest, KnowsWhetherOnlyRepeatingTimersAreArmed) {
  const auto once = Marker(1);
  const auto repeating = Marker(2);
  EXPECT_TRUE(queue_.OnlyRepeatingAreArmed());
  ASSERT_TRUE(once->Arm(milliseconds(1)));
  ASSERT_TRUE(repeating->Arm(milliseconds(2), Recurrence::kRepeating));
  EXPECT_FALSE(queue_.OnlyRepeatingAreArmed());
  EXPECT_EQ(ExpireNext(), Expired::kOnce);
  EXPECT_TRUE(queue_.OnlyRepeatingAreArmed());
  EXPECT_EQ(ExpireNext(), Expired::kRepeating);
  ASSERT_TRUE(repeating->Arm(milliseconds(1), Recurrence::kRepeating));
  ASSERT_TRUE(repeating->Arm(milliseconds(1)));
  EXPECT_FALSE(queue_.OnlyRepeatingAreArmed());
}

TEST_F(VirtualClockTest, NothingExpiresAfterStop) {
  const auto timer = Marker(1);
  ASSERT_TRUE(timer->Arm(milliseconds(1)));
  queue_.Stop();
  EXPECT_EQ(ExpireNext(), Expired::kNone);
  EXPECT_FALSE(timer->Arm(milliseconds(1)));
}

TEST_F(VirtualClockTest, NeedsNoThread) {
  const auto before = ThreadsOfThisProcess();
  const auto timer = Marker(1);
  ASSERT_TRUE(timer->Arm(milliseconds(1)));
  EXPECT_EQ(ThreadsOfThisProcess(), before);
}

}  // namespace
}  // namespace rpma::emu
