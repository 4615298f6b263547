// SPDX-License-Identifier: BSD-3-Clause
// The flags of the suite itself.

#include "tests/conformance/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rpma::test {
namespace {

using ::testing::HasSubstr;

// What is printed on stderr when the flags are refused.
std::string Refusal(std::string argument) {
  char* argv[] = {nullptr, argument.data()};
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(ParseFlags(2, argv));
  return ::testing::internal::GetCapturedStderr();
}

TEST(EnvironmentTest, UnknownTransportsAreRefused) {
  EXPECT_THAT(Refusal("--transport=tcp"), HasSubstr("emulator nor verbs"));
}

TEST(EnvironmentTest, UnknownFlagsAreRefused) {
  EXPECT_THAT(Refusal("--adress=1.2.3.4"), HasSubstr("--adress=1.2.3.4"));
}

TEST(EnvironmentTest, UnknownNumbersOfProcessesAreRefused) {
  EXPECT_THAT(Refusal("--processes=3"), HasSubstr("neither 1, 2"));
}

}  // namespace
}  // namespace rpma::test
