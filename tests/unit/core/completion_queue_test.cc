// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues: creating, arming, waiting, taking completions.

#include "core/completion_queue.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <optional>

#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NotNull;
using ::testing::Return;

class CompletionQueueTest : public test::CoreTest {
 protected:
  // A queue with its own channel, unless one is given.
  CompletionQueue& Make(ibv_comp_channel* shared = nullptr) {
    EXPECT_EQ(CompletionQueue::Create(*peer_, 10, shared, &queue_), Rc::kOk);
    transport.ForgetCalls();
    return *queue_;
  }

  std::unique_ptr<Peer> peer_ = MakePeer();
  ibv_comp_channel shared_ = {};
  std::optional<CompletionQueue> queue_;
};

TEST_F(CompletionQueueTest, IsArmedOnItsOwnChannel) {
  EXPECT_CALL(transport, CreateCq(transport.context(), 7, NotNull(), _));
  ASSERT_EQ(CompletionQueue::Create(*peer_, 7, nullptr, &queue_), Rc::kOk);
  EXPECT_THAT(transport.calls(),
              ElementsAre("CreateCompChannel", "CreateCq", "ReqNotifyCq"));
  EXPECT_GT(queue_->fd(), 0);
  queue_.reset();
  EXPECT_EQ(transport.live(), 1u);  // the peer's domain
}

TEST_F(CompletionQueueTest, UsesTheSharedChannelThatIsGiven) {
  shared_.fd = 42;
  EXPECT_CALL(transport, CreateCq(_, 7, &shared_, _));
  ASSERT_EQ(CompletionQueue::Create(*peer_, 7, &shared_, &queue_), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("CreateCq", "ReqNotifyCq"));
  EXPECT_EQ(queue_->fd(), 42);
}

TEST_F(CompletionQueueTest, SizeIsCutToAnInt) {
  EXPECT_CALL(transport, CreateCq(_, INT_MAX, _, _));
  EXPECT_EQ(CompletionQueue::Create(*peer_, UINT32_MAX, nullptr, &queue_),
            Rc::kOk);
}

TEST_F(CompletionQueueTest, EveryFailureToCreateUnwinds) {
  for (size_t k = 1; k <= 3; ++k) {
    transport.FailCall(k, Errno{EIO});
    EXPECT_EQ(CompletionQueue::Create(*peer_, 7, nullptr, &queue_),
              Rc::kProvider);
    EXPECT_FALSE(queue_);
    EXPECT_EQ(transport.live(), 1u);
    EXPECT_EQ(log.Take().size(), 1u);
  }
}

TEST_F(CompletionQueueTest, RefusedSizeIsNamedBesideTheLimit) {
  transport.caps.max_cqe = 16;
  const auto peer = MakePeer();
  transport.FailMethod("CreateCq", Errno{EINVAL});
  EXPECT_EQ(CompletionQueue::Create(*peer, 17, nullptr, &queue_),
            Rc::kProvider);
  EXPECT_THAT(
      log.Take(),
      ElementsAre(AllOf(HasSubstr("cqe=17"), HasSubstr("Invalid argument"),
                        HasSubstr("mock0 takes up to 16"))));
}

TEST_F(CompletionQueueTest, CloseDestroysTheQueueBeforeItsChannel) {
  EXPECT_EQ(Make().Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(),
              ElementsAre("DestroyCq", "DestroyCompChannel"));
}

TEST_F(CompletionQueueTest, CloseLeavesTheSharedChannel) {
  EXPECT_EQ(Make(&shared_).Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("DestroyCq"));
}

TEST_F(CompletionQueueTest, CloseGoesOnAfterAFailure) {
  for (const char* method : {"DestroyCq", "DestroyCompChannel"}) {
    Make();
    transport.FailMethod(method, Errno{EBUSY});
    EXPECT_EQ(queue_->Close(), Rc::kProvider);
    EXPECT_THAT(transport.calls(),
                ElementsAre("DestroyCq", "DestroyCompChannel"));
    EXPECT_EQ(log.Take().size(), 1u);
    transport.FailMethod(method, Errno::kOk);
  }
}

TEST_F(CompletionQueueTest, WaitAcknowledgesAndArmsAgain) {
  CompletionQueue& queue = Make();
  transport.QueueCqEvent(queue.get());
  EXPECT_CALL(transport, AckCqEvents(queue.get(), 1));
  EXPECT_CALL(transport, ReqNotifyCq(queue.get()));
  EXPECT_EQ(queue.Wait(), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("GetCqEvent", "ReqNotifyCq"));
}

