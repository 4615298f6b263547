// SPDX-License-Identifier: BSD-3-Clause
// Walks of a few hundred seeds, most of them under faults, find nothing wrong,
// and those of one seed are all the same.

#include "tests/sim/walk.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <tuple>

#include "tests/sim/report.h"

namespace rpma::sim {
namespace {

constexpr uint64_t kSeedsOfATest = 10;

struct Kind {
  const char* profile;
  Schedule schedule;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.profile << "_" << ToText(kind.schedule);
}

struct Totals {
  uint64_t runs = 0;
  uint64_t steps = 0;
  uint64_t faults = 0;
} totals;

RunResult RunAndCount(const RunOptions& options) {
  RunResult result = RunSeed(options);
  ++totals.runs;
  totals.steps += result.steps;
  totals.faults += result.fired;
  return result;
}

class WalkTest : public ::testing::TestWithParam<std::tuple<Kind, uint64_t>> {
 protected:
  static void TearDownTestSuite() {
    std::printf("%lu runs, %lu steps, %lu faults fired\n",
                static_cast<unsigned long>(totals.runs),
                static_cast<unsigned long>(totals.steps),
                static_cast<unsigned long>(totals.faults));
  }
};

TEST_P(WalkTest, FindsNothingWrong) {
  const auto& [kind, block] = GetParam();
  const uint64_t faults_before = totals.faults;
  for (uint64_t i = 0; i < kSeedsOfATest; ++i) {
    RunOptions options;
    options.seed = block * kSeedsOfATest + i + 1;
    options.profile = kind.profile;
    options.schedule = kind.schedule;
    const RunResult result = RunAndCount(options);
    EXPECT_TRUE(result.passed()) << ReportOf(options, result);
  }
  EXPECT_GT(totals.faults, faults_before);
}

TEST_P(WalkTest, ASeedHasOneHistory) {
  const auto& [kind, block] = GetParam();
  if (kind.schedule != Schedule::kStepped) return;
  RunOptions options;
  options.profile = kind.profile;
  options.seed = block * kSeedsOfATest + 1;
  const RunResult first = RunAndCount(options);
  const RunResult again = RunAndCount(options);
  EXPECT_EQ(first.hash, again.hash) << ReplayCommand(options);
  EXPECT_EQ(first.trace_hash, again.trace_hash) << ReplayCommand(options);
  ++options.seed;
  EXPECT_NE(first.trace_hash, RunAndCount(options).trace_hash);
}

std::string NameOf(const ::testing::TestParamInfo<WalkTest::ParamType>& info) {
  const auto& [kind, block] = info.param;
  return std::string(kind.profile) + "_" + ToText(kind.schedule) + "_" +
         std::to_string(block);
}

INSTANTIATE_TEST_SUITE_P(
    Stepped, WalkTest,
    ::testing::Combine(::testing::Values(Kind{"roce", Schedule::kStepped},
                                         Kind{"ib", Schedule::kStepped},
                                         Kind{"iwarp", Schedule::kStepped}),
                       ::testing::Range(uint64_t{0}, uint64_t{8})),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Inline, WalkTest,
    ::testing::Combine(::testing::Values(Kind{"roce", Schedule::kInline},
                                         Kind{"iwarp", Schedule::kInline}),
                       ::testing::Range(uint64_t{0}, uint64_t{2})),
    NameOf);

}  // namespace
}  // namespace rpma::sim
