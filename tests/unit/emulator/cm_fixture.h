// SPDX-License-Identifier: BSD-3-Clause
// A fabric with what connections need, for the tests of the connection manager.

#ifndef RPMA_TESTS_UNIT_EMULATOR_CM_FIXTURE_H_
#define RPMA_TESTS_UNIT_EMULATOR_CM_FIXTURE_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/completion_queue.h"
#include "emulator/connection_manager.h"
#include "emulator/device.h"
#include "emulator/fabric.h"
#include "emulator/queue_pair.h"

namespace rpma::emu {

inline constexpr int kPatienceMs = 10'000;

// A socket address, convertible to what the calls take.
class Address {
 public:
  Address(const char* ip, uint16_t port) {
    if (inet_pton(AF_INET, ip, &v4()->sin_addr) == 1) {
      v4()->sin_family = AF_INET;
      v4()->sin_port = htons(port);
    } else {
      EXPECT_EQ(inet_pton(AF_INET6, ip, &v6()->sin6_addr), 1) << ip;
      v6()->sin6_family = AF_INET6;
      v6()->sin6_port = htons(port);
    }
  }
  operator const sockaddr*() const {  // NOLINT(google-explicit-constructor)
    return reinterpret_cast<const sockaddr*>(&storage_);
  }

 private:
  sockaddr_in* v4() { return reinterpret_cast<sockaddr_in*>(&storage_); }
  sockaddr_in6* v6() { return reinterpret_cast<sockaddr_in6*>(&storage_); }
  sockaddr_storage storage_{};
};

// A CM event, copied and acknowledged.
struct Seen {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  rdma_cm_id* listen_id = nullptr;
  rdma_conn_param conn{};
  std::vector<uint8_t> data;
};

inline Seen Copy(const rdma_cm_event& event) {
  Seen seen = {.type = event.event,
               .status = event.status,
               .id = event.id,
               .listen_id = event.listen_id,
               .conn = event.param.conn,
               .data = {}};
  const auto* bytes =
      static_cast<const uint8_t*>(event.param.conn.private_data);
  if (bytes != nullptr) {
    seen.data.assign(bytes, bytes + event.param.conn.private_data_len);
  }
  return seen;
}

class Channel {
 public:
  explicit Channel(ConnectionManager& cm) : cm_(&cm) {
    EXPECT_EQ(cm.CreateEventChannel(&channel_), 0);
    EXPECT_EQ(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), 0);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() { cm_->DestroyEventChannel(channel_); }

  rdma_event_channel* get() const { return channel_; }
  int fd() const { return channel_->fd; }

  // The next event, which has to come in time.
  rdma_cm_event* Fetch() {
    rdma_cm_event* event = nullptr;
    pollfd readable = {.fd = fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&readable, 1, kPatienceMs), 1) << "no CM event came";
    EXPECT_EQ(cm_->GetEvent(channel_, &event), 0);
    return event;
  }

  Seen Next() {
    rdma_cm_event* const event = Fetch();
    if (event == nullptr) return {};
    const Seen seen = Copy(*event);
    EXPECT_EQ(cm_->AckEvent(event), 0);
    return seen;
  }

  bool IsEmpty() const {
    pollfd readable = {.fd = fd(), .events = POLLIN, .revents = 0};
    return poll(&readable, 1, 0) == 0;
  }

 private:
  ConnectionManager* cm_;
  rdma_event_channel* channel_ = nullptr;
};

// One side: an id, its channel and its QP. What is left at the end is
// destroyed.
class End {
 public:
  End(ConnectionManager& cm, rdma_cm_id* id) : cm_(&cm), channel_(cm), id_(id) {
    if (id == nullptr) {
      EXPECT_EQ(cm.CreateId(channel_.get(), &id_), 0);
    } else {
      EXPECT_EQ(cm.MigrateId(id, channel_.get()), 0);
    }
  }
  explicit End(ConnectionManager& cm) : End(cm, nullptr) {}
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() { Destroy(); }

  void Destroy() {
    if (id_ == nullptr) return;
    if (id_->qp != nullptr) {
      EXPECT_EQ(cm_->DestroyQp(id_), 0);
    }
    EXPECT_EQ(cm_->DestroyId(std::exchange(id_, nullptr)), 0);
  }

  rdma_cm_id* id() const { return id_; }
  rdma_cm_id* operator->() const { return id_; }
  Channel& channel() { return channel_; }
  QueuePair& qp() const { return *static_cast<QueuePair*>(id_->qp); }
  Seen Next() { return channel_.Next(); }

 private:
  ConnectionManager* cm_;
  Channel channel_;
  rdma_cm_id* id_;
};

class CmFixture : public testing::Test {
 protected:
  static constexpr uint16_t kPort = 7204;

