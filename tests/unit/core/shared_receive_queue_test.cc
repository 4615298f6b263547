// SPDX-License-Identifier: BSD-3-Clause
//
// Shared receive queues and their receive CQ.

#include "core/shared_receive_queue.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SharedReceiveQueueTest : public test::CoreTest {
 protected:
  std::unique_ptr<SharedReceiveQueue> Make() {
    std::unique_ptr<SharedReceiveQueue> queue;
    EXPECT_EQ(SharedReceiveQueue::Create(*peer_, cfg_, &queue), Rc::kOk);
    transport.ForgetCalls();
    return queue;
  }

  std::unique_ptr<Peer> peer_ = MakePeer();
  SrqCfg cfg_;
};

TEST_F(SharedReceiveQueueTest, DefaultsAreThoseOfTheManual) {
  EXPECT_EQ(cfg_.rq_size.get(), 100u);
  EXPECT_EQ(cfg_.rcq_size.get(), 100u);
}

TEST_F(SharedReceiveQueueTest, HasAReceiveCqOfTheSizeAskedFor) {
  cfg_.rq_size.set(5);
  cfg_.rcq_size.set(7);
  EXPECT_CALL(transport, CreateSrq(peer_->pd(), 5, _));
  EXPECT_CALL(transport, CreateCq(_, 7, _, _));
  const auto queue = Make();
  EXPECT_NE(queue->get(), nullptr);
  EXPECT_NE(queue->rcq(), nullptr);
}

TEST_F(SharedReceiveQueueTest, WithoutSizeThereIsNoReceiveCq) {
  cfg_.rcq_size.set(0);
  EXPECT_CALL(transport, CreateCq).Times(0);
  EXPECT_EQ(Make()->rcq(), nullptr);
}

TEST_F(SharedReceiveQueueTest, EveryFailureToCreateUnwinds) {
  EXPECT_EQ(SweepFailures<SharedReceiveQueue>([&](auto* out) {
              return SharedReceiveQueue::Create(*peer_, cfg_, out);
            }),
            4u);
}

TEST_F(SharedReceiveQueueTest, RefusedSizeIsNamedBesideTheLimit) {
  transport.caps.max_srq_wr = 64;
  peer_ = MakePeer();
  transport.FailMethod("CreateSrq", Errno{EINVAL});
  std::unique_ptr<SharedReceiveQueue> queue;
  EXPECT_EQ(SharedReceiveQueue::Create(*peer_, cfg_, &queue), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(AllOf(HasSubstr("max_wr=100"),
                                            HasSubstr("takes up to 64"))));
}

TEST_F(SharedReceiveQueueTest, CloseDestroysTheReceiveCqFirst) {
  EXPECT_EQ(Make()->Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(),
              ElementsAre("DestroyCq", "DestroyCompChannel", "DestroySrq"));
}

TEST_F(SharedReceiveQueueTest, CloseGoesOnAfterAFailure) {
  for (const char* method : {"DestroyCq", "DestroyCompChannel", "DestroySrq"}) {
    const auto queue = Make();
    transport.FailMethod(method, Errno{EBUSY});
    EXPECT_EQ(queue->Close(), Rc::kProvider);
    EXPECT_THAT(transport.calls(),
                ElementsAre("DestroyCq", "DestroyCompChannel", "DestroySrq"));
    EXPECT_EQ(log.Take().size(), 1u);
    transport.FailMethod(method, Errno::kOk);
  }
}

TEST_F(SharedReceiveQueueTest, ReceivesIntoAPartOfTheRegion) {
  const auto queue = Make();
  const auto mr = MakeLocal(*peer_, 0x10000, 4096);
  EXPECT_CALL(transport, PostSrqRecv(queue->get(), _))
      .WillOnce([&](ibv_srq*, ibv_recv_wr* wr) {
        EXPECT_EQ(wr->wr_id, 77u);
        EXPECT_EQ(wr->next, nullptr);
        EXPECT_EQ(wr->num_sge, 1);
        EXPECT_EQ(wr->sg_list->addr, 0x10010u);
        EXPECT_EQ(wr->sg_list->length, 32u);
        EXPECT_EQ(wr->sg_list->lkey, mr->lkey());
        return Errno::kOk;
      });
  EXPECT_EQ(queue->Recv(mr.get(), 16, 32, reinterpret_cast<void*>(77)),
            Rc::kOk);
}

TEST_F(SharedReceiveQueueTest, ReceiveOutsideOfTheRegionIsInvalid) {
  const auto queue = Make();
  const auto mr = MakeLocal(*peer_, 0x10000, 4096);
  EXPECT_CALL(transport, PostSrqRecv).Times(0);
  EXPECT_EQ(queue->Recv(mr.get(), 4096, 1, nullptr), Rc::kInval);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(SharedReceiveQueueTest, FullQueueIsExplained) {
  const auto queue = Make();
  transport.FailMethod("PostSrqRecv", Errno{ENOMEM});
  EXPECT_EQ(queue->Recv(nullptr, 0, 0, nullptr), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(AllOf(HasSubstr("ibv_post_srq_recv"),
                                            HasSubstr("the queue is full"))));
}

}  // namespace
}  // namespace rpma
