// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory: registering, describing, advising.

#include "core/mr_local.h"

#include <gtest/gtest.h>
#include <librpma.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::InSequence;
using ::testing::Return;

constexpr size_t kGiB = size_t{1} << 30;
constexpr int kPrefetch = IBV_ADVISE_MR_ADVICE_PREFETCH;

class MrLocalTest : public test::CoreTest {
 protected:
  std::unique_ptr<Peer> peer_ = MakePeer();
};

TEST_F(MrLocalTest, KnowsWhatWasRegistered) {
  const auto mr = MakeLocal(*peer_, 0x10000, 4096, RPMA_MR_USAGE_READ_SRC);
  EXPECT_EQ(mr->address(), 0x10000u);
  EXPECT_EQ(mr->size(), 4096u);
  const MrDescriptor region = mr->Describe();
  EXPECT_EQ(region.address, 0x10000u);
  EXPECT_EQ(region.length, 4096u);
  EXPECT_EQ(region.rkey, mr->lkey() + 1);  // as the mock numbers them
  EXPECT_EQ(region.usage, RPMA_MR_USAGE_READ_SRC);
}

TEST_F(MrLocalTest, EveryFailureToRegisterUnwinds) {
  EXPECT_EQ(SweepFailures<MrLocal>([&](auto* out) {
              return MrLocal::Register(*peer_, this, 8, RPMA_MR_USAGE_SEND,
                                       out);
            }),
            1u);
}

TEST_F(MrLocalTest, FailedCloseKeepsTheRegionForAnotherTry) {
  const auto mr = MakeLocal(*peer_, 0x10000, 4096);
  transport.FailMethod("DeregMr", Errno{EBUSY});
  EXPECT_EQ(mr->Close(), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_dereg_mr")));
  EXPECT_EQ(mr->Advise(0, 1, kPrefetch, 0), Rc::kOk);
  transport.FailMethod("DeregMr", Errno::kOk);
  EXPECT_EQ(mr->Close(), Rc::kOk);
  EXPECT_EQ(transport.live(), 1u);  // the peer's domain
}

TEST_F(MrLocalTest, AdviceIsHandedOnAsItIs) {
  const auto mr = MakeLocal(*peer_, 0x10000, 4096);
  EXPECT_CALL(transport, AdviseMr(_, 100, 200, kPrefetch, 1));
  EXPECT_EQ(mr->Advise(100, 200, kPrefetch, 1), Rc::kOk);
  EXPECT_CALL(transport, AdviseMr(_, 4096, 0, kPrefetch, 0));
  EXPECT_EQ(mr->Advise(4096, 0, kPrefetch, 0), Rc::kOk);
}

TEST_F(MrLocalTest, AdviceOutsideOfTheRegionIsInvalid) {
  const auto mr = MakeLocal(*peer_, 0x10000, 4096);
  EXPECT_CALL(transport, AdviseMr).Times(0);
  EXPECT_EQ(mr->Advise(4097, 0, kPrefetch, 0), Rc::kInval);
  EXPECT_EQ(mr->Advise(1, 4096, kPrefetch, 0), Rc::kInval);
  EXPECT_EQ(mr->Advise(4096, SIZE_MAX, kPrefetch, 0), Rc::kInval);
  EXPECT_EQ(log.Take().size(), 3u);
}

TEST_F(MrLocalTest, LongRangesAreAdvisedInPiecesThatEndOnPages) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto mr = MakeLocal(*peer_, 16 * page + 3, 6 * kGiB);
  const auto first = static_cast<uint32_t>(2 * kGiB - 13);
  const size_t third = first + 2 * kGiB;
  {
    const InSequence in_order;
    EXPECT_CALL(transport, AdviseMr(_, 10, first, kPrefetch, 0));
    EXPECT_CALL(transport, AdviseMr(_, 10 + first, 2 * kGiB, kPrefetch, 0));
    EXPECT_CALL(transport,
                AdviseMr(_, 10 + third, 5 * kGiB - third, kPrefetch, 0));
  }
  EXPECT_EQ(mr->Advise(10, 5 * kGiB, kPrefetch, 0), Rc::kOk);
}

TEST_F(MrLocalTest, FailedPieceEndsTheAdvice) {
  const auto mr = MakeLocal(*peer_, 0x10000, 6 * kGiB);
  EXPECT_CALL(transport, AdviseMr)
      .WillOnce(Return(Errno::kOk))
      .WillOnce(Return(Errno{ENOMEM}));
  EXPECT_EQ(mr->Advise(0, 6 * kGiB, kPrefetch, 0), Rc::kProvider);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(MrLocalTest, ErrnoDecidesWhatRefusedAdviceMeans) {
  const auto mr = MakeLocal(*peer_, 0x10000, 4096);
  const struct {
    int error;
    Rc rc;
  } cases[] = {{EOPNOTSUPP, Rc::kNoSupp}, {ENOTSUP, Rc::kNoSupp},
               {EINVAL, Rc::kInval},      {EFAULT, Rc::kInval},
               {EPERM, Rc::kInval},       {EACCES, Rc::kInval},
               {ENOENT, Rc::kProvider},   {ENOMEM, Rc::kProvider}};
  for (const auto& [error, rc] : cases) {
    transport.FailMethod("AdviseMr", Errno{error});
    EXPECT_EQ(mr->Advise(0, 1, kPrefetch, 0), rc) << error;
    EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_advise_mr")));
  }
}

}  // namespace
}  // namespace rpma
