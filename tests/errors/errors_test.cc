// SPDX-License-Identifier: BSD-3-Clause
// Every documented failure of librpma, executed: one test for each row of
// errors.tsv.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "tests/errors/cases.h"
#include "tests/errors/table.h"

namespace rpma::test {
namespace {

using ::testing::IsEmpty;

// The rows whose cases ran to their ends.
std::set<Row>& Executed() {
  static std::set<Row> rows;
  return rows;
}

class ErrorTable : public ::testing::TestWithParam<Row> {};

INSTANTIATE_TEST_SUITE_P(Errors, ErrorTable,
                         ::testing::ValuesIn(Table::Get().rows),
                         [](const auto& row) { return TestNameOf(row.param); });

TEST_P(ErrorTable, Row) {
  const auto& cases = Registry::Get().cases();
  const auto found = cases.find(GetParam());
  ASSERT_NE(found, cases.end()) << "no case for " << GetParam();
  found->second();
  Executed().insert(GetParam());
}

bool IsRow(const Row& row) {
  return std::ranges::count(Table::Get().rows, row) > 0;
}

TEST(ErrorTableTest, NoRowStandsTwice) {
  const auto& rows = Table::Get().rows;
  EXPECT_EQ(std::set<Row>(rows.begin(), rows.end()).size(), rows.size());
}

TEST(ErrorTableTest, EveryCaseHasARow) {
  for (const auto& [row, one] : Registry::Get().cases()) {
    EXPECT_TRUE(IsRow(row)) << row;
  }
}

TEST(ErrorTableTest, NoRowHasTwoCases) {
  EXPECT_THAT(Registry::Get().twice(), IsEmpty());
}

TEST(ErrorTableTest, EveryDeviationHasARowAndADecision) {
  for (const auto& [row, deviation] : Table::Get().deviations) {
    EXPECT_TRUE(IsRow(row)) << row;
    EXPECT_TRUE(deviation.decision == "0" || CodeOf(deviation.decision) != 0)
        << row << ": " << deviation.decision;
  }
}

class Summary : public ::testing::Environment {
 public:
  void TearDown() override {
    const auto& deviations = Table::Get().deviations;
    const auto deviating = std::ranges::count_if(
        Executed(), [&](const Row& row) { return deviations.contains(row); });
    std::printf("%zu of %zu rows executed, %zu of them as deviations\n",
                Executed().size(), Table::Get().rows.size(),
                static_cast<size_t>(deviating));
  }
};

const auto* const summary =
    ::testing::AddGlobalTestEnvironment(new Summary);  // GoogleTest's to delete

}  // namespace
}  // namespace rpma::test
