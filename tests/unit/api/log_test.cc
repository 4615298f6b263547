// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_log_* and the default sink on stderr.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override {
    rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION);
    rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_WARNING);
    rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_DISABLED);
  }

  // What the library writes to stderr about a failing call.
  static std::string StderrOfAFailure() {
    CaptureStderr();
    EXPECT_EQ(rpma_peer_delete(nullptr), RPMA_E_INVAL);
    return GetCapturedStderr();
  }
};

int calls = 0;
void Count(rpma_log_level, const char*, int, const char*, const char*, ...) {
  ++calls;
}

TEST_F(LogTest, StderrIsSilentAtFirst) { EXPECT_EQ(StderrOfAFailure(), ""); }

TEST_F(LogTest, StderrGetsOneLineUpToTheAuxiliaryThreshold) {
  ASSERT_EQ(
      rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_ERROR), 0);
  const std::string line = StderrOfAFailure();
  EXPECT_THAT(line,
              ::testing::MatchesRegex(
                  "[A-Z][a-z][a-z] [ 0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
                  "\\.[0-9][0-9][0-9][0-9][0-9][0-9] \\[[0-9]+\\] "
                  "\\*ERROR\\* peer\\.cc: +[0-9]+: rpma_peer_delete: "
                  "invalid argument; the call needs peer_ptr != nullptr\n"));
  EXPECT_THAT(line, ::testing::HasSubstr("[" + std::to_string(gettid()) + "]"));
}

TEST_F(LogTest, StderrStaysSilentAboveTheAuxiliaryThreshold) {
  rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_FATAL);
  EXPECT_EQ(StderrOfAFailure(), "");
}

TEST_F(LogTest, OwnFunctionTakesTheDefaultsPlaceUntilItIsSetBack) {
  rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_DEBUG);
  calls = 0;
  ASSERT_EQ(rpma_log_set_function(&Count), 0);
  EXPECT_EQ(StderrOfAFailure(), "");
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), 0);
  EXPECT_NE(StderrOfAFailure(), "");
  EXPECT_EQ(calls, 1);
}

TEST_F(LogTest, ThresholdsAreReadBack) {
  for (const auto threshold : {RPMA_LOG_THRESHOLD, RPMA_LOG_THRESHOLD_AUX}) {
    for (int level = RPMA_LOG_DISABLED; level <= RPMA_LOG_LEVEL_DEBUG;
         ++level) {
      EXPECT_EQ(
          rpma_log_set_threshold(threshold, static_cast<rpma_log_level>(level)),
          0);
      rpma_log_level got = RPMA_LOG_LEVEL_FATAL;
      EXPECT_EQ(rpma_log_get_threshold(threshold, &got), 0);
      EXPECT_EQ(got, level);
    }
  }
}

TEST_F(LogTest, UnknownThresholdsAndLevelsAreInvalid) {
  rpma_log_level level = RPMA_LOG_LEVEL_DEBUG;
  EXPECT_EQ(
      rpma_log_set_threshold(RPMA_LOG_THRESHOLD_MAX, RPMA_LOG_LEVEL_ERROR),
      RPMA_E_INVAL);
  EXPECT_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD_MAX, &level),
            RPMA_E_INVAL);
  EXPECT_EQ(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, nullptr), RPMA_E_INVAL);
  for (const int beyond : {-2, 6}) {
    EXPECT_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
                                     static_cast<rpma_log_level>(beyond)),
              RPMA_E_INVAL);
  }
  EXPECT_EQ(level, RPMA_LOG_LEVEL_DEBUG);
}

}  // namespace
