// SPDX-License-Identifier: BSD-3-Clause
// The language of plans: what is read, what is refused and where, and what is
// written.

#include "backends/fault/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/fault/call.h"

namespace rpma::fault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<Rule> Parsed(const std::string& text) {
  std::vector<Rule> rules;
  std::string error;
  EXPECT_TRUE(ParsePlan(text, &rules, &error)) << text << ": " << error;
  return rules;
}

// What is wrong with the text.
std::string ErrorOf(const std::string& text) {
  const std::vector<Rule> before = {CallFault{.call = Call::kListen}};
  std::vector<Rule> rules = before;
  std::string error;
  EXPECT_FALSE(ParsePlan(text, &rules, &error)) << text;
  EXPECT_EQ(rules, before);
  return error;
}

TEST(PlanTest, ATextWithoutRulesIsAPlan) {
  for (const char* text : {"", "\n", " \t ", ";;\r\n;", "# fail", "#;fail\n"}) {
    EXPECT_THAT(Parsed(text), IsEmpty()) << text;
  }
}

TEST(PlanTest, RulesStandOnLinesOrBetweenSemicolons) {
  const Rule listen = CallFault{.call = Call::kListen};
  const Rule accept = CallFault{.call = Call::kAccept};
  for (const char* text : {"fail rdma_listen\nfail rdma_accept",
                           "fail rdma_listen;fail rdma_accept",
                           ";fail\trdma_listen ;\r\n\n fail rdma_accept\n",
                           "# two\nfail rdma_listen # one; fail any\nfail "
                           "rdma_accept#the other"}) {
    EXPECT_THAT(Parsed(text), ElementsAre(listen, accept)) << text;
  }
}

struct Good {
  std::string text;
  Rule rule;
  std::string printed = text;  // differs where the text says more than it must
};

class GoodRuleTest : public testing::TestWithParam<Good> {};

TEST_P(GoodRuleTest, IsReadAndPrinted) {
  const auto& [text, rule, printed] = GetParam();
  EXPECT_THAT(Parsed(text), ElementsAre(rule));
  EXPECT_EQ(ToText(rule), printed);
  EXPECT_THAT(Parsed(ToText(rule)), ElementsAre(rule));
}

INSTANTIATE_TEST_SUITE_P(
    Calls, GoodRuleTest,
    testing::Values(
        Good{"fail ibv_reg_mr", CallFault{.call = Call::kRegMr}},
        Good{"fail any", CallFault{}},
        Good{"fail any nth=1", CallFault{}, "fail any"},
        Good{"fail any from=1", CallFault{.and_later = true}},
        Good{"fail any nth=9223372036854775807", CallFault{.nth = INT64_MAX}},
        Good{"fail rdma_listen errno=EADDRINUSE from=7",
             CallFault{.call = Call::kListen,
                       .nth = 7,
                       .and_later = true,
                       .error = Errno{EADDRINUSE}},
             "fail rdma_listen from=7 errno=EADDRINUSE"},
        Good{"fail any errno=EIO", CallFault{}, "fail any"},
        Good{"fail any errno=EHWPOISON", CallFault{.error = Errno{EHWPOISON}}},
        Good{"fail any errno=EWOULDBLOCK", CallFault{.error = Errno{EAGAIN}},
             "fail any errno=EAGAIN"},
        Good{"fail any errno=ENOTSUP", CallFault{.error = Errno{EOPNOTSUPP}},
             "fail any errno=EOPNOTSUPP"},
        Good{"fail ibv_alloc_pd errno=none",
             CallFault{.call = Call::kAllocPd, .error = Errno::kNoCause}},
        Good{"fail ibv_destroy_cq nth=2 errno=EBUSY outcome=freed",
             CallFault{.call = Call::kDestroyCq,
                       .nth = 2,
                       .error = Errno{EBUSY},
                       .outcome = Outcome::kFreed}},
        Good{"fail rdma_destroy_qp", CallFault{.call = Call::kDestroyQp},
             "fail ibv_destroy_qp"},
        Good{"fail ibv_poll_cq outcome=excess",
             CallFault{.call = Call::kPollCq, .outcome = Outcome::kExcess}}));

TEST(PlanTest, KnowsEveryCallThatCanFail) {
  for (size_t i = 0; i < kCallsThatCanFail; ++i) {
    const auto call = static_cast<Call>(i);
    const Rule rule = CallFault{.call = call};
    EXPECT_THAT(Parsed("fail " + std::string(NameOf(call))), ElementsAre(rule));
    EXPECT_THAT(Parsed(ToText(rule)), ElementsAre(rule));
  }
}

TEST(PlanTest, KnowsEveryErrno) {
  for (int number = 1; number <= 133; ++number) {
    if (number == 41 || number == 58) continue;  // Linux has no such errno
    const Rule rule = CallFault{.error = Errno{number}};
    EXPECT_THAT(Parsed(ToText(rule)), ElementsAre(rule)) << number;
  }
}

