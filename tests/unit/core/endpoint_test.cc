// SPDX-License-Identifier: BSD-3-Clause
//
// Endpoints: listening, and the requests that arrive.

#include "core/endpoint.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/shared_receive_queue.h"
#include "tests/unit/core/connection_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NotNull;
using ::testing::Return;

class EndpointTest : public test::ConnectionTestBase {
 protected:
  std::unique_ptr<Endpoint> Listen() {
    std::unique_ptr<Endpoint> endpoint;
    EXPECT_EQ(Endpoint::Listen(*peer, "host", "7204", &endpoint), Rc::kOk);
    transport.ForgetCalls();
    return endpoint;
  }

  Rc Next(Endpoint& endpoint,
          std::unique_ptr<ConnectionRequest>* request = nullptr) {
    std::unique_ptr<ConnectionRequest> mine;
    if (request == nullptr) request = &mine;
    const Rc rc = endpoint.NextRequest(cfg, request);
    EXPECT_EQ(*request != nullptr, rc == Rc::kOk);
    return rc;
  }
};

TEST_F(EndpointTest, ListensOnAnIdOfItsOwnChannel) {
  rdma_event_channel* channel = nullptr;
  EXPECT_CALL(transport, GetAddrInfo(_, _, true, _));
  EXPECT_CALL(transport, CreateId(NotNull(), _))
      .WillOnce([&](rdma_event_channel* its_channel, rdma_cm_id** id) {
        static rdma_cm_id its_id;
        channel = its_channel;
        *id = &its_id;
        return Errno::kOk;
      });
  EXPECT_CALL(transport, Listen(_, 0));
  EXPECT_CALL(transport, DestroyId).WillOnce(Return(Errno::kOk));
  std::unique_ptr<Endpoint> endpoint;
  ASSERT_EQ(Endpoint::Listen(*peer, "host", "7204", &endpoint), Rc::kOk);
  EXPECT_THAT(
      transport.calls(),
      ElementsAre("GetAddrInfo", "CreateEventChannel", "BindAddr", "Listen"));
  EXPECT_EQ(endpoint->fd(), channel->fd);
}

TEST_F(EndpointTest, EveryFailureToListenUnwinds) {
  EXPECT_EQ(SweepFailures<Endpoint>([&](auto* out) {
              return Endpoint::Listen(*peer, "host", "7204", out);
            }),
            5u);
}

TEST_F(EndpointTest, InvalidPortTouchesNothing) {
  std::unique_ptr<Endpoint> endpoint;
  EXPECT_EQ(Endpoint::Listen(*peer, "host", "70000", &endpoint), Rc::kInval);
  EXPECT_THAT(transport.calls(), IsEmpty());
  EXPECT_EQ(log.Take().size(), 1u);
}

TEST_F(EndpointTest, CloseDestroysTheIdThenTheChannel) {
  EXPECT_EQ(Listen()->Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(),
              ElementsAre("DestroyId", "DestroyEventChannel"));
}

TEST_F(EndpointTest, FailedCloseLeavesItListening) {
  const auto endpoint = Listen();
  transport.FailMethod("DestroyId", Errno{EIO});
  EXPECT_EQ(endpoint->Close(), Rc::kProvider);
  EXPECT_THAT(transport.calls(), ElementsAre("DestroyId"));
  EXPECT_EQ(log.Take().size(), 1u);
  transport.QueueConnectRequest();
  EXPECT_EQ(Next(*endpoint), Rc::kOk);
  transport.FailMethod("DestroyId", Errno::kOk);
  log.Take();  // the request's id could not be destroyed either
  transport.ForgetCalls();
  EXPECT_EQ(endpoint->Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(),
              ElementsAre("DestroyId", "DestroyEventChannel"));
}

TEST_F(EndpointTest, RequestLeavesTheChannelBeforeAnythingIsCreated) {
  const auto endpoint = Listen();
  rdma_cm_id* const id = transport.QueueConnectRequest({1, 2, 3});
  EXPECT_CALL(transport, MigrateId(id, NotNull()));
  std::unique_ptr<ConnectionRequest> request;
  ASSERT_EQ(Next(*endpoint, &request), Rc::kOk);
  EXPECT_THAT(
      transport.calls(),
      ElementsAre("GetCmEvent", "AckCmEvent", "CreateEventChannel", "MigrateId",
                  "CreateCompChannel", "CreateCq", "ReqNotifyCq", "CreateQp"));
  const rpma_conn_private_data pdata = request->private_data();
  ASSERT_EQ(pdata.len, 3);
  EXPECT_EQ(static_cast<const char*>(pdata.ptr)[2], 3);
}

