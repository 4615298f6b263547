// SPDX-License-Identifier: BSD-3-Clause
//
// Thresholds, the installed function, and the text of messages.

#include "core/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <thread>

namespace rpma {
namespace {

struct Call {
  int count = 0;
  rpma_log_level level = RPMA_LOG_DISABLED;
  std::string file;
  int line = 0;
  std::string function;
  std::string format;
  std::string text;
};
Call last;

[[gnu::format(printf, 5, 6)]] void Remember(rpma_log_level level,
                                            const char* file, int line,
                                            const char* function,
                                            const char* format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  last = {last.count + 1, level, file, line, function, format, text};
}

// For several threads.
std::atomic<int> heard;
void Hear(rpma_log_level, const char*, int, const char*, const char*, ...) {
  ++heard;
}

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    last = {};
    log::SetFunction(&Remember);
  }
  ~LogTest() override {
    log::SetFunction(nullptr);
    log::SetThreshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_WARNING);
    log::SetThreshold(RPMA_LOG_THRESHOLD_AUX, RPMA_LOG_DISABLED);
  }
};

TEST_F(LogTest, StartsAtWarningAndDisabled) {
  EXPECT_EQ(log::Threshold(RPMA_LOG_THRESHOLD), RPMA_LOG_LEVEL_WARNING);
  EXPECT_EQ(log::Threshold(RPMA_LOG_THRESHOLD_AUX), RPMA_LOG_DISABLED);
}

TEST_F(LogTest, FunctionGetsTextLevelAndPlace) {
  RPMA_LOG(ERROR, "%d of %s", 3, "four");
  const int line = __LINE__ - 1;
  EXPECT_EQ(last.count, 1);
  EXPECT_EQ(last.level, RPMA_LOG_LEVEL_ERROR);
  EXPECT_THAT(last.file, ::testing::EndsWith("log_test.cc"));
  EXPECT_EQ(last.line, line);
  EXPECT_EQ(last.function, "TestBody");
  EXPECT_EQ(last.format, "%s\n");
  EXPECT_EQ(last.text, "3 of four\n");
}

TEST_F(LogTest, MessagesAboveTheThresholdAreNotEvenFormatted) {
  int evaluated = 0;
  RPMA_LOG(NOTICE, "%d", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  EXPECT_EQ(last.count, 0);
  log::SetThreshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_NOTICE);
  RPMA_LOG(NOTICE, "%d", ++evaluated);
  EXPECT_EQ(last.text, "1\n");
}

TEST_F(LogTest, DisabledThresholdSilencesFatal) {
  log::SetThreshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED);
  RPMA_LOG(FATAL, "the end");
  EXPECT_EQ(last.count, 0);
}

TEST_F(LogTest, WithoutFunctionNothingHappens) {
  log::SetFunction(nullptr);
  RPMA_LOG(ERROR, "unheard");
  EXPECT_EQ(last.count, 0);
}

TEST_F(LogTest, LongTextIsCut) {
  const std::string text(2000, 'x');
  RPMA_LOG(ERROR, "%s", text.c_str());
  EXPECT_EQ(last.text, std::string(1023, 'x') + "\n");
}

TEST_F(LogTest, ReasonsAreWords) {
  EXPECT_STREQ(log::Reason(Errno{ENOMEM}), "Cannot allocate memory");
  EXPECT_STREQ(log::Reason(Errno::kNoCause), "the provider gave no reason");
  EXPECT_STREQ(log::Reason(Errno{99999}), "unknown errno");
}

TEST_F(LogTest, ThresholdsAndTheFunctionChangeWhileOthersLog) {
  constexpr int kRounds = 1000;
  heard = 0;
  log::SetFunction(&Hear);
  std::thread changer([] {
    for (int i = 0; i < kRounds; ++i) {
      log::SetThreshold(RPMA_LOG_THRESHOLD, static_cast<rpma_log_level>(i % 6));
      log::SetFunction(i % 2 == 0 ? nullptr : &Hear);
    }
  });
  for (int i = 0; i < kRounds; ++i) RPMA_LOG(ERROR, "%d", i);
  changer.join();
  const int meanwhile = heard;
  EXPECT_LE(meanwhile, kRounds);

  log::SetThreshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_ERROR);
  RPMA_LOG(ERROR, "after the changes");
  EXPECT_EQ(heard, meanwhile + 1);
}

}  // namespace
}  // namespace rpma
