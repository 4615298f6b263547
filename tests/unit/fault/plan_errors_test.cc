// SPDX-License-Identifier: BSD-3-Clause
// What a plan of faults cannot say, and where the error says it stands.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/fault/call.h"
#include "backends/fault/call_fault.h"
#include "backends/fault/plan.h"
#include "emulator/faults.h"

namespace rpma::fault {
namespace {

using emu::Fault;
using emu::FaultAction;
using testing::StartsWith;

// What is wrong with the text.
std::string ErrorOf(const std::string& text) {
  const std::vector<Rule> before = {CallFault{.call = Call::kListen}};
  std::vector<Rule> rules = before;
  std::string error;
  EXPECT_FALSE(ParsePlan(text, &rules, &error)) << text;
  EXPECT_EQ(rules, before);
  return error;
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
            R"(line 1, column 1: there is no rule "break"; allowed are fail, )"
            "complete, drop, delay, duplicate, rnr, event, foreign_cq, "
            "overrun, link, exit, power, remove"},
        Bad{"fail any\n\n  # comment\n\t fails any",
            R"(line 4, column 3: there is no rule "fails"; allowed are fail)"},
        Bad{"fail any; FAIL any",
            R"(line 1, column 11: there is no rule "FAIL")"},
        Bad{"fail any \x01\xff\"",
            R"(line 1, column 10: "\x01\xff"" is no parameter)"}));

INSTANTIATE_TEST_SUITE_P(
    Calls, BadPlanTest,
    testing::Values(
        Bad{"  fail # any", R"(line 1, column 7: "fail" needs an object; )"
                            "allowed are "
                            "any, ibv_post_send, ibv_post_recv,"},
        Bad{"fail nth=1",
            R"(line 1, column 6: "nth=1" cannot follow "fail"; )"},
        Bad{"fail ibv_open",
            R"(line 1, column 6: "ibv_open" cannot follow "fail"; )"
            "allowed are any, ibv_post_send,"},
        Bad{"fail ibv_ack_cq_events",
            R"(line 1, column 6: "ibv_ack_cq_events" cannot follow "fail"; )"},
        Bad{"fail any times=3",
            R"(line 1, column 10: "times" is no parameter of this rule; )"
            "allowed are nth, from, errno, outcome"},
        Bad{"fail any =3", R"(line 1, column 10: "" is no parameter)"},
        Bad{"fail any nth", "line 1, column 10: nth needs a value"},
        Bad{"fail any nth=", "line 1, column 10: nth needs a value"},
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
        Bad{"fail rdma_ack_cm_event outcome=freed",
            "line 1, column 32: rdma_ack_cm_event cannot have the outcome "
            "freed, as librpma acknowledges the event again"},
        Bad{"fail ibv_destroy_cq outcome=excess",
            "line 1, column 29: only ibv_poll_cq"},
        Bad{"fail ibv_poll_cq errno=EIO outcome=excess",
            "line 1, column 24: errno contradicts outcome=excess"}));

INSTANTIATE_TEST_SUITE_P(
    Faults, BadPlanTest,
    testing::Values(
        Bad{"complete", R"(line 1, column 9: "complete" needs an object; )"
                        "allowed are send, "
                        "write, read, atomic_write, flush, any, recv"},
        Bad{"complete REQ status=FATAL_ERR",
            R"(line 1, column 10: "REQ" cannot follow "complete"; allowed are send,)"},
        Bad{"complete send nth=2", "line 1, column 20: complete needs status="},
        Bad{"complete send status=SUCCESS",
            R"(line 1, column 22: status cannot be "SUCCESS"; )"
            "allowed are LOC_LEN_ERR, LOC_QP_OP_ERR,"},
        Bad{"complete send time=3s",
            R"(line 1, column 15: "time" is no parameter of this rule; )"
            "allowed are status, nth, from, device"},
        Bad{"drop recv",
            R"(line 1, column 6: "recv" cannot follow "drop"; allowed are send, )"
            "write, read, atomic_write, flush, any, REQ, REP, RTU, REJ, DREQ"},
        Bad{"drop req",
            R"(line 1, column 6: "req" cannot follow "drop"; allowed are send, )"},
        Bad{"drop REQ what=request",
            R"(line 1, column 10: "what" is no param)"},
        Bad{"drop send what=ack", R"(line 1, column 16: what cannot be "ack"; )"
                                  "allowed are request, response"},
        Bad{"drop send device=", "line 1, column 11: device needs a value"},
        Bad{"duplicate send what=response",
            R"(line 1, column 16: "what" is no)"},
        Bad{"delay send", "line 1, column 11: delay needs time="},
        Bad{"delay send time=", "line 1, column 12: time needs a value"},
        Bad{"rnr", "line 1, column 4: rnr needs time="},
        Bad{"rnr send time=1s", R"(line 1, column 5: "send" is no parameter)"},
        Bad{"foreign_cq device=emu0",
            R"(line 1, column 12: "device" is no parameter of this rule; )"
            "allowed are nth, from"}));

INSTANTIATE_TEST_SUITE_P(
    Times, BadPlanTest,
    testing::Values(
        Bad{"rnr time=5", R"(line 1, column 10: time cannot be "5"; )"
                          "allowed are 1ns to 86400s, in s, ms, us, ns"},
        Bad{"rnr time=0s", "line 1, column 10: time cannot be"},
        Bad{"rnr time=s", "line 1, column 10: time cannot be"},
        Bad{"rnr time=-1s", "line 1, column 10: time cannot be"},
        Bad{"rnr time=1.5s", "line 1, column 10: time cannot be"},
        Bad{"rnr time=1 s", R"(line 1, column 12: "s" is no parameter)"},
        Bad{"rnr time=86401s", "line 1, column 10: time cannot be"},
        Bad{"rnr time=86400000000001ns", "line 1, column 10: time cannot be"},
        Bad{"rnr time=99999999999999999999s", "line 1, column 10: time cannot"},
        Bad{"rnr time=1min", "line 1, column 10: time cannot be"}));

INSTANTIATE_TEST_SUITE_P(
    Events, BadPlanTest,
    testing::Values(
        Bad{"event as=REJECTED",
            R"(line 1, column 7: "as=REJECTED" cannot follow "event"; allowed are ADDR_RES)"},
        Bad{"event ESTABLISHED",
            "line 1, column 7: what happens to the event? allowed is one of "
            "as=, ahead, delay="},
        Bad{"event ESTABLISHED ahead delay=1s",
            "line 1, column 7: what happens to the event?"},
        Bad{"event ESTABLISHED ahead ahead",
            "line 1, column 25: ahead is given twice"},
        Bad{"event ESTABLISHED ahead=1",
            "line 1, column 19: ahead takes no value"},
        Bad{"event ESTABLISHED as", "line 1, column 19: as needs a value"},
        Bad{"event ESTABLISHED as=CLOSED",
            R"(line 1, column 22: as cannot be "CLOSED"; allowed are ADDR_RES)"},
        Bad{"event ESTABLISHED as=CONNECT_REQUEST",
            "line 1, column 22: only CONNECT_REQUEST itself brings a "},
        Bad{"event ESTABLISHED delay=1",
            "line 1, column 25: delay cannot be"}));

INSTANTIATE_TEST_SUITE_P(
    Devices, BadPlanTest,
    testing::Values(
        Bad{"link device=emu0", "line 1, column 17: link needs state="},
        Bad{"link state=up", "line 1, column 14: link needs device="},
        Bad{"link device=emu0 state=on",
            R"(line 1, column 24: state cannot be "on"; allowed are down, up)"},
        Bad{"link device=emu0 state=up from=2",
            R"(line 1, column 27: "from" is no parameter of this rule; )"
            "allowed are device, state, time, nth"},
        Bad{"exit", "line 1, column 5: exit needs device="},
        Bad{"power emu0", R"(line 1, column 7: "emu0" is no parameter)"},
        Bad{"remove device=emu0 time=1s",
            R"(line 1, column 20: "time" is no parameter of this rule; )"
            "allowed are device, nth"}));

TEST(PlanErrorsTest, AnActionIsOneRuleOnADevice) {
  const Fault before{.action = FaultAction::kExit, .device = "a"};
  const Bad kBad[] = {
      {"", "there is no action; allowed are link, exit, power, remove"},
      {" #", "there is no action; allowed are link, exit, power, remove"},
      {"fail any", R"(line 1, column 1: there is no rule "fail"; allowed are )"
                   "link, exit, power, remove"},
      {"exit device=a nth=2",
       R"(line 1, column 15: "nth" is no parameter of this rule; )"
       "allowed are device"},
      {"exit device=a;\n exit device=b",
       "line 2, column 2: allowed is one action"},
  };
  for (const auto& [text, expected] : kBad) {
    Fault action = before;
    std::string error;
    EXPECT_FALSE(ParseAction(text, &action, &error)) << text;
    EXPECT_EQ(error, expected);
    EXPECT_EQ(action, before);
  }
}

TEST(PlanErrorsTest, LongWordsAreCut) {
  EXPECT_THAT(ErrorOf(std::string(5000, 'x')),
              StartsWith("line 1, column 1: there is no rule \"" +
                         std::string(64, 'x') + "...\"; allowed are fail,"));
}

TEST(PlanErrorsTest, AreNotLongerThanALineOfTheLog) {
  EXPECT_LT(ErrorOf("fail " + std::string(5000, '\x01')).size(), 1000u);
}

}  // namespace
}  // namespace rpma::fault
