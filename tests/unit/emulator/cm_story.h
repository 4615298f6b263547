// SPDX-License-Identifier: BSD-3-Clause
// A client and a server, of one process or of two, and what each of them sees.

#ifndef RPMA_TESTS_UNIT_EMULATOR_CM_STORY_H_
#define RPMA_TESTS_UNIT_EMULATOR_CM_STORY_H_

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/emulator/cm_fixture.h"
#include "tests/unit/emulator/queue_link.h"

namespace rpma::emu {

enum Side { kClient, kServer };

// A fabric, what a QP needs of it, and the ports that it claims.
class Node final : public FarPorts {
 public:
  Node(const std::string& options, const char* device_name,
       std::shared_ptr<Fabric> fabric = nullptr)
      : fabric_(std::move(fabric)) {
    std::string error;
    if (fabric_ == nullptr) {
      std::unique_ptr<Fabric> made;
      EXPECT_EQ(Fabric::Create(options, &made, &error), 0) << error;
      fabric_ = std::move(made);
    }
    device_ = fabric_->FindDevice(device_name);
    EXPECT_EQ(device_->AllocPd(&pd_), 0);
    EXPECT_EQ(device_->CreateCq(1000, nullptr, &cq_), 0);
  }
  ~Node() override {
    EXPECT_EQ(device_->DestroyCq(cq_), 0);
    EXPECT_EQ(device_->DeallocPd(pd_), 0);
    const Fabric::Census census = fabric_->TakeCensus();
    EXPECT_EQ(census.cm.ids, 0u);
    EXPECT_EQ(census.cm.unacked_events, 0u);
    EXPECT_EQ(census.cm.far_ids, 0u);
    EXPECT_EQ(claims_.size(), 0u);
  }

  // Connects it to `peer` over `link`.
  void Join(Node& peer, std::shared_ptr<FarLink> link) {
    peer_ = &peer;
    link_ = std::move(link);
    cm().SetFarPorts(this);
  }

  Found Find(const sockaddr& address, std::shared_ptr<FarLink>* link) override {
    if (!peer_->claims_.contains(PortOf(address))) return Found::kNobody;
    if (is_stopped) return Found::kNoAnswer;
    *link = link_;
    return Found::kLink;
  }
  int Claim(const sockaddr& address) override {
    if (peer_->claims_.contains(PortOf(address))) return EADDRINUSE;
    ++claims_[PortOf(address)];
    return 0;
  }
  void Release(const sockaddr& address) override {
    EXPECT_EQ(claims_.erase(PortOf(address)), 1u);
  }

  Fabric& fabric() { return *fabric_; }
  const std::shared_ptr<Fabric>& shared() { return fabric_; }
  ConnectionManager& cm() { return fabric_->cm(); }
  Device& device() { return *device_; }
  void GiveQp(rdma_cm_id* id) {
    EXPECT_EQ(cm().CreateQp(id, pd_,
                            {.send_cq = cq_,
                             .recv_cq = cq_,
                             .max_send_wr = 10,
                             .max_recv_wr = 10,
                             .max_send_sge = 1,
                             .max_recv_sge = 1}),
              0);
  }

  bool is_stopped = false;  // the peer

 private:
  static uint16_t PortOf(const sockaddr& address) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }

  std::shared_ptr<Fabric> fabric_;
  Device* device_ = nullptr;
  ProtectionDomain* pd_ = nullptr;
  CompletionQueue* cq_ = nullptr;
  Node* peer_ = nullptr;
  std::shared_ptr<FarLink> link_;
  std::map<uint16_t, int> claims_;
};

// Everything that is done, and everything that comes of it, is a line of the
// transcript of its side.
class Story {
 public:
  static constexpr uint16_t kPort = 7204;

