// SPDX-License-Identifier: BSD-3-Clause
// Which tests an entry of the table of deviations leaves out.

#include "tests/conformance/deviations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpma::test {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(DeviationsTest, TestHasANameForEachProvider) {
  const auto names = NamesOf("SrqTest", "DefaultQueueHasARcq");
  EXPECT_THAT(names, Not(IsEmpty()));
  EXPECT_THAT(names, Each(StartsWith("SrqTest.DefaultQueueHasARcq/")));
}

TEST(DeviationsTest, StarIsEachTestOfTheSuite) {
  const auto names = NamesOf("SrqTest", "*");
  EXPECT_GT(names.size(), NamesOf("SrqTest", "DefaultQueueHasARcq").size());
  EXPECT_THAT(names, Each(StartsWith("SrqTest.")));
}

TEST(DeviationsTest, SuiteWhoseNameEndsAlikeIsAnother) {
  EXPECT_THAT(NamesOf("Test", "DefaultQueueHasARcq"), IsEmpty());
  EXPECT_THAT(NamesOf("qTest", "DefaultQueueHasARcq"), IsEmpty());
}

TEST(DeviationsTest, TestWhoseNameBeginsAlikeIsAnother) {
  EXPECT_THAT(NamesOf("SrqTest", "DefaultQueue"), IsEmpty());
}

}  // namespace
}  // namespace rpma::test
