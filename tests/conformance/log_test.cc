// SPDX-License-Identifier: BSD-3-Clause
// The log: thresholds, the program's own function, the default one; and what
// results and events are called.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>

#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/matchers.h"

namespace rpma::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

struct Message {
  rpma_log_level level;
  std::string file;
  int line;
  std::string function;
  std::string format;
  std::string text;
};

std::vector<Message> messages;

__attribute__((format(printf, 5, 6))) void Collect(rpma_log_level level,
                                                   const char* file, int line,
                                                   const char* function,
                                                   const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  messages.push_back({level, file, line, function, format, text});
}

rpma_log_level Threshold(rpma_log_threshold threshold) {
  rpma_log_level level = RPMA_LOG_LEVEL_DEBUG;
  EXPECT_THAT(rpma_log_get_threshold(threshold, &level), IsOk());
  return level;
}

// Something that logs one ERROR.
void FailACall() {
  const uint8_t descriptor[21] = {};
  rpma_mr_remote* mr = nullptr;
  EXPECT_THAT(rpma_mr_remote_from_descriptor(descriptor, 20, &mr),
              RcIs(RPMA_E_INVAL));
}

// Restores the log, which belongs to the process.
class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    messages.clear();
    threshold_ = Threshold(RPMA_LOG_THRESHOLD);
    aux_ = Threshold(RPMA_LOG_THRESHOLD_AUX);
    EXPECT_THAT(rpma_log_set_function(&Collect), IsOk());
  }
  void TearDown() override {
    rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION);
    rpma_log_set_threshold(RPMA_LOG_THRESHOLD, threshold_);
    rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, aux_);
  }

 private:
  rpma_log_level threshold_ = RPMA_LOG_DISABLED;
  rpma_log_level aux_ = RPMA_LOG_DISABLED;
};

TEST_F(LogTest, WarningsPassAndStderrIsOffAtFirst) {
  EXPECT_EQ(Threshold(RPMA_LOG_THRESHOLD), RPMA_LOG_LEVEL_WARNING);
  EXPECT_EQ(Threshold(RPMA_LOG_THRESHOLD_AUX), RPMA_LOG_DISABLED);
}

TEST_F(LogTest, ThresholdsAreKeptApart) {
  for (int level = RPMA_LOG_DISABLED; level <= RPMA_LOG_LEVEL_DEBUG; ++level) {
    const auto main_level = static_cast<rpma_log_level>(level);
    const auto aux_level =
        static_cast<rpma_log_level>(RPMA_LOG_LEVEL_DEBUG - 1 - level);
    ASSERT_THAT(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, main_level), IsOk());
    ASSERT_THAT(rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, aux_level),
                IsOk());
    EXPECT_EQ(Threshold(RPMA_LOG_THRESHOLD), main_level);
    EXPECT_EQ(Threshold(RPMA_LOG_THRESHOLD_AUX), aux_level);
  }
}