TEST_F(EndpointTest, AcceptedOnItsOwnChannelWithItsPrivateData) {
  const auto endpoint = Listen();
  transport.QueueConnectRequest({1, 2, 3});
  std::unique_ptr<ConnectionRequest> request;
  ASSERT_EQ(Next(*endpoint, &request), Rc::kOk);
  const rpma_conn_private_data before = request->private_data();
  transport.ForgetCalls();
  std::unique_ptr<Connection> connection;
  EXPECT_EQ(
      ConnectionRequest::Connect(std::move(request), nullptr, &connection),
      Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("RegMr", "Accept"));
  EXPECT_EQ(connection->private_data().ptr, before.ptr);
  EXPECT_EQ(connection->private_data().len, 3);
}

TEST_F(EndpointTest, EveryFailureToPrepareRejectsTheRequest) {
  const auto endpoint = Listen();
  const size_t live = transport.live();
  for (size_t k = 3; k <= 8; ++k) {  // after GetCmEvent and AckCmEvent
    transport.ForgetCalls();
    transport.QueueConnectRequest();
    transport.FailCall(k, Errno{EIO});
    EXPECT_EQ(Next(*endpoint), Rc::kProvider);
    SCOPED_TRACE(transport.calls()[k - 1]);
    EXPECT_THAT(transport.calls(), Contains("Reject"));
    EXPECT_EQ(transport.live(), live);
    EXPECT_EQ(log.Take().size(), 1u);
  }
}

TEST_F(EndpointTest, EveryFailureToAcceptRejectsTheRequest) {
  const auto endpoint = Listen();
  const size_t live = transport.live();
  for (size_t k = 1; k <= 2; ++k) {
    transport.QueueConnectRequest();
    std::unique_ptr<ConnectionRequest> request;
    ASSERT_EQ(Next(*endpoint, &request), Rc::kOk);
    transport.ForgetCalls();
    transport.FailCall(k, Errno{EIO});
    std::unique_ptr<Connection> connection;
    EXPECT_EQ(
        ConnectionRequest::Connect(std::move(request), nullptr, &connection),
        Rc::kProvider);
    EXPECT_THAT(transport.calls(), Contains("Reject"));
    EXPECT_EQ(transport.live(), live);
    EXPECT_EQ(log.Take().size(), 1u);
  }
}

TEST_F(EndpointTest, FailedAcknowledgementIsMadeUpFor) {
  const auto endpoint = Listen();
  const size_t live = transport.live();
  transport.QueueConnectRequest();
  transport.FailCall(2, Errno{EIO});
  EXPECT_EQ(Next(*endpoint), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("rdma_ack_cm_event")));
  EXPECT_THAT(transport.calls(), Contains("Reject"));
  EXPECT_EQ(transport.live(), live);
}

TEST_F(EndpointTest, RefusedRequestIsRejectedAfterItsQueuesAreGone) {
  const auto endpoint = Listen();
  transport.QueueConnectRequest();
  std::unique_ptr<ConnectionRequest> request;
  ASSERT_EQ(Next(*endpoint, &request), Rc::kOk);
  transport.ForgetCalls();
  EXPECT_EQ(request->Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(),
              ElementsAre("DestroyQp", "DestroyCq", "DestroyCompChannel",
                          "Reject", "DestroyId", "DestroyEventChannel"));
}

TEST_F(EndpointTest, NothingWaitingIsNoEvent) {
  EXPECT_EQ(Next(*Listen()), Rc::kNoEvent);
  EXPECT_THAT(log.Take(), IsEmpty());
}

TEST_F(EndpointTest, OtherEventsAreAcknowledgedAndInvalid) {
  const auto endpoint = Listen();
  const size_t live = transport.live();
  transport.QueueCmEvent(RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_EQ(Next(*endpoint), Rc::kInval);
  EXPECT_EQ(transport.live(), live);
  EXPECT_THAT(log.Take(),
              ElementsAre(HasSubstr("RDMA_CM_EVENT_DEVICE_REMOVAL")));
}

TEST_F(EndpointTest, ImpossibleConfigurationTakesNoRequest) {
  const auto endpoint = Listen();
  std::unique_ptr<SharedReceiveQueue> srq;
  ASSERT_EQ(SharedReceiveQueue::Create(*peer, SrqCfg(), &srq), Rc::kOk);
  cfg.srq.set(srq.get());
  cfg.shared_channel.set(true);
  transport.QueueConnectRequest();
  transport.ForgetCalls();
  EXPECT_EQ(Next(*endpoint), Rc::kInval);
  EXPECT_THAT(transport.calls(), IsEmpty());
  EXPECT_EQ(log.Take().size(), 1u);
  cfg.shared_channel.set(false);
  EXPECT_EQ(Next(*endpoint), Rc::kOk);
}

}  // namespace
}  // namespace rpma
