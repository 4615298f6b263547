// SPDX-License-Identifier: BSD-3-Clause
// A fabric with two nodes, for tests of what happens to one of them: actives
// leave from "emu0", and the node "server" owns the address they go to.

#ifndef RPMA_TESTS_UNIT_EMULATOR_TWO_NODES_H_
#define RPMA_TESTS_UNIT_EMULATOR_TWO_NODES_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {

class TwoNodes : public CmProfileTest {
 protected:
  static constexpr char kServerIp[] = "192.0.2.1";

  void SetUp() override {
    CmProfileTest::SetUp();
    std::string error;
    ASSERT_EQ(fabric().AddDevice("server", "profile=" + std::string(GetParam()),
                                 &error),
              0);
    ASSERT_EQ(fabric().AddAddress(kServerIp, "server", &error), 0);
    ASSERT_EQ(fabric().AddRoute(kServerIp, "emu0", &error), 0);
    server_ = fabric().FindDevice("server");
    ASSERT_EQ(server_->AllocPd(&server_pd_), 0);
    ASSERT_EQ(server_->CreateCq(1000, nullptr, &server_cq_), 0);
    listener_ = NewListener(kServerIp);
  }

  void TearDown() override {
    listener_.reset();
    EXPECT_EQ(server_->DestroyCq(server_cq_), 0);
    EXPECT_EQ(server_->DeallocPd(server_pd_), 0);
    CmProfileTest::TearDown();
  }

  std::unique_ptr<End> NewClient() { return NewActive(kServerIp); }

  std::unique_ptr<End> TakeRequestOnServer() {
    const Seen request = listener_->Next();
    EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
    auto passive = std::make_unique<End>(cm(), request.id);
    QueuePairAttributes attributes = QpAttributes();
    attributes.send_cq = attributes.recv_cq = server_cq_;
    EXPECT_EQ(cm().CreateQp(passive->id(), server_pd_, attributes), 0);
    return passive;
  }

  Connection RequestedOnServer() {
    Connection made;
    made.active = NewClient();
    EXPECT_EQ(cm().Connect(made.active->id(), Param()), 0);
    made.passive = TakeRequestOnServer();
    return made;
  }

  Connection ConnectedToServer() {
    Connection made = RequestedOnServer();
    EXPECT_EQ(cm().Accept(made.passive->id(), Param()), 0);
    EXPECT_EQ(made.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(made.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
    return made;
  }

  void Strike(FaultAction action, const char* device = "server") {
    Inject({.action = action, .device = device});
  }
  void Inject(const Fault& fault) {
    std::string error;
    ASSERT_EQ(fabric().Inject(fault, &error), 0) << error;
  }

  // Posts a SEND without data.
  static int Send(const End& end) {
    ibv_send_wr send{};
    send.opcode = IBV_WR_SEND;
    send.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    return end.qp().PostSend(&send, &bad);
  }
  static void Receive(const End& end) {
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(end.qp().PostRecv(&receive, &bad), 0);
  }
  // The status of the next completion, which has to come in time.
  static ibv_wc_status Await(CompletionQueue& cq) {
    ibv_wc wc{};
    wc.status = IBV_WC_SUCCESS;
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(kPatienceMs);
    while (cq.Poll(1, &wc) == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "no completion came";
        break;
      }
      std::this_thread::yield();
    }
    return wc.status;
  }
  static std::vector<ibv_event_type> AsyncEvents(Device& device) {
    std::vector<ibv_event_type> types;
    ibv_async_event event;
    while (device.GetAsyncEvent(&event) == 0) types.push_back(event.event_type);
    return types;
  }

  // What the inlines of <infiniband/verbs.h> do with a context.
  static int QueryPort(Device& device, ibv_port_attr* attributes) {
    return Verbs(device)->query_port(device.context(), 1, attributes,
                                     sizeof(*attributes));
  }
  static int QueryDevice(Device& device, ibv_device_attr_ex* attributes) {
    return Verbs(device)->query_device_ex(device.context(), nullptr, attributes,
                                          sizeof(*attributes));
  }
  static verbs_context* Verbs(Device& device) {
    return verbs_get_ctx(device.context());
  }

  Device* server_ = nullptr;
  ProtectionDomain* server_pd_ = nullptr;
  CompletionQueue* server_cq_ = nullptr;
  std::unique_ptr<End> listener_;  // on the server
};

}  // namespace rpma::emu

#endif  // RPMA_TESTS_UNIT_EMULATOR_TWO_NODES_H_
