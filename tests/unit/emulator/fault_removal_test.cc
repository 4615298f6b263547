// SPDX-License-Identifier: BSD-3-Clause
// A device is removed while a program uses it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/unit/emulator/two_nodes.h"

namespace rpma::emu {
namespace {

using testing::Contains;
using testing::HasSubstr;

using RemovalTest = TwoNodes;
INSTANTIATE_TEST_SUITE_P(Profiles, RemovalTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

// On InfiniBand and RoCE.
using RemovalRetryTest = TwoNodes;
INSTANTIATE_TEST_SUITE_P(Profiles, RemovalRetryTest,
                         testing::Values("roce", "ib"), ProfileName);

TEST_P(RemovalTest, EveryIdOfTheDeviceIsTold) {
  const Connection ends = ConnectedToServer();
  End bound(cm());
  ASSERT_EQ(cm().BindAddr(bound.id(), Address(kServerIp, 0)), 0);
  Strike(FaultAction::kRemove);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_EQ(listener_->Next().type, RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_EQ(bound.Next().type, RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_TRUE(ends.active->channel().IsEmpty());
  EXPECT_THAT(AsyncEvents(*server_), Contains(IBV_EVENT_DEVICE_FATAL));
}

TEST_P(RemovalTest, ItsQueuePairsFail) {
  const Connection ends = ConnectedToServer();
  Receive(*ends.passive);
  Strike(FaultAction::kRemove);
  EXPECT_EQ(ends.passive->qp().State(), IBV_QPS_ERR);
  EXPECT_EQ(Await(*server_cq_), IBV_WC_WR_FLUSH_ERR);
  char text[512];
  ends.passive->qp().Explain(text, sizeof(text));
  EXPECT_THAT(text, HasSubstr("the device was removed"));
}

TEST_P(RemovalTest, CallsOnItFailButItsObjectsCanBeDestroyed) {
  CompletionChannel* channel = nullptr;
  MemoryRegion* mr = nullptr;
  SharedReceiveQueue* srq = nullptr;
  ASSERT_EQ(server_->CreateCompChannel(&channel), 0);
  ASSERT_EQ(server_->CreateSrq(server_pd_, 1, 1, 0, &srq), 0);
  char byte = 0;
  ASSERT_EQ(server_->RegMr(server_pd_, &byte, 1, 0, &mr), 0);
  const Connection ends = ConnectedToServer();
  Strike(FaultAction::kRemove);

  ProtectionDomain* pd = nullptr;
  CompletionQueue* cq = nullptr;
  MemoryRegion* other_mr = nullptr;
  CompletionChannel* other_channel = nullptr;
  SharedReceiveQueue* other_srq = nullptr;
  EXPECT_EQ(server_->AllocPd(&pd), EIO);
  EXPECT_EQ(server_->CreateCq(1, nullptr, &cq), EIO);
  EXPECT_EQ(server_->RegMr(server_pd_, &byte, 1, 0, &other_mr), EIO);
  EXPECT_EQ(server_->CreateCompChannel(&other_channel), EIO);
  EXPECT_EQ(server_->CreateSrq(server_pd_, 1, 1, 0, &other_srq), EIO);
  EXPECT_EQ(server_->AdviseMr(server_pd_, IBV_ADVISE_MR_ADVICE_PREFETCH, 0,
                              nullptr, 0),
            EIO);
  ibv_device_attr_ex attributes{};
  EXPECT_EQ(QueryDevice(*server_, &attributes), EIO);
  ibv_port_attr port{};
  EXPECT_EQ(QueryPort(*server_, &port), EIO);

  EXPECT_EQ(cm().Disconnect(ends.passive->id()), EIO);
  EXPECT_EQ(cm().Accept(ends.passive->id(), Param()), EIO);
  EXPECT_EQ(cm().Reject(ends.passive->id(), nullptr, 0), EIO);
  EXPECT_EQ(cm().Connect(ends.passive->id(), Param()), EIO);
  EXPECT_EQ(cm().Listen(listener_->id(), 0), EIO);
  EXPECT_EQ(cm().DestroyQp(ends.passive->id()), 0);
  EXPECT_EQ(cm().CreateQp(ends.passive->id(), server_pd_, QpAttributes()), EIO);

  EXPECT_EQ(server_->DeregMr(mr), 0);
  EXPECT_EQ(server_->DestroySrq(srq), 0);
  EXPECT_EQ(server_->DestroyCompChannel(channel), 0);
}

TEST_P(RemovalTest, ARequestThatNobodyFetchedEndsWithTheListener) {
  const auto active = NewClient();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  Strike(FaultAction::kRemove);
  listener_.reset();
  EXPECT_EQ(cm().TakeCensus().ids, 1u) << "the active one's";
}

TEST_P(RemovalTest, NobodyFindsItAnyMore) {
  Strike(FaultAction::kRemove);
  End bound(cm());
  EXPECT_EQ(cm().BindAddr(bound.id(), Address(kServerIp, 0)), ENODEV);
  const auto active = NewClient();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_UNREACHABLE);
}

TEST_P(RemovalRetryTest, ThePeerLearnsItByItsRetries) {
  const Connection ends = ConnectedToServer();
  Strike(FaultAction::kRemove);
  ASSERT_EQ(Send(*ends.active), 0);
  EXPECT_EQ(Await(*cq_), IBV_WC_RETRY_EXC_ERR);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_EQ(ends.active->Next().status, -ETIMEDOUT);
}

TEST_P(RemovalRetryTest, ARequestToItTimesOut) {
  const Connection ends = RequestedOnServer();
  Strike(FaultAction::kRemove);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(cm().Accept(ends.passive->id(), Param()), EIO);
}

TEST_P(RemovalTest, ItHappensJustBeforeTheNthMessage) {
  SetFaults({{.action = FaultAction::kRemove, .nth = 1, .device = "server"}});
  const auto active = NewClient();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  EXPECT_EQ(listener_->Next().type, RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_UNREACHABLE);
}

TEST_P(RemovalTest, ItHappensOnce) {
  Strike(FaultAction::kRemove);
  Strike(FaultAction::kRemove);
  EXPECT_EQ(listener_->Next().type, RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_TRUE(listener_->channel().IsEmpty());
}

TEST_P(RemovalTest, TheLogTellsOfIt) {
  static std::string logged;
  logged.clear();
  fabric().SetLogSink([](int, const char* text) { logged = text; });
  Strike(FaultAction::kRemove);
  EXPECT_EQ(logged, "server: the device was removed");
}

TEST_P(RemovalTest, InjectingNeedsADevice) {
  std::string error;
  EXPECT_EQ(fabric().Inject({.action = FaultAction::kRemove}, &error), EINVAL);
  EXPECT_THAT(error, HasSubstr("no device \"\""));
}

}  // namespace
}  // namespace rpma::emu
