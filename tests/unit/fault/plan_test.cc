// SPDX-License-Identifier: BSD-3-Clause
// The language of plans of faults: what each text means, and how it is written.

#include "backends/fault/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "backends/fault/call.h"
#include "backends/fault/call_fault.h"
#include "emulator/faults.h"

namespace rpma::fault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Rule> Parsed(const std::string& text) {
  std::vector<Rule> rules;
  std::string error;
  EXPECT_TRUE(ParsePlan(text, &rules, &error)) << text << ": " << error;
  return rules;
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

using emu::Fault;
using emu::FaultAction;
using emu::FaultSite;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

INSTANTIATE_TEST_SUITE_P(
    Completions, GoodRuleTest,
    testing::Values(
        Good{"complete write status=REM_ACCESS_ERR nth=3 device=emu1",
             Fault{.action = FaultAction::kComplete,
                   .site = FaultSite::kWrite,
                   .nth = 3,
                   .status = IBV_WC_REM_ACCESS_ERR,
                   .device = "emu1"}},
        Good{"complete recv from=2 status=IBV_WC_GENERAL_ERR",
             Fault{.action = FaultAction::kComplete,
                   .site = FaultSite::kReceive,
                   .nth = 2,
                   .from = true,
                   .status = IBV_WC_GENERAL_ERR},
             "complete recv status=GENERAL_ERR from=2"},
        Good{"foreign_cq", Fault{.action = FaultAction::kForeignCq}},
        Good{"foreign_cq from=1",
             Fault{.action = FaultAction::kForeignCq, .from = true}},
        Good{"overrun nth=2",
             Fault{.action = FaultAction::kOverrun, .nth = 2}}));

INSTANTIATE_TEST_SUITE_P(
    Transmissions, GoodRuleTest,
    testing::Values(
        Good{"drop send",
             Fault{.action = FaultAction::kDrop, .site = FaultSite::kSend}},
        Good{
            "drop any what=request",
            Fault{.action = FaultAction::kDrop, .site = FaultSite::kAnyRequest},
            "drop any"},
        Good{"drop flush what=response from=3 device=emu0",
             Fault{.action = FaultAction::kDrop,
                   .site = FaultSite::kFlush,
                   .nth = 3,
                   .from = true,
                   .response = true,
                   .device = "emu0"}},
        Good{"drop DREP from=1", Fault{.action = FaultAction::kDrop,
                                       .site = FaultSite::kDrep,
                                       .from = true}},
        Good{"delay read time=20ms", Fault{.action = FaultAction::kDelay,
                                           .site = FaultSite::kRead,
                                           .time = 20ms}},
        Good{"delay RTU time=1s nth=2 device=a=b",
             Fault{.action = FaultAction::kDelay,
                   .site = FaultSite::kRtu,
                   .nth = 2,
                   .time = 1s,
                   .device = "a=b"}},
        Good{"duplicate atomic_write nth=4",
             Fault{.action = FaultAction::kDuplicate,
                   .site = FaultSite::kAtomicWrite,
                   .nth = 4}},
        Good{"duplicate REQ",
             Fault{.action = FaultAction::kDuplicate, .site = FaultSite::kReq}},
        Good{"rnr nth=2 time=640us device=emu1",
             Fault{.action = FaultAction::kRnr,
                   .nth = 2,
                   .time = 640us,
                   .device = "emu1"},
             "rnr time=640us nth=2 device=emu1"}));

INSTANTIATE_TEST_SUITE_P(
    Times, GoodRuleTest,
    testing::Values(
        Good{"rnr time=1ns", Fault{.action = FaultAction::kRnr, .time = 1ns}},
        Good{"rnr time=1000ns", Fault{.action = FaultAction::kRnr, .time = 1us},
             "rnr time=1us"},
        Good{"rnr time=60000ms",
             Fault{.action = FaultAction::kRnr, .time = 60s}, "rnr time=60s"},
        Good{"rnr time=86400s",
             Fault{.action = FaultAction::kRnr, .time = 86400s}}));

INSTANTIATE_TEST_SUITE_P(
    Events, GoodRuleTest,
    testing::Values(
        Good{"event ESTABLISHED as=ADDR_CHANGE",
             Fault{.action = FaultAction::kShowEventAs,
                   .event = RDMA_CM_EVENT_ESTABLISHED,
                   .as = RDMA_CM_EVENT_ADDR_CHANGE}},
        Good{"event RDMA_CM_EVENT_REJECTED as=RDMA_CM_EVENT_UNREACHABLE from=2",
             Fault{.action = FaultAction::kShowEventAs,
                   .nth = 2,
                   .from = true,
                   .event = RDMA_CM_EVENT_REJECTED,
                   .as = RDMA_CM_EVENT_UNREACHABLE},
             "event REJECTED as=UNREACHABLE from=2"},
        Good{"event DISCONNECTED nth=2 ahead",
             Fault{.action = FaultAction::kEventAhead,
                   .nth = 2,
                   .event = RDMA_CM_EVENT_DISCONNECTED},
             "event DISCONNECTED ahead nth=2"},
        Good{"event TIMEWAIT_EXIT delay=5ms",
             Fault{.action = FaultAction::kDelayEvent,
                   .time = 5ms,
                   .event = RDMA_CM_EVENT_TIMEWAIT_EXIT}}));

INSTANTIATE_TEST_SUITE_P(
    Devices, GoodRuleTest,
    testing::Values(
        Good{"link device=emu1 state=down",
             Fault{.action = FaultAction::kLink, .device = "emu1"}},
        Good{"link nth=9 time=3s state=up device=emu1",
             Fault{.action = FaultAction::kLink,
                   .nth = 9,
                   .link_up = true,
                   .time = 3s,
                   .device = "emu1"},
             "link device=emu1 state=up time=3s nth=9"},
        Good{"exit device=emu1",
             Fault{.action = FaultAction::kExit, .device = "emu1"}},
        Good{"power device=emu1 nth=2",
             Fault{
                 .action = FaultAction::kPowerOff, .nth = 2, .device = "emu1"}},
        Good{"remove device=emu1",
             Fault{.action = FaultAction::kRemove, .device = "emu1"}}));

TEST(PlanTest, AFaultKnowsItsNumberInThePlan) {
  const std::vector<Rule> rules = Parsed(R"(fail any

#no rule
foreign_cq)");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(std::get<Fault>(rules[1]).rule, 1u);
}

TEST(PlanTest, KnowsEveryStatusButSuccess) {
  for (int i = IBV_WC_LOC_LEN_ERR; i <= IBV_WC_TM_RNDV_INCOMPLETE; ++i) {
    const Rule rule = Fault{.action = FaultAction::kComplete,
                            .site = FaultSite::kSend,
                            .status = static_cast<ibv_wc_status>(i)};
    EXPECT_THAT(Parsed(ToText(rule)), ElementsAre(rule)) << i;
  }
}

TEST(PlanTest, KnowsEveryCmEvent) {
  for (int i = RDMA_CM_EVENT_ADDR_RESOLVED; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT;
       ++i) {
    const Rule rule = Fault{.action = FaultAction::kEventAhead,
                            .event = static_cast<rdma_cm_event_type>(i)};
    EXPECT_THAT(Parsed(ToText(rule)), ElementsAre(rule)) << i;
  }
}

TEST(PlanTest, KnowsEveryKindOfTransmission) {
  for (const FaultSite site :
       {FaultSite::kSend, FaultSite::kWrite, FaultSite::kRead,
        FaultSite::kAtomicWrite, FaultSite::kFlush, FaultSite::kAnyRequest,
        FaultSite::kReq, FaultSite::kRep, FaultSite::kRtu, FaultSite::kRej,
        FaultSite::kDreq, FaultSite::kDrep}) {
    const Rule rule = Fault{.action = FaultAction::kDuplicate, .site = site};
    EXPECT_THAT(Parsed(ToText(rule)), ElementsAre(rule)) << ToText(rule);
  }
}

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

TEST(PlanTest, AnActionIsARuleOnADeviceWithoutANumber) {
  Fault action;
  std::string error;
  EXPECT_TRUE(ParseAction(" link device=a state=down time=2s # cut\n;", &action,
                          &error));
  EXPECT_EQ(action,
            (Fault{.action = FaultAction::kLink, .time = 2s, .device = "a"}));
  EXPECT_TRUE(ParseAction("remove device=b", &action, &error));
  EXPECT_EQ(action, (Fault{.action = FaultAction::kRemove, .device = "b"}));
}

}  // namespace
}  // namespace rpma::fault
