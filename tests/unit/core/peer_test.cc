// SPDX-License-Identifier: BSD-3-Clause
//
// Peers: protection domains and registering memory.

#include "core/peer.h"

#include <gtest/gtest.h>
#include <librpma.h>
#include <sys/resource.h>

#include <cerrno>
#include <utility>

#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::InSequence;
using ::testing::Return;

class PeerTest : public test::CoreTest {
 protected:
  Rc Register(const Peer& peer, int usage) {
    OwnedMr mr;
    return peer.RegisterMemory(buffer_, sizeof(buffer_), usage, &mr);
  }

  // The device answers the registrations of the test with these results, in
  // this order, and the access asked for must be as given.
  void Answer(std::vector<std::pair<uint32_t, Errno>> registrations) {
    const InSequence in_order;
    for (const auto& [access, error] : registrations) {
      auto& call =
          EXPECT_CALL(transport, RegMr(_, buffer_, sizeof(buffer_), access, _));
      if (error != Errno::kOk) call.WillOnce(Return(error));
    }
  }

  char buffer_[16] = {};
};

TEST_F(PeerTest, CreateQueriesTheDeviceThenAllocates) {
  transport.caps.iwarp = true;
  std::unique_ptr<Peer> peer;
  ASSERT_EQ(Peer::Create(transport, transport.context(), &peer), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("QueryDevice", "AllocPd"));
  EXPECT_EQ(peer->context(), transport.context());
  EXPECT_NE(peer->pd(), nullptr);
  EXPECT_TRUE(peer->caps().iwarp);
}

TEST_F(PeerTest, EveryFailureToCreateUnwinds) {
  EXPECT_EQ(SweepFailures<Peer>([&](auto* out) {
              return Peer::Create(transport, transport.context(), out);
            }),
            2u);
}

TEST_F(PeerTest, FailureToAllocateIsSplitByErrno) {
  std::unique_ptr<Peer> peer;
  transport.FailMethod("AllocPd", Errno{ENOMEM});
  EXPECT_EQ(Peer::Create(transport, transport.context(), &peer), Rc::kNoMem);
  transport.FailMethod("AllocPd", Errno::kNoCause);
  EXPECT_EQ(Peer::Create(transport, transport.context(), &peer), Rc::kUnknown);
  EXPECT_EQ(peer, nullptr);
  EXPECT_EQ(log.Take().size(), 2u);
}

TEST_F(PeerTest, BusyPeerStaysUsableAndCanBeClosedLater) {
  const auto peer = MakePeer();
  transport.FailMethod("DeallocPd", Errno{EBUSY});
  EXPECT_EQ(peer->Close(), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_dealloc_pd")));
  EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_SEND), Rc::kOk);
  transport.FailMethod("DeallocPd", Errno::kOk);
  EXPECT_EQ(peer->Close(), Rc::kOk);
  EXPECT_EQ(transport.live(), 0u);
}

TEST_F(PeerTest, RegistersInItsDomainWithTheRightsOfTheUsage) {
  const auto peer = MakePeer();
  EXPECT_CALL(transport, RegMr(peer->pd(), buffer_, sizeof(buffer_),
                               kMrRemoteWrite | kMrLocalWrite, _));
  EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_WRITE_DST), Rc::kOk);
}

TEST_F(PeerTest, MemoryThatCannotBePinnedIsRegisteredOnDemand) {
  transport.caps.odp_rc_read_write = true;
  const auto peer = MakePeer();
  Answer({{kMrRemoteRead, Errno{EOPNOTSUPP}},
          {kMrRemoteRead | kMrOnDemand, Errno::kOk}});
  EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_READ_SRC), Rc::kOk);
}

TEST_F(PeerTest, OnDemandIsTriedOnce) {
  transport.caps.odp_rc_read_write = true;
  const auto peer = MakePeer();
  Answer({{kMrRemoteRead, Errno{EOPNOTSUPP}},
          {kMrRemoteRead | kMrOnDemand, Errno{EOPNOTSUPP}}});
  EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_READ_SRC), Rc::kProvider);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(PeerTest, WithoutOnDemandPagingTheLogSaysWhatIsMissing) {
  const auto peer = MakePeer();
  Answer({{kMrRemoteRead, Errno{EOPNOTSUPP}}});
  EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_READ_SRC), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("needs on-demand paging")));
}

TEST_F(PeerTest, ReadOnlyMemoryCanBeTheSourceOfWrites) {
  const auto peer = MakePeer();
  for (const Errno refusal : {Errno{EFAULT}, Errno{EACCES}}) {
    Answer({{kMrLocalWrite, refusal}, {0, Errno::kOk}});
    EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_WRITE_SRC), Rc::kOk);
  }
}

TEST_F(PeerTest, ReadOnlyMemoryCannotBeWrittenTo) {
  const auto peer = MakePeer();
  Answer({{kMrLocalWrite, Errno{EFAULT}}});
  EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_RECV),
            Rc::kProvider);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(PeerTest, ReadOnlyMemoryOnDemand) {
  transport.caps.odp_rc_read_write = true;
  const auto peer = MakePeer();
  Answer({{kMrLocalWrite, Errno{EOPNOTSUPP}},
          {kMrLocalWrite | kMrOnDemand, Errno{EFAULT}},
          {kMrOnDemand, Errno::kOk}});
  EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_WRITE_SRC), Rc::kOk);
}

TEST_F(PeerTest, FailureNamesSizesAndTheLimitOfLockedMemory) {
  transport.caps.max_mr_size = 4096;
  const auto peer = MakePeer();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit lowered = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &lowered), 0);
  transport.FailMethod("RegMr", Errno{ENOMEM});
  EXPECT_EQ(Register(*peer, RPMA_MR_USAGE_SEND), Rc::kProvider);
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
  EXPECT_THAT(log.Take(),
              ElementsAre(AllOf(
                  HasSubstr("length=16, usage=0x40, access=0x0"),
                  HasSubstr("Cannot allocate memory"),
                  HasSubstr("device mock0 takes regions of up to 4096 bytes"),
                  HasSubstr("RLIMIT_MEMLOCK, ulimit -l) is 0 KiB"))));
}

}  // namespace
}  // namespace rpma