  Story(const std::string& profile, bool is_far)
      : Story(profile, profile, is_far) {}
  Story(const std::string& profile, const std::string& server_profile,
        bool is_far)
      : is_far_(is_far) {
    const std::string options = "profile=" + server_profile;
    nodes_[kClient] = std::make_unique<Node>("profile=" + profile, "emu0");
    if (is_far) {
      nodes_[kServer] = std::make_unique<Node>(options, "emu0");
      nodes_[kClient]->Join(*nodes_[kServer], links_[kClient]);
      nodes_[kServer]->Join(*nodes_[kClient], links_[kServer]);
    } else {
      AddServer(options);
    }
    channels_[kClient] = std::make_unique<Channel>(cm(kClient));
    channels_[kServer] = std::make_unique<Channel>(cm(kServer));
  }
  ~Story() {
    for (const Side side : {kClient, kServer}) {
      Destroy(side);
      for (rdma_cm_id* const id : others_[side]) DestroyId(side, id);
    }
    StopListening();
    Pump();
  }

  bool iwarp() { return nodes_[kClient]->device().profile().iwarp; }
  bool is_far() const { return is_far_; }
  ConnectionManager& cm(Side side) { return nodes_[side]->cm(); }
  Fabric& fabric(Side side) { return nodes_[side]->fabric(); }
  Node& node(Side side) { return *nodes_[side]; }
  QueueLink& link(Side side) { return *links_[side]; }
  rdma_cm_id* id(Side side) { return ids_[side]; }
  const std::vector<std::string>& lines(Side side) { return lines_[side]; }

  void Listen(int backlog = 0) {
    EXPECT_EQ(cm(kServer).CreateId(channels_[kServer]->get(), &listener_), 0);
    EXPECT_EQ(cm(kServer).BindAddr(listener_, Address(ip(), kPort)), 0);
    EXPECT_EQ(cm(kServer).Listen(listener_, backlog), 0);
  }
  void StopListening() {
    if (listener_ == nullptr) return;
    EXPECT_EQ(cm(kServer).DestroyId(std::exchange(listener_, nullptr)), 0);
    Pump();
  }

  // The client's id becomes one that has asked; the one before lives on.
  void Connect(const std::vector<uint8_t>& data = {}) {
    if (ids_[kClient] != nullptr) others_[kClient].push_back(ids_[kClient]);
    ConnectionManager& manager = cm(kClient);
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(manager.CreateId(nullptr, &id), 0);
    EXPECT_EQ(manager.ResolveAddr(id, nullptr, Address(ip(), kPort)), 0);
    EXPECT_EQ(manager.ResolveRoute(id), 0);
    EXPECT_EQ(manager.MigrateId(id, channels_[kClient]->get()), 0);
    nodes_[kClient]->GiveQp(id);
    ids_[kClient] = id;
    rdma_conn_param param = Param(data);
    param.responder_resources = 3;
    param.initiator_depth = 5;
    param.retry_count = 6;
    param.rnr_retry_count = 4;
    Say(kClient, "connects", manager.Connect(id, param));
  }
  void Accept(const std::vector<uint8_t>& data = {}) {
    rdma_conn_param param = Param(data);
    param.responder_resources = 2;
    param.rnr_retry_count = 5;
    param.flow_control = 0;
    Say(kServer, "accepts", cm(kServer).Accept(ids_[kServer], param));
  }
  void Reject(const std::vector<uint8_t>& data) {
    Say(kServer, "rejects",
        cm(kServer).Reject(ids_[kServer], data.data(),
                           static_cast<uint8_t>(data.size())));
  }
  void Disconnect(Side side) {
    Say(side, "disconnects", cm(side).Disconnect(ids_[side]));
  }
  void Destroy(Side side) {
    if (ids_[side] == nullptr) return;
    DestroyId(side, std::exchange(ids_[side], nullptr));
    lines_[side].emplace_back("destroys its id");
  }