TEST(PlanTest, APlanIsPrintedAsALineForEachRule) {
  const std::string text = "fail ibv_reg_mr nth=2\nfail any from=3\n";
  EXPECT_EQ(ToText(Parsed(text)), text);
  EXPECT_EQ(ToText(std::vector<Rule>()), "");
}

struct Bad {
  const char* text;
  const char* error;  // its beginning
};

class BadPlanTest : public testing::TestWithParam<Bad> {};

TEST_P(BadPlanTest, IsRefusedWithTheRightPlace) {
  EXPECT_THAT(ErrorOf(GetParam().text), StartsWith(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Words, BadPlanTest,
    testing::Values(
        Bad{"break ibv_reg_mr",
            R"(line 1, column 1: there is no rule "break"; allowed are fail)"},
        Bad{"fail any\n\n  # comment\n\t fails any",
            R"(line 4, column 3: there is no rule "fails"; allowed are fail)"},
        Bad{"fail any; FAIL any",
            R"(line 1, column 11: there is no rule "FAIL")"},
        Bad{"fail any \x01\xff\"",
            R"(line 1, column 10: "\x01\xff"" is no parameter)"}));

INSTANTIATE_TEST_SUITE_P(
    Calls, BadPlanTest,
    testing::Values(
        Bad{"  fail # any",
            R"(line 1, column 7: something is missing after "fail"; allowed are )"
            "any, ibv_post_send, ibv_post_recv,"},
        Bad{"fail nth=1", R"(line 1, column 6: there is no call "nth=1"; )"},
        Bad{"fail ibv_open",
            R"(line 1, column 6: there is no call "ibv_open"; )"
            "allowed are any, ibv_post_send,"},
        Bad{"fail ibv_ack_cq_events",
            "line 1, column 6: ibv_ack_cq_events cannot fail; allowed are "
            "any,"},
        Bad{"fail any times=3",
            R"(line 1, column 10: "times" is no parameter of this rule; )"
            "allowed are nth, from, errno, outcome"},
        Bad{"fail any =3", R"(line 1, column 10: "" is no parameter)"},
        Bad{"fail any nth", "line 1, column 10: nth has no value"},
        Bad{"fail any nth=", "line 1, column 10: nth has no value"},
        Bad{"fail any nth=1 nth=1", "line 1, column 16: nth is given twice"},
        Bad{"fail any nth=1 from=2",
            "line 1, column 21: from contradicts nth; allowed is one of the "
            "two"},
        Bad{"fail any nth=0", R"(line 1, column 14: nth cannot be "0"; )"
                              "allowed are 1 to 9223372036854775807"},
        Bad{"fail any from=9223372036854775808",
            R"(line 1, column 15: from cannot be "9223372036854775808"; )"
            "allowed are 1 to 9223372036854775807"},
        Bad{"fail any nth=99999999999999999999",
            "line 1, column 14: nth cannot"},
        Bad{"fail any nth=+1", "line 1, column 14: nth cannot be"},
        Bad{"fail any nth=0x1", "line 1, column 14: nth cannot be"},
        Bad{"fail any nth=1.", "line 1, column 14: nth cannot be"},
        Bad{"fail any errno=EFOO",
            R"(line 1, column 16: errno cannot be "EFOO"; )"
            "allowed are the names of <errno.h>, such as EIO"},
        Bad{"fail any errno=5", "line 1, column 16: errno cannot be"},
        Bad{"fail any errno=none", "line 1, column 16: errno cannot be"},
        Bad{"fail ibv_post_send errno=none",
            "line 1, column 26: errno cannot be"},
        Bad{"fail ibv_reg_mr errno=NONE",
            R"(line 1, column 23: errno cannot be "NONE"; allowed are none and)"},
        Bad{"fail ibv_poll_cq outcome=lost",
            R"(line 1, column 26: outcome cannot be "lost"; )"
            "allowed are freed, excess"},
        Bad{"fail ibv_reg_mr outcome=freed",
            "line 1, column 25: only a call that frees"},
        Bad{"fail any outcome=freed", "line 1, column 18: only a call that"},
        Bad{"fail ibv_destroy_cq outcome=excess",
            "line 1, column 29: only ibv_poll_cq"},
        Bad{"fail ibv_poll_cq errno=EIO outcome=excess",
            "line 1, column 24: errno contradicts outcome=excess"}));

TEST(PlanTest, LongWordsAreCutInErrors) {
  EXPECT_EQ(ErrorOf(std::string(5000, 'x')),
            "line 1, column 1: there is no rule \"" + std::string(64, 'x') +
                "...\"; allowed are fail");
}

TEST(PlanTest, ErrorsFitIntoALineOfTheLog) {
  EXPECT_LT(ErrorOf("fail " + std::string(5000, '\x01')).size(), 1023u);
}

}  // namespace
}  // namespace rpma::fault
