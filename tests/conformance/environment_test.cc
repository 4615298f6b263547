// SPDX-License-Identifier: BSD-3-Clause
// The flags of the suite itself.

#include "tests/conformance/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rpma::test {
namespace {

using ::testing::HasSubstr;

bool Parse(std::vector<std::string> arguments) {
  std::vector<char*> argv = {nullptr};  // the program
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseFlags(static_cast<int>(argv.size()), argv.data());
}

// What is printed on stderr when the flags are refused.
std::string Refusal(const std::string& argument) {
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(Parse({argument}));
  return ::testing::internal::GetCapturedStderr();
}

TEST(EnvironmentTest, EmulatorIsTheTransportOfThisBuild) {
  EXPECT_TRUE(Parse({}));
  EXPECT_TRUE(Parse({"--transport=emulator"}));
  EXPECT_THAT(Refusal("--transport=verbs"),
              HasSubstr("not part of this build"));
}

TEST(EnvironmentTest, UnknownFlagsAreRefused) {
  EXPECT_THAT(Refusal("--adress=1.2.3.4"), HasSubstr("--adress=1.2.3.4"));
}

}  // namespace
}  // namespace rpma::test
