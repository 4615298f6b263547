// SPDX-License-Identifier: BSD-3-Clause
// docs/fault-plans.md: its examples are plans, and it knows every name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/fault/call.h"
#include "backends/fault/plan.h"
#include "emulator/faults.h"

namespace rpma::fault {
namespace {

std::string Page() {
  std::ifstream file("docs/fault-plans.md");
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

// The blocks of the page that are marked as plans.
std::vector<std::string> Examples() {
  constexpr std::string_view kBegin = "```plan\n";
  const std::string page = Page();
  std::vector<std::string> examples;
  for (size_t at = page.find(kBegin); at != std::string::npos;) {
    at += kBegin.size();
    const size_t end = page.find("```", at);
    examples.push_back(page.substr(at, end - at));
    at = page.find(kBegin, end);
  }
  return examples;
}

TEST(DocsTest, ExamplesArePlansAndShowEveryRule) {
  std::vector<bool> shown(static_cast<size_t>(emu::FaultAction::kRemove) + 1);
  for (const std::string& example : Examples()) {
    std::vector<Rule> rules;
    std::string error;
    EXPECT_TRUE(ParsePlan(example, &rules, &error)) << example << error;
    for (const Rule& rule : rules) {
      if (const auto* fault = std::get_if<emu::Fault>(&rule)) {
        shown[static_cast<size_t>(fault->action)] = true;
      }
    }
  }
  EXPECT_THAT(shown, testing::Each(true));
}

TEST(DocsTest, KnowsEveryCall) {
  const std::string page = Page();
  for (size_t i = 0; i < kCallsThatCanFail; ++i) {
    EXPECT_THAT(page, testing::ContainsRegex(
                          "[ `]" + std::string(NameOf(static_cast<Call>(i))) +
                          "[ `\n]"));
  }
}

}  // namespace
}  // namespace rpma::fault
