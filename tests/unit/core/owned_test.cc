// SPDX-License-Identifier: BSD-3-Clause
//
// Owners destroy what they own, once.

#include "core/owned.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OwnedTest : public test::CoreTest {
 protected:
  OwnedPd Make() {
    ibv_pd* pd = nullptr;
    EXPECT_EQ(transport.AllocPd(transport.context(), &pd), Errno::kOk);
    return {transport, pd};
  }
};

TEST_F(OwnedTest, ScopeDestroys) {
  { const OwnedPd pd = Make(); }
  EXPECT_EQ(transport.live(), 0u);
}

TEST_F(OwnedTest, MoveHandsOver) {
  OwnedPd first = Make();
  OwnedPd second = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  first = std::move(second);
  EXPECT_TRUE(first);
  EXPECT_EQ(transport.live(), 1u);
}

TEST_F(OwnedTest, AssignmentDestroysWhatWasOwned) {
  OwnedPd pd = Make();
  pd = Make();
  EXPECT_EQ(transport.live(), 1u);
}

TEST_F(OwnedTest, FailedDestroyKeepsTheObjectForAnotherTry) {
  OwnedPd pd = Make();
  transport.FailMethod("DeallocPd", Errno{EBUSY});
  EXPECT_EQ(pd.Destroy(), Rc::kProvider);
  EXPECT_TRUE(pd);
  EXPECT_THAT(log.Take(),
              ElementsAre(HasSubstr("failed: Device or resource busy")));
  transport.FailMethod("DeallocPd", Errno::kOk);
  EXPECT_EQ(pd.Destroy(), Rc::kOk);
  EXPECT_FALSE(pd);
  EXPECT_EQ(transport.live(), 0u);
}

TEST_F(OwnedTest, AbandonedObjectIsNotTriedAgain) {
  transport.FailMethod("DeallocPd", Errno{EBUSY});
  {
    OwnedPd pd = Make();
    EXPECT_EQ(pd.DestroyOrAbandon(), Rc::kProvider);
    EXPECT_FALSE(pd);
    log.Take();
  }
  EXPECT_THAT(log.Take(), IsEmpty());
  EXPECT_EQ(transport.live(), 1u);
}

TEST_F(OwnedTest, NothingIsDestroyedTwice) {
  OwnedPd pd = Make();
  EXPECT_EQ(pd.Destroy(), Rc::kOk);
  EXPECT_EQ(pd.Destroy(), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("AllocPd", "DeallocPd"));
}

}  // namespace
}  // namespace rpma
