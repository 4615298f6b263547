// SPDX-License-Identifier: BSD-3-Clause
// Establishing connections: requests, responses, refusals, and what both sides
// see of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

using CmSetupTest = CmProfileTest;
INSTANTIATE_TEST_SUITE_P(Profiles, CmSetupTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

// Where the active side moves its own queue pair.
using CmResponseTest = CmProfileTest;
INSTANTIATE_TEST_SUITE_P(Profiles, CmResponseTest,
                         testing::Values("roce", "ib"), ProfileName);

// What a receiver sees of `sent` in a field of `size` bytes.
std::vector<uint8_t> Received(std::vector<uint8_t> sent, size_t size,
                              const Profile& profile) {
  if (profile.private_data.padded) sent.resize(size);
  return sent;
}

TEST_P(CmSetupTest, ARequestBringsAnIdThatKnowsItsConnection) {
  const auto listener = NewListener();
  listener->id()->context = this;
  const auto active = NewActive();
  rdma_conn_param param = Param({1, 2, 3, 4, 5});
  const std::vector<uint8_t> data = {1, 2, 3, 4, 5};
  param.private_data = data.data();
  param.responder_resources = 3;
  param.initiator_depth = 5;
  param.retry_count = 6;
  param.rnr_retry_count = 4;

  ASSERT_EQ(cm().Connect(active->id(), param), 0);

  const Seen request = listener->Next();
  EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(request.status, 0);
  EXPECT_EQ(request.listen_id, listener->id());
  EXPECT_EQ(request.data,
            Received(data, profile().private_data.connect, profile()));
  // rdma_get_cm_event(3): each matches the other field of the remote node.
  EXPECT_EQ(request.conn.responder_resources, 5);
  EXPECT_EQ(request.conn.initiator_depth, 3);
  EXPECT_EQ(request.conn.retry_count, 6);
  EXPECT_EQ(request.conn.rnr_retry_count, 4);
  EXPECT_EQ(request.conn.flow_control, 1);
  EXPECT_EQ(request.conn.srq, 0);
  EXPECT_EQ(request.conn.qp_num, active->qp().qp_num);

  const rdma_cm_id& id = *request.id;
  EXPECT_EQ(id.verbs, device_->context());
  EXPECT_EQ(id.channel, listener->channel().get());
  EXPECT_EQ(id.context, this);
  EXPECT_EQ(id.qp, nullptr);
  EXPECT_EQ(id.ps, RDMA_PS_TCP);
  EXPECT_EQ(id.qp_type, IBV_QPT_RC);
  EXPECT_EQ(id.port_num, 1);
  EXPECT_EQ(id.route.addr.src_sin.sin_port, htons(kPort));
  EXPECT_EQ(id.route.addr.src_sin.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  EXPECT_EQ(std::memcmp(&id.route.addr.dst_sin, &(*active)->route.addr.src_sin,
                        sizeof(sockaddr_in)),
            0);
  End passive(cm(), request.id);
}

TEST_P(CmSetupTest, AnAcceptedRequestEstablishesBothEnds) {
  const auto listener = NewListener();
  const Connection ends = Requested(*listener);
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_INIT);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_INIT);
  const std::vector<uint8_t> data = {7, 8};
  rdma_conn_param param = Param(data);
  param.rnr_retry_count = 2;

  ASSERT_EQ(cm().Accept(ends.passive->id(), param), 0);

  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_RTS);
  EXPECT_EQ(ends.active->qp().State(), iwarp() ? IBV_QPS_RTS : IBV_QPS_INIT);
  // Without iWARP the passive side waits for the RTU, which leaves when the
  // active side fetches its event.
  EXPECT_EQ(ends.passive->channel().IsEmpty(), !iwarp());

  const Seen active = ends.active->Next();
  EXPECT_EQ(active.type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(active.status, 0);
  EXPECT_EQ(active.id, ends.active->id());
  EXPECT_EQ(active.listen_id, nullptr);
  EXPECT_EQ(active.data,
            Received(data, profile().private_data.accept, profile()));
  EXPECT_EQ(active.conn.rnr_retry_count, 2);
  EXPECT_EQ(active.conn.qp_num, ends.passive->qp().qp_num);
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_RTS);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
}

TEST_P(CmSetupTest, ThePassiveSideIsEstablishedInTheEnd) {
  const auto listener = NewListener();
  const Connection ends = Accepted(*listener);
  ASSERT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);

  const Seen passive = ends.passive->Next();
  EXPECT_EQ(passive.type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(passive.status, 0);
  EXPECT_EQ(passive.id, ends.passive->id());
  EXPECT_THAT(passive.data, IsEmpty());
  EXPECT_TRUE(ends.passive->channel().IsEmpty());
}

