// SPDX-License-Identifier: BSD-3-Clause
// Walks of a few hundred seeds find nothing wrong.

#include "tests/sim/walk.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/sim/report.h"

namespace rpma::sim {
namespace {

constexpr uint64_t kSeedsOfATest = 10;
constexpr uint64_t kTests = 10;

struct Kind {
  const char* profile;
  Schedule schedule;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.profile << "_" << ToText(kind.schedule);
}

class WalkTest : public ::testing::TestWithParam<std::tuple<Kind, uint64_t>> {};

TEST_P(WalkTest, FindsNothingWrong) {
  const auto& [kind, block] = GetParam();
  for (uint64_t i = 0; i < kSeedsOfATest; ++i) {
    RunOptions options;
    options.seed = block * kSeedsOfATest + i + 1;
    options.profile = kind.profile;
    options.schedule = kind.schedule;
    const RunResult result = RunSeed(options);
    EXPECT_TRUE(result.passed()) << ReportOf(options, result);
  }
}

std::string NameOf(const ::testing::TestParamInfo<WalkTest::ParamType>& info) {
  const auto& [kind, block] = info.param;
  return std::string(kind.profile) + "_" + ToText(kind.schedule) + "_" +
         std::to_string(block);
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, WalkTest,
    ::testing::Combine(::testing::Values(Kind{"roce", Schedule::kInline},
                                         Kind{"ib", Schedule::kInline},
                                         Kind{"iwarp", Schedule::kInline}),
                       ::testing::Range(uint64_t{0}, kTests)),
    NameOf);

}  // namespace
}  // namespace rpma::sim
