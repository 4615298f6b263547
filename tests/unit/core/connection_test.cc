// SPDX-License-Identifier: BSD-3-Clause
//
// Connections: their events, waiting, and their end.

#include "core/connection.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "tests/unit/core/connection_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConnectionTest : public test::ConnectionTestBase {};

// A connection whose CQ and RCQ share a channel.
class SharedChannelTest : public test::ConnectionTestBase {
 protected:
  SharedChannelTest() {
    cfg.rcq_size.set(5);
    cfg.shared_channel.set(true);
  }
};

TEST_F(ConnectionTest, ShowsItsParts) {
  const auto connection = MakeConnection();
  EXPECT_GT(connection->event_fd(), 0);
  EXPECT_GT(connection->qp_num(), 0u);
  EXPECT_NE(connection->cq(), nullptr);
  EXPECT_EQ(connection->rcq(), nullptr);
  EXPECT_EQ(connection->private_data().ptr, nullptr);
  int fd = -1;
  EXPECT_EQ(connection->GetCompletionFd(&fd), Rc::kNotSharedChannel);
  EXPECT_EQ(fd, -1);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(SharedChannelTest, OneDescriptorForAllCompletions) {
  const auto connection = MakeConnection();
  int fd = -1;
  EXPECT_EQ(connection->GetCompletionFd(&fd), Rc::kOk);
  EXPECT_EQ(fd, connection->cq()->fd());
  EXPECT_EQ(fd, connection->rcq()->fd());
}

TEST_F(ConnectionTest, EventIsAcknowledgedAndTranslated) {
  const auto connection = MakeConnection();
  const size_t live = transport.live();
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  transport.QueueCmEvent(RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(connection->NextEvent(&event), Rc::kOk);
  EXPECT_EQ(event, RPMA_CONN_CLOSED);
  EXPECT_EQ(transport.live(), live);
}

TEST_F(ConnectionTest, FirstPrivateDataStay) {
  const auto connection = MakeConnection();
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  const std::vector<uint8_t> first = {7, 8};
  const std::vector<uint8_t> second = {9};
  transport.QueueCmEvent(RDMA_CM_EVENT_ESTABLISHED, first);
  transport.QueueCmEvent(RDMA_CM_EVENT_ESTABLISHED, second);
  EXPECT_EQ(connection->NextEvent(&event), Rc::kOk);
  EXPECT_EQ(event, RPMA_CONN_ESTABLISHED);
  EXPECT_EQ(connection->NextEvent(&event), Rc::kOk);
  const rpma_conn_private_data pdata = connection->private_data();
  ASSERT_EQ(pdata.len, 2);
  EXPECT_EQ(static_cast<const uint8_t*>(pdata.ptr)[0], 7);
}

TEST_F(ConnectionTest, NoEventIsQuiet) {
  const auto connection = MakeConnection();
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  EXPECT_EQ(connection->NextEvent(&event), Rc::kNoEvent);
  EXPECT_THAT(log.Take(), IsEmpty());
}

TEST_F(ConnectionTest, UnexpectedEventIsAcknowledgedAndUnknown) {
  const auto connection = MakeConnection();
  const size_t live = transport.live();
  rpma_conn_event event = RPMA_CONN_LOST;
  transport.QueueCmEvent(RDMA_CM_EVENT_ADDR_CHANGE);
  EXPECT_EQ(connection->NextEvent(&event), Rc::kUnknown);
  EXPECT_EQ(event, RPMA_CONN_LOST);
  EXPECT_EQ(transport.live(), live);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("RDMA_CM_EVENT_ADDR_CHANGE")));
}

TEST_F(ConnectionTest, FailedAcknowledgementKeepsDataAndIsMadeUpFor) {
  const auto connection = MakeConnection();
  const size_t live = transport.live();
  rpma_conn_event event = RPMA_CONN_LOST;
  const std::vector<uint8_t> bytes = {7};
  transport.QueueCmEvent(RDMA_CM_EVENT_ESTABLISHED, bytes);
  transport.FailCall(2, Errno{EIO});
  EXPECT_EQ(connection->NextEvent(&event), Rc::kProvider);
  EXPECT_EQ(event, RPMA_CONN_LOST);
  EXPECT_EQ(connection->private_data().len, 1);
  EXPECT_EQ(transport.live(), live);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("rdma_ack_cm_event")));
}

TEST_F(ConnectionTest, WaitNeedsASharedChannel) {
  const auto connection = MakeConnection();
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(connection->Wait(&cq, nullptr), Rc::kNotSharedChannel);
  EXPECT_THAT(transport.calls(), IsEmpty());
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("rpma_cq_wait")));
}

