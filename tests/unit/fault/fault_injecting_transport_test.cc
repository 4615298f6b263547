// SPDX-License-Identifier: BSD-3-Clause
// Which calls fail, what a failed call leaves alone, and what is counted.

#include "backends/fault/fault_injecting_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/allocation_counter.h"
#include "tests/unit/fault/every_call.h"

namespace rpma::fault {
namespace {

using Faults = std::vector<CallFault>;

// A decorated mock.
struct World {
  EveryCall every;
  FaultInjectingTransport transport{every.mock()};

  int Make(Call call) { return every.Make(call, transport); }
};

// What a call that fails with `error` returns.
int ResultOf(Call call, Errno error) {
  const int number = static_cast<int>(error);
  if (call == Call::kPollCq && error != Errno::kNoCause) return -number;
  return number;
}

std::string NameOfParam(const testing::TestParamInfo<Call>& info) {
  return std::string(NameOf(info.param));
}

class EveryCallTest : public testing::TestWithParam<Call>, protected World {};
class EveryFallibleCallTest : public EveryCallTest {};
class EveryFreeingCallTest : public EveryCallTest {};

INSTANTIATE_TEST_SUITE_P(, EveryCallTest, testing::ValuesIn(AllCalls()),
                         NameOfParam);
INSTANTIATE_TEST_SUITE_P(, EveryFallibleCallTest,
                         testing::ValuesIn(CallsThatCanFail()), NameOfParam);
INSTANTIATE_TEST_SUITE_P(, EveryFreeingCallTest,
                         testing::ValuesIn(CallsThatFree()), NameOfParam);

TEST_P(EveryCallTest, IsFoundByItsName) {
  EXPECT_EQ(FindCall(NameOf(GetParam())), GetParam());
}

TEST_P(EveryCallTest, IsHandedOnUncountedWithoutAPlan) {
  EXPECT_EQ(Make(GetParam()), 0);
  EXPECT_EQ(every.reached(), 1u);
  EXPECT_EQ(transport.CountOf(GetParam()), 0u);
  EXPECT_EQ(transport.CountOfAll(), 0u);
}

TEST_P(EveryCallTest, IsHandedOnAndCountedWithAnEmptyPlan) {
  transport.SetPlan({});
  EXPECT_EQ(Make(GetParam()), 0);
  EXPECT_EQ(every.reached(), 1u);
  for (const Call call : AllCalls()) {
    EXPECT_EQ(transport.CountOf(call), call == GetParam() ? 1u : 0u);
  }
  EXPECT_EQ(transport.CountOfAll(), CanFail(GetParam()) ? 1u : 0u);
}

TEST_P(EveryFallibleCallTest, FailsWithoutEffectAndSucceedsWhenRepeated) {
  transport.SetPlan(Faults{{.call = GetParam(), .error = Errno{ENETDOWN}}});
  const size_t live = every.mock().live();
  EXPECT_EQ(Make(GetParam()), ResultOf(GetParam(), Errno{ENETDOWN}));
  EXPECT_EQ(every.reached(), 0u);
  EXPECT_EQ(every.mock().live(), live);
  EXPECT_EQ(Make(GetParam()), 0);
  EXPECT_EQ(every.reached(), 1u);
  EXPECT_EQ(transport.FiredBy(0), 1u);
  EXPECT_EQ(transport.CountOf(GetParam()), 2u);
}

TEST_P(EveryFallibleCallTest, FailsByItsNumberAmongAllCalls) {
  transport.SetPlan(Faults{{.nth = 3, .error = Errno{ENOMEM}}});
  EXPECT_EQ(Make(Call::kConnect), 0);
  EXPECT_EQ(Make(Call::kAckCqEvents), 0);  // cannot fail, so it has no number
  EXPECT_EQ(Make(Call::kPostSend), 0);
  EXPECT_EQ(Make(GetParam()), ResultOf(GetParam(), Errno{ENOMEM}));
  EXPECT_EQ(Make(GetParam()), 0);
  EXPECT_EQ(transport.CountOfAll(), 4u);
}

TEST_P(EveryFallibleCallTest, DoesNotAllocateWhenItFails) {
  transport.SetPlan(Faults{{.and_later = true}});
  const size_t before = test::AllocationsOfThisThread();
  const int result = Make(GetParam());
  EXPECT_EQ(test::AllocationsOfThisThread(), before);
  EXPECT_EQ(result, ResultOf(GetParam(), Errno{EIO}));
}

TEST_P(EveryFreeingCallTest, CanFreeAndFail) {
  transport.SetPlan(Faults{{.call = GetParam(), .outcome = Outcome::kFreed}});
  const size_t live = every.mock().live();
  EXPECT_EQ(Make(GetParam()), EIO);
  EXPECT_EQ(every.reached(), 1u);
  EXPECT_EQ(every.mock().live(), live - 1);
}

class FaultInjectingTransportTest : public testing::Test, protected World {};

TEST_F(FaultInjectingTransportTest, KnowsTheOtherNameOfDestroyQp) {
  EXPECT_EQ(FindCall("rdma_destroy_qp"), Call::kDestroyQp);
  EXPECT_EQ(FindCall("ibv_post"), std::nullopt);
  EXPECT_EQ(FindCall(""), std::nullopt);
}

TEST_F(FaultInjectingTransportTest, FailsTheNthCallOfAName) {
  transport.SetPlan(Faults{{.call = Call::kRegMr, .nth = 2}});
  EXPECT_EQ(Make(Call::kRegMr), 0);
  EXPECT_EQ(Make(Call::kAdviseMr), 0);
  EXPECT_EQ(Make(Call::kRegMr), EIO);
  EXPECT_EQ(Make(Call::kRegMr), 0);
}

TEST_F(FaultInjectingTransportTest, FailsFromTheNthCallOn) {
  transport.SetPlan(
      Faults{{.call = Call::kRegMr, .nth = 2, .and_later = true}});
  EXPECT_EQ(Make(Call::kRegMr), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Make(Call::kRegMr), EIO);
  EXPECT_EQ(transport.FiredBy(0), 3u);
  EXPECT_EQ(Make(Call::kAllocPd), 0);
}

TEST_F(FaultInjectingTransportTest, TheFirstRuleThatIsDueDecides) {
  transport.SetPlan(Faults{
      {.call = Call::kListen, .nth = 2, .error = Errno{EBUSY}},
      {.and_later = true, .error = Errno{ENODEV}},
      {.call = Call::kListen, .nth = 3, .error = Errno{ENOMEM}},
  });
  EXPECT_EQ(Make(Call::kListen), ENODEV);
  EXPECT_EQ(Make(Call::kListen), EBUSY);
  EXPECT_EQ(Make(Call::kListen), ENODEV);
  EXPECT_EQ(transport.FiredBy(0), 1u);
  EXPECT_EQ(transport.FiredBy(1), 2u);
  EXPECT_EQ(transport.FiredBy(2), 0u);
  EXPECT_EQ(transport.FiredBy(3), 0u);  // no such rule
}

TEST_F(FaultInjectingTransportTest, ACallCanFailWithoutACause) {
  transport.SetPlan(Faults{{.error = Errno::kNoCause}});
  EXPECT_EQ(Make(Call::kAllocPd), static_cast<int>(Errno::kNoCause));
  transport.SetPlan(Faults{{.error = Errno::kNoCause}});
  EXPECT_EQ(Make(Call::kPollCq), -1);
}

TEST_F(FaultInjectingTransportTest, APollCanReturnMoreThanItWasAskedFor) {
  transport.SetPlan(
      Faults{{.call = Call::kPollCq, .outcome = Outcome::kExcess}});
  EXPECT_EQ(Make(Call::kPollCq), kPollCapacity + 1);
  EXPECT_EQ(every.reached(), 0u);
  EXPECT_EQ(Make(Call::kPollCq), 0);
  EXPECT_EQ(every.reached(), 1u);
}

TEST_F(FaultInjectingTransportTest, APollThatAsksForTheMostFailsInstead) {
  transport.SetPlan(
      Faults{{.call = Call::kPollCq, .outcome = Outcome::kExcess}});
  EXPECT_LT(transport.PollCq(nullptr, INT_MAX, nullptr), 0);
}

TEST_F(FaultInjectingTransportTest, AnotherPlanStartsCountingAgain) {
  transport.SetPlan(Faults{{.call = Call::kListen}});
  EXPECT_EQ(Make(Call::kListen), EIO);
  transport.SetPlan(Faults{{.call = Call::kListen}});
  EXPECT_EQ(transport.FiredBy(0), 0u);
  EXPECT_EQ(transport.CountOfAll(), 0u);
  EXPECT_EQ(Make(Call::kListen), EIO);
}

TEST_F(FaultInjectingTransportTest, WithoutItsPlanNothingFailsOrIsCounted) {
  transport.SetPlan(Faults{{.and_later = true}});
  EXPECT_EQ(Make(Call::kListen), EIO);
  transport.ClearPlan();
  EXPECT_EQ(Make(Call::kListen), 0);
  EXPECT_EQ(transport.CountOf(Call::kListen), 0u);
  EXPECT_EQ(transport.CountOfAll(), 0u);
  EXPECT_EQ(transport.FiredBy(0), 0u);
}

TEST_F(FaultInjectingTransportTest, KnowsWhetherTheThreadIsInsideACall) {
  std::vector<bool> inside;
  ON_CALL(every.mock(), Listen).WillByDefault([&](auto...) {
    inside.push_back(FaultInjectingTransport::InsideCall());
    return static_cast<Errno>(every.Make(Call::kPollCq, transport));
  });
  ON_CALL(every.mock(), AckCqEvents).WillByDefault([&](auto...) {
    std::thread([&] {
      inside.push_back(FaultInjectingTransport::InsideCall());
    }).join();
    inside.push_back(FaultInjectingTransport::InsideCall());
  });
  ON_CALL(every.mock(), PollCq).WillByDefault([&](auto, int capacity, auto) {
    inside.push_back(FaultInjectingTransport::InsideCall());
    return capacity;
  });
  EXPECT_EQ(Make(Call::kListen), 0);
  EXPECT_THAT(inside, testing::ElementsAre(false, false));
  inside.clear();
  transport.SetPlan({});
  EXPECT_EQ(Make(Call::kListen), 0);
  EXPECT_EQ(Make(Call::kAckCqEvents), 0);
  EXPECT_THAT(inside, testing::ElementsAre(true, true, false, true));
  EXPECT_FALSE(FaultInjectingTransport::InsideCall());
}

TEST_F(FaultInjectingTransportTest, CountsTheCallsOfAllThreads) {
  constexpr size_t kThreads = 4;
  constexpr uint64_t kCallsOfEach = 1000;
  ON_CALL(every.mock(), PostSend).WillByDefault(testing::Return(Errno::kOk));
  transport.SetPlan(Faults{{.nth = 1000, .and_later = true}});
  std::atomic<uint64_t> failed = 0;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint64_t n = 0; n < kCallsOfEach; ++n) {
        if (transport.PostSend(nullptr, nullptr) != Errno::kOk) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(transport.CountOf(Call::kPostSend), kThreads * kCallsOfEach);
  EXPECT_EQ(failed, kThreads * kCallsOfEach - 999);
  EXPECT_EQ(transport.FiredBy(0), failed);
}

TEST_F(FaultInjectingTransportTest, PlansMayChangeWhileThreadsMakeCalls) {
  ON_CALL(every.mock(), PostSend).WillByDefault(testing::Return(Errno::kOk));
  std::atomic<bool> stop = false;
  std::array<std::atomic<int>, 2> failed{};
  std::vector<std::thread> threads;
  for (std::atomic<int>& count : failed) {
    threads.emplace_back([&] {
      while (!stop) {
        const Errno error = transport.PostSend(nullptr, nullptr);
        if (error == Errno::kOk) continue;
        EXPECT_EQ(error, Errno{EBUSY});
        ++count;
      }
    });
  }
  const Faults plan(8, {.and_later = true, .error = Errno{EBUSY}});
  while (failed[0] < 100 || failed[1] < 100) {
    transport.SetPlan(plan);
    EXPECT_EQ(transport.FiredBy(1), 0u);  // the first rule decides
    transport.SetPlan({});
    transport.ClearPlan();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rpma::fault