  bool HasEvent(Side side) { return !channels_[side]->IsEmpty(); }
  // Fetches the next event, which has to come in time.
  void See(Side side, int count = 1) {
    for (; count > 0; --count) {
      Await(side);
      Note(side, channels_[side]->Next());
    }
  }
  // The server's id becomes that of the request.
  void SeeRequest() {
    Await(kServer);
    const Seen seen = channels_[kServer]->Next();
    if (ids_[kServer] != nullptr) others_[kServer].push_back(ids_[kServer]);
    ids_[kServer] = seen.id;
    nodes_[kServer]->GiveQp(seen.id);
    Note(kServer, seen);
  }
  // Fetches what is there, and notes the states of the QPs.
  void SeeTheRest() {
    Pump();
    for (const Side side : {kClient, kServer}) {
      if (has_ended_[side]) continue;
      for (Seen seen; Fetch(side, &seen); Pump()) Note(side, seen);
      if (ids_[side] == nullptr || ids_[side]->qp == nullptr) continue;
      lines_[side].push_back("has a QP in state " +
                             std::to_string(Qp(side).State()));
    }
  }
  QueuePair& Qp(Side side) { return *static_cast<QueuePair*>(ids_[side]->qp); }

  // Up to the request, fetched; up to Accept(); up to both ends' ESTABLISHED.
  void Request() {
    Listen();
    Connect({1, 2, 3});
    SeeRequest();
  }
  void RequestAndAccept() {
    Request();
    Accept({4, 5});
  }
  void Establish() {
    RequestAndAccept();
    See(kClient);
    See(kServer);
  }

  void SetFaults(const std::vector<Fault>& faults) {
    for (const Side side : {kClient, kServer}) {
      std::string error;
      EXPECT_EQ(fabric(side).SetFaults(faults, &error), 0) << error;
    }
  }
  // To an address that only the server's fabric owns.
  void MoveServer() {
    is_remote_ = true;
    std::string error;
    EXPECT_EQ(fabric(kServer).AddAddress(ip(), "emu0", &error), 0) << error;
    EXPECT_EQ(fabric(kClient).AddRoute(ip(), "emu0", &error), 0) << error;
  }
  // The process of a side ends. What it has is destroyed, but nobody hears.
  void End(Side side) {
    const Side survivor = side == kClient ? kServer : kClient;
    if (is_far_) {
      Pump();
      for (const auto& link : links_) link->Kill();
      cm(survivor).OnEnd(*links_[survivor]);
      cm(side).OnEnd(*links_[side]);
    } else {
      std::string error;
      EXPECT_EQ(fabric(side).Inject({.action = FaultAction::kExit,
                                     .device = nodes_[side]->device().name()},
                                    &error),
                0);
    }
    for (Seen seen; Fetch(side, &seen);) {
    }
    has_ended_[side] = true;
    lines_[side].clear();
  }

  // Until nothing is under way between the processes.
  void Pump() {
    if (!is_far_) return;
    while (PumpOne(kClient) || PumpOne(kServer)) {
    }
  }
  // Lets the first message of `from` arrive.
  bool PumpOne(Side from) {
    const Side to = from == kClient ? kServer : kClient;
    return links_[from]->PumpOne(
        *links_[to], [this, to](FarLink& link, const wire::Message& message,
                                std::span<const std::byte> payload) {
          cm(to).OnCm(link, message.cm, payload);
        });
  }

  // Waits until this many messages of the CM were sent since SetFaults().
  void AwaitMessages(Side side, uint64_t count) {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(kPatienceMs);
    while (fabric(side).fault_counts().messages < count) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }
  // Waits for an event, pumping.
  void Await(Side side) {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(kPatienceMs);
    for (Pump(); channels_[side]->IsEmpty(); Pump()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "no event came";
      pollfd readable = {
          .fd = channels_[side]->fd(), .events = POLLIN, .revents = 0};
      poll(&readable, 1, 1);
    }
  }