TEST_F(LogTest, UnknownThresholdsAndLevelsAreInvalid) {
  rpma_log_level level = RPMA_LOG_LEVEL_DEBUG;
  for (const int threshold : {-1, 2}) {
    const auto unknown = static_cast<rpma_log_threshold>(threshold);
    EXPECT_THAT(rpma_log_set_threshold(unknown, RPMA_LOG_LEVEL_INFO),
                RcIs(RPMA_E_INVAL));
    EXPECT_THAT(rpma_log_get_threshold(unknown, &level), RcIs(RPMA_E_INVAL));
  }
  for (const int unknown : {-2, 6}) {
    EXPECT_THAT(rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
                                       static_cast<rpma_log_level>(unknown)),
                RcIs(RPMA_E_INVAL));
  }
  EXPECT_THAT(rpma_log_get_threshold(RPMA_LOG_THRESHOLD, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_EQ(level, RPMA_LOG_LEVEL_DEBUG);
  EXPECT_EQ(Threshold(RPMA_LOG_THRESHOLD), RPMA_LOG_LEVEL_WARNING);
}

TEST_F(LogTest, FunctionGetsThePlaceAndTheText) {
  FailACall();
  ASSERT_THAT(messages, SizeIs(1));
  const Message& message = messages[0];
  EXPECT_EQ(message.level, RPMA_LOG_LEVEL_ERROR);
  EXPECT_THAT(message.file, HasSubstr(".cc"));
  EXPECT_GT(message.line, 0);
  EXPECT_NE(message.function, "");
  EXPECT_EQ(message.format, "%s\n");
  EXPECT_THAT(message.text, HasSubstr("20"));
  EXPECT_EQ(message.text.back(), '\n');
}

TEST_F(LogTest, MessagesBeyondTheThresholdAreDropped) {
  ASSERT_THAT(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_FATAL),
              IsOk());
  FailACall();
  EXPECT_THAT(messages, IsEmpty());
  ASSERT_THAT(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED),
              IsOk());
  FailACall();
  EXPECT_THAT(messages, IsEmpty());
  ASSERT_THAT(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_ERROR),
              IsOk());
  FailACall();
  EXPECT_THAT(messages, SizeIs(1));
}

TEST_F(LogTest, DefaultFunctionComesBack) {
  ASSERT_THAT(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), IsOk());
  FailACall();
  EXPECT_THAT(messages, IsEmpty());
}

TEST_F(LogTest, DefaultFunctionWritesToStderrAsTheAuxThresholdSays) {
  ASSERT_THAT(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), IsOk());
  ::testing::internal::CaptureStderr();
  FailACall();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");

  ASSERT_THAT(
      rpma_log_set_threshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_LEVEL_ERROR),
      IsOk());
  ::testing::internal::CaptureStderr();
  FailACall();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              MatchesRegex("[A-Z][a-z][a-z] [ 0-9][0-9] "
                           "[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} "
                           "\\[[0-9]+\\] \\*ERROR\\* "
                           "[a-z_]+\\.cc: +[0-9]+: [A-Za-z_]+: .*20.*\n"));
}

TEST(NamesTest, ResultsHaveTheTextsOfThePages) {
  EXPECT_STREQ(rpma_err_2str(0), "Success");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_UNKNOWN), "Unknown error");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_NOSUPP), "Not supported");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_PROVIDER), "Provider error occurred");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_NOMEM), "Out of memory");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_INVAL), "Invalid argument");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_NO_COMPLETION),
               "No next completion available");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_NO_EVENT), "No next event available");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_AGAIN), "Temporary error, try again");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_SHARED_CHANNEL),
               "Completion channel is shared");
  EXPECT_STREQ(rpma_err_2str(RPMA_E_NOT_SHARED_CHNL),
               "Completion channel is not shared");
  for (const int no_result : {1, -1, -99999, -100010, INT_MIN, INT_MAX}) {
    EXPECT_STREQ(rpma_err_2str(no_result), "Unknown error") << no_result;
  }
}

TEST(NamesTest, EventsHaveTheTextsOfThePages) {
  const auto name = [](int event) {
    return rpma_utils_conn_event_2str(static_cast<rpma_conn_event>(event));
  };
  EXPECT_STREQ(name(RPMA_CONN_UNDEFINED), "Undefined connection event");
  EXPECT_STREQ(name(RPMA_CONN_ESTABLISHED), "Connection established");
  EXPECT_STREQ(name(RPMA_CONN_CLOSED), "Connection closed");
  EXPECT_STREQ(name(RPMA_CONN_LOST), "Connection lost");
  EXPECT_STREQ(name(RPMA_CONN_REJECTED), "Connection rejected");
  EXPECT_STREQ(name(RPMA_CONN_UNREACHABLE), "Connection unreachable");
  EXPECT_STREQ(name(5), "Unsupported connection event");
  EXPECT_STREQ(name(-2), "Unsupported connection event");
}

}  // namespace
}  // namespace rpma::test