TEST_P(CmSetupTest, WithoutPrivateDataTheReceiverSeesZerosOrNothing) {
  const auto listener = NewListener();
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  const Seen request = listener->Next();
  const bool padded = profile().private_data.padded;
  EXPECT_THAT(request.data, SizeIs(padded ? 56 : 0));
  EXPECT_THAT(request.data, Each(0));
  EXPECT_EQ(request.conn.private_data == nullptr, !padded);

  End passive(cm(), request.id);
  GiveQp(passive.id());
  ASSERT_EQ(cm().Accept(passive.id(), Param()), 0);
  const Seen established = active->Next();
  EXPECT_THAT(established.data, SizeIs(padded ? 196 : 0));
  EXPECT_THAT(established.data, Each(0));
}

TEST_P(CmSetupTest, PrivateDataUpToTheProfilesLimitIsSent) {
  const auto listener = NewListener();
  const PrivateDataLimits limits = profile().private_data;
  std::vector<uint8_t> data(256);
  std::iota(data.begin(), data.end(), uint8_t{1});
  const auto active = NewActive();
  rdma_conn_param param = Param();
  param.private_data = data.data();
  if (limits.connect < UINT8_MAX) {
    param.private_data_len = static_cast<uint8_t>(limits.connect + 1);
    EXPECT_EQ(cm().Connect(active->id(), param), EINVAL);
  }
  param.private_data_len = limits.connect;
  ASSERT_EQ(cm().Connect(active->id(), param), 0);
  const auto passive_data = [&](uint8_t length) {
    return std::vector<uint8_t>(data.begin(), data.begin() + length);
  };
  const Seen request = listener->Next();
  EXPECT_EQ(request.data, passive_data(limits.connect));

  End passive(cm(), request.id);
  GiveQp(passive.id());
  if (limits.reject < UINT8_MAX) {
    EXPECT_EQ(cm().Reject(passive.id(), data.data(),
                          static_cast<uint8_t>(limits.reject + 1)),
              EINVAL);
  }
  if (limits.accept < UINT8_MAX) {
    param.private_data_len = static_cast<uint8_t>(limits.accept + 1);
    EXPECT_EQ(cm().Accept(passive.id(), param), EINVAL);
    EXPECT_EQ(passive.qp().State(), IBV_QPS_INIT);
  }
  param.private_data_len = limits.accept;
  ASSERT_EQ(cm().Accept(passive.id(), param), 0);
  EXPECT_EQ(active->Next().data, passive_data(limits.accept));
}

TEST_P(CmSetupTest, DepthsOf255AreCutToTheDeviceAndToThePeer) {
  const auto listener = NewListener();
  const auto active = NewActive();
  rdma_conn_param param = Param();
  param.initiator_depth = 2;
  ASSERT_EQ(cm().Connect(active->id(), param), 0);
  const Seen request = listener->Next();
  EXPECT_EQ(request.conn.responder_resources, 2);
  EXPECT_EQ(request.conn.initiator_depth, profile().limits.max_qp_rd_atom);

  End passive(cm(), request.id);
  GiveQp(passive.id());
  param = Param();
  param.initiator_depth = 1;
  ASSERT_EQ(cm().Accept(passive.id(), param), 0);
  const Seen established = active->Next();
  EXPECT_EQ(established.conn.initiator_depth, 2);      // of 255: what is asked
  EXPECT_EQ(established.conn.responder_resources, 1);  // as accepted
}

TEST_P(CmSetupTest, DepthsBeyondTheDeviceAreRefused) {
  const auto listener = NewListener();
  const auto active = NewActive();
  rdma_conn_param param = Param();
  param.initiator_depth =
      static_cast<uint8_t>(profile().limits.max_qp_init_rd_atom + 1);
  EXPECT_EQ(cm().Connect(active->id(), param), EINVAL);
  param = Param();
  param.responder_resources =
      static_cast<uint8_t>(profile().limits.max_qp_rd_atom + 1);
  EXPECT_EQ(cm().Connect(active->id(), param), EINVAL);
  EXPECT_TRUE(listener->channel().IsEmpty());
}

TEST_P(CmSetupTest, WhereNobodyListensTheRequestIsRejected) {
  const auto active = NewActive();

  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);

  EXPECT_EQ(active->qp().State(), IBV_QPS_INIT);
  const Seen rejected = active->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, iwarp() ? -ECONNREFUSED : 8);
  EXPECT_EQ(active->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(cm().Disconnect(active->id()), 0);
  EXPECT_EQ(cm().Connect(active->id(), Param()), EINVAL);
}