  // REQUIRES: called once, before all else.
  void Start(const std::string& options) {
    std::string error;
    ASSERT_EQ(Fabric::Create(options, &fabric_, &error), 0) << error;
    device_ = fabric_->FindDevice("emu0");
    ASSERT_NE(device_, nullptr);
    ASSERT_EQ(device_->AllocPd(&pd_), 0);
    ASSERT_EQ(device_->CreateCq(1000, nullptr, &cq_), 0);
  }

  // Everything was given back.
  void TearDown() override {
    if (fabric_ == nullptr) return;
    ASSERT_EQ(device_->DestroyCq(cq_), 0);
    ASSERT_EQ(device_->DeallocPd(pd_), 0);
    const Fabric::Census census = fabric_->TakeCensus();
    EXPECT_EQ(census.cm.ids, 0u);
    EXPECT_EQ(census.cm.event_channels, 0u);
    EXPECT_EQ(census.cm.unacked_events, 0u);
    EXPECT_EQ(census.verbs.qps, 0u);
  }

  Fabric& fabric() { return *fabric_; }
  ConnectionManager& cm() { return fabric_->cm(); }
  const Profile& profile() { return device_->profile(); }
  bool iwarp() { return profile().iwarp; }

  void SetFaults(std::vector<Fault> faults) {
    std::string error;
    ASSERT_EQ(fabric_->SetFaults(std::move(faults), &error), 0) << error;
  }
  uint64_t Messages() { return fabric_->fault_counts().messages; }

  std::unique_ptr<End> NewListener(const char* ip = "127.0.0.1",
                                   uint16_t port = kPort, int backlog = 0) {
    auto listener = std::make_unique<End>(cm());
    EXPECT_EQ(cm().BindAddr(listener->id(), Address(ip, port)), 0);
    EXPECT_EQ(cm().Listen(listener->id(), backlog), 0);
    return listener;
  }

  // The options of a QP on this device's PD and CQ.
  QueuePairAttributes QpAttributes() const {
    return {.send_cq = cq_,
            .recv_cq = cq_,
            .max_send_wr = 10,
            .max_recv_wr = 10,
            .max_send_sge = 1,
            .max_recv_sge = 1,
            .max_inline_data = 8};
  }

  void GiveQp(rdma_cm_id* id) {
    ASSERT_EQ(cm().CreateQp(id, pd_, QpAttributes()), 0);
  }

  // An active end with route and QP.
  std::unique_ptr<End> NewActive(const char* ip = "127.0.0.1",
                                 uint16_t port = kPort) {
    auto active = std::make_unique<End>(cm(), NewRouted(ip, port));
    GiveQp(active->id());
    return active;
  }

  // A synchronous id with a route.
  rdma_cm_id* NewRouted(const char* ip, uint16_t port) {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(cm().CreateId(nullptr, &id), 0);
    EXPECT_EQ(cm().ResolveAddr(id, nullptr, Address(ip, port)), 0);
    EXPECT_EQ(cm().ResolveRoute(id), 0);
    return id;
  }

  // Takes the next CONNECT_REQUEST to a channel of its own, with a QP.
  std::unique_ptr<End> TakeRequest(End& listener) {
    const Seen request = listener.Next();
    EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
    auto passive = std::make_unique<End>(cm(), request.id);
    GiveQp(passive->id());
    return passive;
  }

  static rdma_conn_param Param(const std::vector<uint8_t>& data = {}) {
    rdma_conn_param param{};
    param.private_data = data.data();
    param.private_data_len = static_cast<uint8_t>(data.size());
    param.responder_resources = RDMA_MAX_RESP_RES;
    param.initiator_depth = RDMA_MAX_INIT_DEPTH;
    param.flow_control = 1;
    param.retry_count = 7;
    param.rnr_retry_count = 7;
    return param;
  }

  struct Connection {
    std::unique_ptr<End> active;
    std::unique_ptr<End> passive;
  };

  // Up to ESTABLISHED, fetched on both sides.
  Connection Connect(End& listener) {
    Connection made = Accepted(listener);
    EXPECT_EQ(made.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(made.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
    return made;
  }

  // Up to Accept(); no event of the two ends is fetched.
  Connection Accepted(End& listener) {
    Connection made = Requested(listener);
    EXPECT_EQ(cm().Accept(made.passive->id(), Param()), 0);
    return made;
  }

  // Up to the request, fetched.
  Connection Requested(End& listener) {
    Connection made;
    made.active = NewActive();
    EXPECT_EQ(cm().Connect(made.active->id(), Param()), 0);
    made.passive = TakeRequest(listener);
    return made;
  }

  std::unique_ptr<Fabric> fabric_;
  Device* device_ = nullptr;
  ProtectionDomain* pd_ = nullptr;
  CompletionQueue* cq_ = nullptr;
};

// With each of the three profiles.
class CmProfileTest : public CmFixture,
                      public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { Start("profile=" + std::string(GetParam())); }
};

inline std::string ProfileName(
    const testing::TestParamInfo<const char*>& profile) {
  return profile.param;
}

}  // namespace rpma::emu

#endif  // RPMA_TESTS_UNIT_EMULATOR_CM_FIXTURE_H_
