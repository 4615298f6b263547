// SPDX-License-Identifier: BSD-3-Clause
// How rpma_quickstart reports what it has done.

#include "tools/quickstart/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/quickstart/completion.h"
#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

using testing::HasSubstr;

Summary SomeSummary() {
  Summary summary;
  summary.bytes = 5 << 20;
  summary.write_time = std::chrono::milliseconds(2500);
  summary.read_time = std::chrono::milliseconds(500);
  summary.writes = 20;
  summary.reads = 21;
  summary.flushes = 2;
  summary.atomic_writes = 1;
  summary.source.fill(0xab);
  summary.fault_status = "IBV_WC_REM_ACCESS_ERR";
  summary.fault_explanation = "it is \"gone\"\n";
  return summary;
}

TEST(SummaryTest, TellsPeopleAllNumbers) {
  const std::string text = ForPeople(SomeSummary());
  EXPECT_THAT(text, HasSubstr("5242880 bytes"));
  EXPECT_THAT(text, HasSubstr("2.500 s to write"));
  EXPECT_THAT(text, HasSubstr("0.500 s to read"));
  EXPECT_THAT(text, HasSubstr("2.0 MiB/s written, 10.0 MiB/s read"));
  EXPECT_THAT(text,
              HasSubstr("writes 20, reads 21, flushes 2, atomic writes 1\n"));
  EXPECT_THAT(text, HasSubstr("abababab"));
  EXPECT_THAT(text, HasSubstr("IBV_WC_REM_ACCESS_ERR"));
  EXPECT_THAT(text, HasSubstr("it is \"gone\""));
}

TEST(SummaryTest, ADeviceThatGivesNoReasonSaysNothingMore) {
  Summary summary = SomeSummary();
  summary.fault_explanation.clear();
  EXPECT_THAT(ForPeople(summary),
              HasSubstr("device says  nothing more; that of "
                        "--transport=emulator says why\n"));
}

TEST(SummaryTest, AFaultMayEndTheConnectionAndNothingElse) {
  Summary summary = SomeSummary();
  EXPECT_THAT(ForPeople(summary), HasSubstr("both sides disconnected"));
  EXPECT_THAT(ForPrograms(summary), HasSubstr(R"("ended_connection": false)"));
  summary.fault_status = "IBV_WC_SUCCESS";
  summary.fault_ended_connection = true;
  EXPECT_THAT(ForPeople(summary),
              HasSubstr("IBV_WC_SUCCESS, as iWARP answers no write\n"));
  EXPECT_THAT(ForPeople(summary),
              HasSubstr("then         the device ended the connection"));
  EXPECT_THAT(ForPrograms(summary), HasSubstr(R"("ended_connection": true)"));
}

TEST(SummaryTest, EscapesTextInJson) {
  EXPECT_THAT(ForPrograms(SomeSummary()),
              HasSubstr(R"("explanation": "it is \"gone\"\u000a"}})"));
}

TEST(CompletionTest, AFailureNamesRequestAndStatus) {
  ibv_wc completion = {};
  completion.status = IBV_WC_RETRY_EXC_ERR;
  try {
    CheckCompletion(completion, "flushing");
    FAIL() << "no failure";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(),
                HasSubstr("flushing failed: IBV_WC_RETRY_EXC_ERR"));
  }
}

TEST(CompletionTest, ASuccessPasses) {
  const ibv_wc completion = {};
  EXPECT_NO_THROW(CheckCompletion(completion, "flushing"));
}

TEST(CompletionTest, AStatusThatRpmaNeverGetsHasItsNumber) {
  EXPECT_EQ(StatusName(IBV_WC_TM_RNDV_INCOMPLETE), "ibv_wc_status 23");
}

}  // namespace
}  // namespace rpma::quickstart