TEST_P(CmSetupTest, ABoundIdThatDoesNotListenIsNobody) {
  End bound(cm());
  ASSERT_EQ(cm().BindAddr(bound.id(), Address("127.0.0.1", kPort)), 0);
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_P(CmSetupTest, ARefusedRequestIsRejectedWithPrivateData) {
  const auto listener = NewListener();
  const Connection ends = Requested(*listener);
  const std::vector<uint8_t> data = {9, 8, 7};

  ASSERT_EQ(cm().Reject(ends.passive->id(), data.data(), 3), 0);

  const Seen rejected = ends.active->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, iwarp() ? -ECONNRESET : 28);
  EXPECT_EQ(rejected.data,
            Received(data, profile().private_data.reject, profile()));
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(cm().Reject(ends.passive->id(), nullptr, 0), EINVAL);
  EXPECT_EQ(cm().Accept(ends.passive->id(), Param()), EINVAL);
}

TEST_P(CmSetupTest, ABacklogBoundsTheRequestsThatNobodyHasFetched) {
  const auto listener = NewListener("127.0.0.1", kPort, /*backlog=*/2);
  const auto first = NewActive();
  const auto second = NewActive();
  const auto third = NewActive();
  ASSERT_EQ(cm().Connect(first->id(), Param()), 0);
  ASSERT_EQ(cm().Connect(second->id(), Param()), 0);

  ASSERT_EQ(cm().Connect(third->id(), Param()), 0);
  const Seen rejected = third->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, iwarp() ? -ECONNRESET : 28);

  const auto taken = TakeRequest(*listener);
  const auto fourth = NewActive();
  ASSERT_EQ(cm().Connect(fourth->id(), Param()), 0);
  EXPECT_TRUE(fourth->channel().IsEmpty());
}

TEST_P(CmSetupTest, AHostThatNeverAnswersIsUnreachable) {
  std::string error;
  ASSERT_EQ(fabric().AddRoute("192.0.2.1", "emu0", &error), 0) << error;
  const auto active = NewActive("192.0.2.1");

  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);

  const Seen unreachable = active->Next();
  EXPECT_EQ(unreachable.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(unreachable.status, -ETIMEDOUT);
  EXPECT_EQ(active->qp().State(), IBV_QPS_INIT);
}

