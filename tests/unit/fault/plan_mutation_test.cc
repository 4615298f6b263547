// SPDX-License-Identifier: BSD-3-Clause
// Texts that are nearly plans: whatever they are, they are read or refused with
// a place that exists, and what was read can be written and read again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "backends/fault/plan.h"

namespace rpma::fault {
namespace {

constexpr std::string_view kRules[] = {
    "fail ibv_reg_mr nth=3 errno=ENOMEM",
    "fail any from=100",
    "fail ibv_alloc_pd errno=none",
    "fail ibv_destroy_cq outcome=freed",
    "fail ibv_poll_cq outcome=excess",
    "complete write status=REM_ACCESS_ERR nth=2 device=emu0",
    "complete recv status=IBV_WC_LOC_LEN_ERR",
    "drop send what=response from=2",
    "drop DREQ nth=9223372036854775807",
    "delay read time=20ms",
    "duplicate flush device=emu1",
    "rnr time=640us nth=2",
    "event ESTABLISHED as=ADDR_CHANGE",
    "event DISCONNECTED ahead",
    "event RDMA_CM_EVENT_REJECTED delay=86400s",
    "foreign_cq from=1",
    "overrun",
    "link device=emu1 state=down time=1ns nth=4",
    "exit device=emu1",
    "power device=emu1",
    "remove device=emu1 nth=7",
    "# a comment",
};

constexpr std::string_view kBytes = "\n;# =\t\r0123456789aA_-\"\\\x01\x80\xff";

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  // A few rules with a few changes.
  std::string Next() {
    std::string text;
    for (size_t i = Below(4); i > 0; --i) {
      text.append(kRules[Below(std::size(kRules))]).append(1, "\n;"[Below(2)]);
    }
    for (size_t i = Below(4); i > 0; --i) Change(&text);
    return text;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  void Change(std::string* text) {
    const size_t at = Below(text->size() + 1);
    const size_t length = std::min(Below(8), text->size() - at);
    switch (Below(5)) {
      case 0:
        text->erase(at, length);
        return;
      case 1:
        text->insert(at, 1, kBytes[Below(kBytes.size())]);
        return;
      case 2:
        text->insert(at, text->substr(at, length));
        return;
      case 3:
        if (at < text->size()) (*text)[at] = kBytes[Below(kBytes.size())];
        return;
      default:
        text->insert(at, kRules[Below(std::size(kRules))]);
    }
  }

  std::mt19937 random_;
};

// Whether "line L, column C: " names a place in the text, or just behind it.
bool NamesAPlaceIn(const std::string& text, const std::string& error) {
  size_t line = 0;
  size_t column = 0;
  if (std::sscanf(error.c_str(), "line %zu, column %zu: ", &line, &column) !=
      2) {
    return false;
  }
  size_t start = 0;
  for (size_t i = 1; i < line; ++i) {
    const size_t end = text.find('\n', start);
    if (end == std::string::npos) return false;
    start = end + 1;
  }
  const size_t end = std::min(text.find('\n', start), text.size());
  return column >= 1 && start + column - 1 <= end;
}

TEST(PlanMutationTest, EveryTextIsReadOrRefused) {
  constexpr int kTexts = 20000;
  Mutator mutator(3);
  int read = 0;
  for (int i = 0; i < kTexts && !HasFailure(); ++i) {
    const std::string text = mutator.Next();
    std::vector<Rule> rules;
    std::vector<Rule> again;
    std::string error;
    if (ParsePlan(text, &rules, &error)) {
      ++read;
      ASSERT_TRUE(ParsePlan(ToText(rules), &again, &error)) << text << error;
      ASSERT_EQ(rules, again) << text;
    } else {
      ASSERT_TRUE(NamesAPlaceIn(text, error)) << text << '\n' << error;
    }
  }
  // Both happened, many times.
  EXPECT_GT(read, kTexts / 10);
  EXPECT_LT(read, kTexts / 10 * 9);
}

}  // namespace
}  // namespace rpma::fault