 private:
  // False: there is none.
  bool Fetch(Side side, Seen* seen) {
    rdma_cm_event* event = nullptr;
    if (cm(side).GetEvent(channels_[side]->get(), &event) != 0) return false;
    *seen = Copy(*event);
    EXPECT_EQ(cm(side).AckEvent(event), 0);
    if (seen->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      others_[side].push_back(seen->id);
    }
    return true;
  }
  void AddServer(const std::string& options) {
    is_remote_ = true;
    Fabric& fabric = nodes_[kClient]->fabric();
    std::string error;
    EXPECT_EQ(fabric.AddDevice("server", options, &error), 0);
    EXPECT_EQ(fabric.AddAddress(ip(), "server", &error), 0);
    EXPECT_EQ(fabric.AddRoute(ip(), "emu0", &error), 0);
    nodes_[kServer] =
        std::make_unique<Node>(options, "server", nodes_[kClient]->shared());
  }
  const char* ip() const { return is_remote_ ? "192.0.2.1" : "127.0.0.1"; }

  static rdma_conn_param Param(const std::vector<uint8_t>& data) {
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
  void Say(Side side, const char* what, int result) {
    lines_[side].push_back(std::string(what) + ": " + std::to_string(result));
  }
  void DestroyId(Side side, rdma_cm_id* id) {
    if (id->qp != nullptr) {
      EXPECT_EQ(cm(side).DestroyQp(id), 0);
    }
    EXPECT_EQ(cm(side).DestroyId(id), 0);
  }
  void Note(Side side, const Seen& seen) {
    std::string line = "sees " + std::to_string(seen.type) + ", status " +
                       std::to_string(seen.status) + ", depths " +
                       std::to_string(seen.conn.responder_resources) + " " +
                       std::to_string(seen.conn.initiator_depth) +
                       ", retries " + std::to_string(seen.conn.retry_count) +
                       " " + std::to_string(seen.conn.rnr_retry_count) +
                       ", flow control " +
                       std::to_string(seen.conn.flow_control) + ", SRQ " +
                       std::to_string(seen.conn.srq) + ", QP " +
                       (seen.conn.qp_num != 0 ? "yes" : "no") + ", data";
    for (const uint8_t byte : seen.data) line += " " + std::to_string(byte);
    lines_[side].push_back(std::move(line));
  }

  const bool is_far_;
  bool is_remote_ = false;
  const std::array<std::shared_ptr<QueueLink>, 2> links_ = {
      std::make_shared<QueueLink>(), std::make_shared<QueueLink>()};
  std::array<std::unique_ptr<Node>, 2> nodes_;
  std::array<std::unique_ptr<Channel>, 2> channels_;
  std::array<rdma_cm_id*, 2> ids_{};
  std::array<std::vector<rdma_cm_id*>, 2> others_;
  rdma_cm_id* listener_ = nullptr;
  std::array<bool, 2> has_ended_{};
  std::array<std::vector<std::string>, 2> lines_;
};

// What happens in a story.
struct Plot {
  const char* name;
  void (*tell)(Story& story);

  friend void PrintTo(const Plot& plot, std::ostream* out) {
    *out << plot.name;
  }
};

// With each profile, each plot.
class CmPlotTest
    : public testing::TestWithParam<std::tuple<const char*, Plot>> {
 protected:
  // The survivors see between two processes what they see within one.
  static void Compare() {
    const auto& [profile, plot] = GetParam();
    Story near(profile, /*is_far=*/false);
    Story far(profile, /*is_far=*/true);
    for (Story* const story : {&near, &far}) {
      plot.tell(*story);
      story->SeeTheRest();
    }
    EXPECT_EQ(near.lines(kClient), far.lines(kClient));
    EXPECT_EQ(near.lines(kServer), far.lines(kServer));
  }
};

inline std::string PlotName(
    const testing::TestParamInfo<CmPlotTest::ParamType>& plot) {
  return std::string(std::get<0>(plot.param)) + "_" +
         std::get<1>(plot.param).name;
}

}  // namespace rpma::emu

#endif  // RPMA_TESTS_UNIT_EMULATOR_CM_STORY_H_