TEST_P(CmSetupTest, ARequestThatWaitsForItsAnswerDoesNotTimeOut) {
  std::string error;
  ASSERT_EQ(fabric().AddRoute("192.0.2.1", "emu0", &error), 0) << error;
  const auto listener = NewListener();
  const Connection ends = Requested(*listener);
  // The silent host's connection, begun later, has passed all its retries.
  const auto silent = NewActive("192.0.2.1");
  ASSERT_EQ(cm().Connect(silent->id(), Param()), 0);
  ASSERT_EQ(silent->Next().type, RDMA_CM_EVENT_UNREACHABLE);

  EXPECT_TRUE(ends.active->channel().IsEmpty());
  ASSERT_EQ(cm().Accept(ends.passive->id(), Param()), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
}

TEST_P(CmSetupTest, ConnectingNeedsARouteAChannelAndAQueuePair) {
  const auto listener = NewListener();
  End unresolved(cm());
  EXPECT_EQ(cm().Connect(unresolved.id(), Param()), EINVAL);

  rdma_cm_id* synchronous = NewRouted("127.0.0.1", kPort);
  GiveQp(synchronous);
  EXPECT_EQ(cm().Connect(synchronous, Param()), EINVAL);
  End moved(cm(), synchronous);
  EXPECT_EQ(cm().Connect(moved.id(), Param()), 0);

  End without_qp(cm(), NewRouted("127.0.0.1", kPort));
  EXPECT_EQ(cm().Connect(without_qp.id(), Param()), EINVAL);
}

TEST_P(CmSetupTest, AcceptingNeedsARequestAChannelAndAQueuePair) {
  const auto listener = NewListener();
  EXPECT_EQ(cm().Accept(listener->id(), Param()), EINVAL);
  EXPECT_EQ(cm().Reject(listener->id(), nullptr, 0), EINVAL);
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  rdma_cm_id* const id = listener->Next().id;
  EXPECT_EQ(cm().Accept(id, Param()), EINVAL);
  GiveQp(id);
  ASSERT_EQ(cm().MigrateId(id, nullptr), 0);
  EXPECT_EQ(cm().Accept(id, Param()), EINVAL);
  End passive(cm(), id);
  EXPECT_EQ(cm().Accept(passive.id(), Param()), 0);
  EXPECT_EQ(cm().Accept(passive.id(), Param()), EINVAL);
}

TEST_P(CmResponseTest, AQueuePairThatCannotBeConnectedIsAConnectError) {
  const auto listener = NewListener();
  const Connection ends = Accepted(*listener);
  ASSERT_EQ(ends.active->qp().ToError(), 0);

  const Seen failed = ends.active->Next();
  EXPECT_EQ(failed.type, RDMA_CM_EVENT_CONNECT_ERROR);
  EXPECT_EQ(failed.status, -EINVAL);
  const Seen rejected = ends.passive->Next();
  EXPECT_EQ(rejected.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, 28);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(cm().Disconnect(ends.passive->id()), 0);
}

TEST_P(CmSetupTest, AcceptFailsIfAQueuePairCannotBeConnected) {
  const auto listener = NewListener();
  const Connection ends = Requested(*listener);
  const End& broken = iwarp() ? *ends.active : *ends.passive;
  ASSERT_EQ(broken.qp().ToError(), 0);

  EXPECT_EQ(cm().Accept(ends.passive->id(), Param()), EINVAL);

  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  EXPECT_EQ(cm().Reject(ends.passive->id(), nullptr, 0), 0);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_P(CmSetupTest, OneThreadMaySendAsSoonAsBothAreEstablished) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  ibv_recv_wr receive{};
  receive.wr_id = 1;
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(ends.passive->qp().PostRecv(&receive, &bad_receive), 0);
  ibv_send_wr send{};
  send.wr_id = 2;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad_send = nullptr;

  ASSERT_EQ(ends.active->qp().PostSend(&send, &bad_send), 0);

  ibv_wc wc[2];
  ASSERT_EQ(cq_->Poll(2, wc), 2);
  EXPECT_THAT((std::vector<uint64_t>{wc[0].wr_id, wc[1].wr_id}),
              testing::UnorderedElementsAre(1, 2));
  EXPECT_EQ(wc[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc[1].status, IBV_WC_SUCCESS);
}

TEST_P(CmSetupTest, DevicesOfDifferentKindsDoNotConnect) {
  std::string error;
  ASSERT_EQ(fabric().AddDevice(
                "other", iwarp() ? "profile=roce" : "profile=iwarp", &error),
            0);
  ASSERT_EQ(fabric().AddAddress("192.0.2.7", "other", &error), 0);
  const auto listener = NewListener("0.0.0.0");
  End active(cm());
  ASSERT_EQ(cm().BindAddr(active.id(), Address("127.0.0.1", 0)), 0);
  ASSERT_EQ(cm().ResolveAddr(active.id(), nullptr, Address("192.0.2.7", kPort)),
            0);
  ASSERT_EQ(active.Next().type, RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_EQ(cm().ResolveRoute(active.id()), 0);
  ASSERT_EQ(active.Next().type, RDMA_CM_EVENT_ROUTE_RESOLVED);
  GiveQp(active.id());

  static std::string logged;
  fabric().SetLogSink([](int, const char* text) { logged = text; });

  ASSERT_EQ(cm().Connect(active.id(), Param()), 0);

  EXPECT_EQ(active.Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_TRUE(listener->channel().IsEmpty());
  EXPECT_THAT(logged,
              testing::HasSubstr(iwarp() ? "comes from an iWARP device"
                                         : "the device there is an iWARP one"));
}

TEST_P(CmSetupTest, AWildcardListenerAcceptsOnEveryDevice) {
  std::string error;
  ASSERT_EQ(
      fabric().AddDevice("emu1", "profile=" + std::string(GetParam()), &error),
      0);
  ASSERT_EQ(fabric().AddAddress("192.0.2.8", "emu1", &error), 0);
  const auto listener = NewListener("0.0.0.0");
  EXPECT_EQ((*listener)->verbs, nullptr);
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  const auto passive = TakeRequest(*listener);
  EXPECT_EQ((*passive)->verbs, device_->context());

  Device* const emu1 = fabric().FindDevice("emu1");
  ProtectionDomain* pd = nullptr;
  CompletionQueue* cq = nullptr;
  ASSERT_EQ(emu1->AllocPd(&pd), 0);
  ASSERT_EQ(emu1->CreateCq(10, nullptr, &cq), 0);
  {
    End other(cm(), NewRouted("192.0.2.8", kPort));
    EXPECT_EQ(other->verbs, emu1->context());
    QueuePairAttributes attributes = QpAttributes();
    EXPECT_EQ(cm().CreateQp(other.id(), pd_, attributes), EINVAL);
    attributes.send_cq = attributes.recv_cq = cq;
    ASSERT_EQ(cm().CreateQp(other.id(), pd, attributes), 0);
    ASSERT_EQ(cm().Connect(other.id(), Param()), 0);
    const Seen request = listener->Next();
    EXPECT_EQ(request.id->verbs, emu1->context());
    End unanswered(cm(), request.id);
  }
  EXPECT_EQ(emu1->DestroyCq(cq), 0);
  EXPECT_EQ(emu1->DeallocPd(pd), 0);
}

}  // namespace
}  // namespace rpma::emu