TEST_F(CompletionQueueTest, NothingToWaitForIsNoCompletionAndNotLogged) {
  CompletionQueue& queue = Make();
  for (const int quiet : {EAGAIN, EINTR}) {
    transport.FailMethod("GetCqEvent", Errno{quiet});
    EXPECT_EQ(queue.Wait(), Rc::kNoCompletion);
  }
  EXPECT_THAT(log.Take(), IsEmpty());
  EXPECT_THAT(transport.calls(), ElementsAre("GetCqEvent", "GetCqEvent"));
}

TEST_F(CompletionQueueTest, BrokenChannelIsNoCompletionAndLogged) {
  CompletionQueue& queue = Make();
  transport.FailMethod("GetCqEvent", Errno{EIO});
  EXPECT_EQ(queue.Wait(), Rc::kNoCompletion);
  EXPECT_THAT(log.Take(), ElementsAre(AllOf(HasSubstr("E ibv_get_cq_event"),
                                            HasSubstr("Input/output error"))));
}

TEST_F(CompletionQueueTest, DeadlockIsAFailureOfTheProvider) {
  CompletionQueue& queue = Make();
  transport.FailMethod("GetCqEvent", Errno{EDEADLK});
  EXPECT_EQ(queue.Wait(), Rc::kProvider);
  EXPECT_THAT(log.Take(),
              ElementsAre(AllOf(HasSubstr("E ibv_get_cq_event"),
                                HasSubstr("Resource deadlock avoided"))));
}

TEST_F(CompletionQueueTest, FailureToArmAgainIsReported) {
  CompletionQueue& queue = Make();
  transport.QueueCqEvent(queue.get());
  transport.FailMethod("ReqNotifyCq", Errno{EIO});
  EXPECT_CALL(transport, AckCqEvents(queue.get(), 1));
  EXPECT_EQ(queue.Wait(), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_req_notify_cq")));
}

TEST_F(CompletionQueueTest, WaitAfterAFailureToArmDoesSoAndDoesNotBlock) {
  CompletionQueue& queue = Make();
  transport.QueueCqEvent(queue.get());
  transport.FailMethod("ReqNotifyCq", Errno{EIO});
  EXPECT_EQ(queue.Wait(), Rc::kProvider);
  EXPECT_EQ(queue.Wait(), Rc::kProvider);
  EXPECT_EQ(log.Take().size(), 2u);
  transport.FailMethod("ReqNotifyCq", Errno::kOk);
  transport.ForgetCalls();
  EXPECT_EQ(queue.Wait(), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("ReqNotifyCq"));
  EXPECT_EQ(queue.Wait(), Rc::kNoCompletion);
}

TEST_F(CompletionQueueTest, WaitingOnASharedChannelIsRefused) {
  EXPECT_CALL(transport, GetCqEvent).Times(0);
  EXPECT_EQ(Make(&shared_).Wait(), Rc::kSharedChannel);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("rpma_conn_wait")));
}

TEST_F(CompletionQueueTest, PollGivesWhatTheProviderHas) {
  CompletionQueue& queue = Make();
  ibv_wc wc[4];
  int got = -1;
  EXPECT_CALL(transport, PollCq(queue.get(), 4, wc)).WillOnce(Return(3));
  EXPECT_EQ(queue.Poll(4, wc, &got), Rc::kOk);
  EXPECT_EQ(got, 3);
}

TEST_F(CompletionQueueTest, PollOfOneNeedsNoCount) {
  CompletionQueue& queue = Make();
  ibv_wc wc;
  EXPECT_CALL(transport, PollCq(queue.get(), 1, &wc)).WillOnce(Return(1));
  EXPECT_EQ(queue.Poll(1, &wc, nullptr), Rc::kOk);
}

TEST_F(CompletionQueueTest, UnsuccessfulPollLeavesTheCountAlone) {
  CompletionQueue& queue = Make();
  ibv_wc wc[2];
  int got = -1;
  EXPECT_CALL(transport, PollCq)
      .WillOnce(Return(0))
      .WillOnce(Return(-EIO))
      .WillOnce(Return(3));
  EXPECT_EQ(queue.Poll(2, wc, &got), Rc::kNoCompletion);
  EXPECT_THAT(log.Take(), IsEmpty());
  EXPECT_EQ(queue.Poll(2, wc, &got), Rc::kProvider);
  EXPECT_EQ(queue.Poll(2, wc, &got), Rc::kUnknown);
  EXPECT_EQ(got, -1);
  EXPECT_EQ(log.Take().size(), 2u);
}

}  // namespace
}  // namespace rpma
