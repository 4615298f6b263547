// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with a program, or with the library under it, is found.

#include "tests/faults/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>

#include <string>

#include "tests/faults/conversation.h"
#include "tests/faults/documented.h"
#include "tests/faults/findings.h"
#include "tests/faults/policy.h"
#include "tests/faults/program.h"

namespace rpma::faults {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// What is wrong with a program.
std::string FindingsOf(bool (*run)(Program&), const Fault& fault = {}) {
  const Scenario scenario = {"planted", run};
  Stage stage(scenario);
  const Execution execution = stage.Run(fault);
  return execution.findings.text();
}

TEST(StageTest, FindsNothingWrongWithAGoodProgram) {
  EXPECT_EQ(FindingsOf([](Program& program) {
              Conversation talk(program);
              return talk.Start();
            }),
            "");
}

rpma_peer* leaked = nullptr;

TEST(StageTest, FindsWhatIsLeft) {
  const Scenario scenario = {"planted", [](Program& program) {
                               Side client(program, Role::kClient);
                               if (!client.Open()) return false;
                               client.mr.End();
                               leaked = client.peer.Release();
                               return true;
                             }};
  Stage stage(scenario);
  const Execution execution = stage.Run({});
  EXPECT_THAT(execution.findings.text(), HasSubstr("1 PDs are left"));
  EXPECT_THAT(execution.findings.text(), HasSubstr("1 allocations are left"));
  EXPECT_EQ(rpma_peer_delete(&leaked), 0);
}

TEST(StageTest, FindsAWaitForWhatCannotCome) {
  EXPECT_THAT(FindingsOf([](Program& program) {
                Conversation talk(program);
                rpma_conn_event event = RPMA_CONN_UNDEFINED;
                return talk.Start() && talk.client.NextEvent(&event);
              }),
              HasSubstr("rpma_conn_next_event waits for ever"));
}

TEST(StageTest, FindsASideThatDoesNotHearOfTheEnd) {
  EXPECT_THAT(FindingsOf([](Program& program) {
                Conversation talk(program);
                return talk.Start() && talk.client.HearOfTheEnd();
              }),
              HasSubstr("never hears of the other's end"));
}

TEST(StageTest, FindsAFailureWithoutAFault) {
  EXPECT_THAT(FindingsOf([](Program& program) {
                Conversation talk(program);
                Owned<rpma_ep> second(program);
                return talk.Listen() &&
                       RPMA_CREATE(program, second, rpma_ep_listen,
                                   talk.server.peer,
                                   program.place().server.address, kPort) == 0;
              }),
              HasSubstr("rpma_ep_listen failed without a fault"));
}

TEST(StageTest, FindsThatAProgramFailsWithoutAFault) {
  EXPECT_THAT(FindingsOf([](Program&) { return false; }),
              HasSubstr("did not do what it meant to"));
}

TEST(StageTest, FindsACallThatIsWrong) {
  EXPECT_THAT(
      FindingsOf([](Program& program) {
        return RPMA_CALL(program, rpma_conn_disconnect,
                         static_cast<rpma_conn*>(nullptr)) == 0;
      }),
      HasSubstr("rpma_conn_disconnect returned -100004 (Invalid argument), "
                "which is not documented"));
}

TEST(StageTest, FindsThatDataAreNotThere) {
  EXPECT_THAT(FindingsOf([](Program& program) {
                const Side server(program, Role::kServer);
                server.Fill(0, 8, 1);
                return server.Holds(0, 8, 2);
              }),
              HasSubstr("the server lacks byte 0"));
}

// A call that hides what failed in it, as a defective library would.
int Hide(rpma_peer* peer, rpma_peer** out) {
  static_cast<void>(peer);
  static_cast<void>(out);
  ibv_context* context = nullptr;
  rpma_utils_get_ibv_context("10.20.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL,
                             &context);
  return 0;
}

TEST(StageTest, FindsAFailureThatWasNotReported) {
  EXPECT_THAT(FindingsOf(
                  [](Program& program) {
                    return program.Call("rpma_peer_delete", &Hide, nullptr,
                                        nullptr) == 0;
                  },
                  {.plan = "fail rdma_create_id"}),
              HasSubstr("succeeded though something failed in it"));
}

TEST(DocumentedTest, KnowsTheCodesOfAFunction) {
  LoadDocumentedCodes();
  EXPECT_TRUE(IsDocumented("rpma_mr_reg", RPMA_E_NOMEM));
  EXPECT_TRUE(IsDocumented("rpma_ep_next_conn_req", RPMA_E_INVAL));
  EXPECT_FALSE(IsDocumented("rpma_mr_reg", RPMA_E_INVAL));
  EXPECT_FALSE(IsDocumented("rpma_mr_dereg", RPMA_E_NOMEM));
  EXPECT_FALSE(IsDocumented("rpma_mr_reg", 1));
  EXPECT_FALSE(IsDocumented("rpma_no_such_function", RPMA_E_PROVIDER));
}

TEST(PolicyTest, FollowsFromThePlan) {
  EXPECT_TRUE(PolicyFor("fail any nth=3").fails_once);
  EXPECT_FALSE(PolicyFor("fail any from=3").fails_once);
  EXPECT_TRUE(PolicyFor("fail any from=3").fails_calls);
  EXPECT_FALSE(PolicyFor("fail any; fail any nth=2").fails_once);
  EXPECT_FALSE(PolicyFor("drop any").fails_calls);
  EXPECT_TRUE(PolicyFor("drop any").heals);
  EXPECT_EQ(PolicyFor("exit device=emu1").dead, Role::kServer);
  EXPECT_EQ(PolicyFor("power device=emu0").dead, Role::kClient);
  EXPECT_FALSE(PolicyFor("power device=emu0").heals);
  EXPECT_FALSE(PolicyFor("link device=emu0 state=down").heals);
  EXPECT_TRUE(PolicyFor("link device=emu0 state=down time=1s").heals);
}

TEST(FindingsTest, AreCutWhereTheirRoomEnds) {
  Findings findings;
  EXPECT_TRUE(findings.empty());
  for (int i = 0; i < 1000; ++i) findings.Add("finding %d", i);
  EXPECT_FALSE(findings.empty());
  const std::string text = findings.text();
  EXPECT_THAT(text, HasSubstr("- finding 0\n- finding 1\n"));
  EXPECT_THAT(text, EndsWith("\n"));
  EXPECT_THAT(text, Not(HasSubstr("999")));
}

}  // namespace
}  // namespace rpma::faults