TEST_F(SharedChannelTest, WaitSaysWhichQueueItWas) {
  const auto connection = MakeConnection();
  for (CompletionQueue* queue : {connection->cq(), connection->rcq()}) {
    transport.QueueCqEvent(queue->get());
    EXPECT_CALL(transport, AckCqEvents(queue->get(), 1));
    EXPECT_CALL(transport, ReqNotifyCq(queue->get()));
    CompletionQueue* cq = nullptr;
    bool is_rcq = queue == connection->cq();
    EXPECT_EQ(connection->Wait(&cq, &is_rcq), Rc::kOk);
    EXPECT_EQ(cq, queue);
    EXPECT_EQ(is_rcq, queue == connection->rcq());
  }
}

TEST_F(SharedChannelTest, WaitWithoutInterestInTheKindOfQueue) {
  const auto connection = MakeConnection();
  transport.QueueCqEvent(connection->rcq()->get());
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(connection->Wait(&cq, nullptr), Rc::kOk);
  EXPECT_EQ(cq, connection->rcq());
}

TEST_F(SharedChannelTest, EventOfAnUnknownQueueIsAcknowledged) {
  const auto connection = MakeConnection();
  ibv_cq foreign = {};
  transport.QueueCqEvent(&foreign);
  EXPECT_CALL(transport, AckCqEvents(&foreign, 1));
  EXPECT_CALL(transport, ReqNotifyCq).Times(0);
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(connection->Wait(&cq, nullptr), Rc::kUnknown);
  EXPECT_EQ(cq, nullptr);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(SharedChannelTest, FailedWaitLeavesTheResultsAlone) {
  const auto connection = MakeConnection();
  CompletionQueue* cq = nullptr;
  bool is_rcq = true;
  EXPECT_EQ(connection->Wait(&cq, &is_rcq), Rc::kNoCompletion);
  EXPECT_THAT(log.Take(), IsEmpty());
  transport.QueueCqEvent(connection->cq()->get());
  transport.FailMethod("ReqNotifyCq", Errno{EIO});
  EXPECT_EQ(connection->Wait(&cq, &is_rcq), Rc::kProvider);
  EXPECT_EQ(cq, nullptr);
  EXPECT_TRUE(is_rcq);
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(SharedChannelTest, WaitAfterAFailureToArmSaysOfWhichQueue) {
  const auto connection = MakeConnection();
  for (CompletionQueue* queue : {connection->cq(), connection->rcq()}) {
    transport.QueueCqEvent(queue->get());
    transport.FailMethod("ReqNotifyCq", Errno{EIO});
    CompletionQueue* cq = nullptr;
    EXPECT_EQ(connection->Wait(&cq, nullptr), Rc::kProvider);
    EXPECT_EQ(log.Take().size(), 1u);
    transport.FailMethod("ReqNotifyCq", Errno::kOk);
    transport.ForgetCalls();
    EXPECT_EQ(connection->Wait(&cq, nullptr), Rc::kOk);
    EXPECT_EQ(cq, queue);
    EXPECT_THAT(transport.calls(), ElementsAre("ReqNotifyCq"));
    EXPECT_EQ(connection->Wait(&cq, nullptr), Rc::kNoCompletion);
  }
}

TEST_F(ConnectionTest, Disconnects) {
  const auto connection = MakeConnection();
  EXPECT_EQ(connection->Disconnect(), Rc::kOk);
  transport.FailMethod("Disconnect", Errno{EINVAL});
  EXPECT_EQ(connection->Disconnect(), Rc::kProvider);
  EXPECT_THAT(transport.calls(), ElementsAre("Disconnect", "Disconnect"));
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("rdma_disconnect")));
}

TEST_F(ConnectionTest, CloseDestroysInOrder) {
  EXPECT_EQ(MakeConnection()->Close(), Rc::kOk);
  EXPECT_THAT(
      transport.calls(),
      ElementsAre("DeregMr", "DestroyQp", "DestroyCq", "DestroyCompChannel",
                  "DestroyId", "DestroyEventChannel"));
  EXPECT_EQ(transport.live(), 1u);  // the peer's domain
}

TEST_F(SharedChannelTest, CloseDestroysTheSharedChannelAfterTheId) {
  EXPECT_EQ(MakeConnection()->Close(), Rc::kOk);
  EXPECT_THAT(
      transport.calls(),
      ElementsAre("DeregMr", "DestroyQp", "DestroyCq", "DestroyCq", "DestroyId",
                  "DestroyCompChannel", "DestroyEventChannel"));
}

TEST_F(ConnectionTest, CloseGoesOnAfterAFailure) {
  for (const char* method : {"DeregMr", "DestroyQp", "DestroyCq",
                             "DestroyCompChannel", "DestroyId"}) {
    auto connection = MakeConnection();
    transport.FailMethod(method, Errno{EIO});
    EXPECT_EQ(connection->Close(), Rc::kProvider);
    connection.reset();
    EXPECT_THAT(
        transport.calls(),
        ElementsAre("DeregMr", "DestroyQp", "DestroyCq", "DestroyCompChannel",
                    "DestroyId", "DestroyEventChannel"));
    EXPECT_EQ(log.Take().size(), 1u);
    transport.FailMethod(method, Errno::kOk);
  }
}

}  // namespace
}  // namespace rpma
