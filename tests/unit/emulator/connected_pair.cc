// SPDX-License-Identifier: BSD-3-Clause
// Two connected queue pairs for tests of the data path.

#include "tests/unit/emulator/connected_pair.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

namespace rpma::emu {

TestEnvironment::TestEnvironment(int divisor, std::optional<uint64_t> seed)
    : divisor_(divisor),
      timers_(seed.has_value() ? ClockKind::kVirtual : ClockKind::kReal) {
  if (!seed.has_value()) return;
  scheduler_.emplace(*seed, timers_,
                     [this](int level, const char* text) { Log(level, text); });
}

std::vector<uint32_t> TestEnvironment::failed_qps() const {
  const std::lock_guard lock(mutex_);
  return failed_qps_;
}

std::vector<TestEnvironment::LogLine> TestEnvironment::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

void TestEnvironment::QueuePairFailed(uint32_t qp_num) {
  const std::lock_guard lock(mutex_);
  failed_qps_.push_back(qp_num);
}

void TestEnvironment::Log(int level, const char* text) {
  const std::lock_guard lock(mutex_);
  log_.push_back({level, text});
}

End::End(const char* name, uint32_t index, const PairOptions& options,
         TestEnvironment& environment)
    : device(name, options.profile, index, environment), options_(options) {
  EXPECT_EQ(device.AllocPd(&pd), 0);
  EXPECT_EQ(device.RegMr(pd, memory_.data(), kSize, kAllAccess, &mr), 0);
  EXPECT_EQ(device.CreateCompChannel(&channel), 0);
  EXPECT_EQ(device.CreateCq(options.send_cqe, nullptr, &send_cq), 0);
  EXPECT_EQ(device.CreateCq(options.recv_cqe, channel, &recv_cq), 0);
  if (options.with_srq) {
    EXPECT_EQ(device.CreateSrq(pd, options.max_wr, options.max_sge,
                               options.srq_limit, &srq),
              0);
  }
  qp = MakeQp();
}

End::~End() {
  if (qp != nullptr) DestroyQp();
  if (srq != nullptr) {
    EXPECT_EQ(device.DestroySrq(srq), 0);
  }
  EXPECT_EQ(device.DestroyCq(send_cq), 0);
  EXPECT_EQ(device.DestroyCq(recv_cq), 0);
  EXPECT_EQ(device.DestroyCompChannel(channel), 0);
  if (mr != nullptr) {
    EXPECT_EQ(device.DeregMr(mr), 0);
  }
  EXPECT_EQ(device.DeallocPd(pd), 0);
  const ObjectCensus census = device.Census();
  EXPECT_EQ(census.pds + census.mrs + census.comp_channels + census.cqs +
                census.srqs + census.qps,
            0u);
}

uint64_t End::Address(size_t offset) const {
  return reinterpret_cast<uint64_t>(memory_.data()) + offset;
}

ibv_sge End::Sge(size_t offset, uint32_t length) const {
  return {Address(offset), length, mr->lkey};
}

std::string End::Text(size_t offset, size_t length) const {
  return std::string(memory_.data() + offset, length);
}

void End::SetText(size_t offset, const std::string& text) {
  std::memcpy(memory_.data() + offset, text.data(), text.size());
}

int End::Recv(uint64_t wr_id, size_t offset, uint32_t length) {
  ibv_sge sge = Sge(offset, length);
  ibv_recv_wr wr{
      .wr_id = wr_id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  const int error =
      srq != nullptr ? srq->PostRecv(&wr, &bad) : qp->PostRecv(&wr, &bad);
  MakeProgress();
  return error;
}

int End::Send(uint64_t wr_id, size_t offset, uint32_t length, unsigned flags) {
  ibv_sge sge = Sge(offset, length);
  return Post(Request(wr_id, IBV_WR_SEND, &sge, flags));
}

int End::Write(uint64_t wr_id, size_t offset, uint32_t length, const End& to,
               size_t to_offset, unsigned flags) {
  ibv_sge sge = Sge(offset, length);
  return Post(
      RdmaRequest(wr_id, IBV_WR_RDMA_WRITE, &sge, flags, to, to_offset));
}

int End::Read(uint64_t wr_id, size_t offset, uint32_t length, const End& from,
              size_t from_offset, unsigned flags) {
  ibv_sge sge = Sge(offset, length);
  return Post(
      RdmaRequest(wr_id, IBV_WR_RDMA_READ, &sge, flags, from, from_offset));
}

int End::Post(ibv_send_wr wr) {
  ibv_send_wr* bad = nullptr;
  const int error = qp->PostSend(&wr, &bad);
  MakeProgress();
  return error;
}

void End::MakeProgress() {
  Progress* const progress = device.environment().progress();
  if (progress != nullptr) progress->Poll();
}

ibv_send_wr End::Request(uint64_t wr_id, ibv_wr_opcode opcode, ibv_sge* sge,
                         unsigned flags) {
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = sge;
  wr.num_sge = sge == nullptr ? 0 : 1;
  wr.opcode = opcode;
  wr.send_flags = flags;
  return wr;
}

ibv_send_wr End::RdmaRequest(uint64_t wr_id, ibv_wr_opcode opcode, ibv_sge* sge,
                             unsigned flags, const End& to, size_t to_offset) {
  ibv_send_wr wr = Request(wr_id, opcode, sge, flags);
  wr.wr.rdma.remote_addr = to.Address(to_offset);
  wr.wr.rdma.rkey = to.mr->rkey;
  return wr;
}

std::vector<ibv_wc> End::Poll(CompletionQueue& cq) {
  std::vector<ibv_wc> polled;
  ibv_wc wc;
  while (cq.Poll(1, &wc) == 1) polled.push_back(wc);
  return polled;
}

ibv_wc End::Await(CompletionQueue& cq) {
  ibv_wc wc = MakeCompletion(0, IBV_WC_GENERAL_ERR, 0);
  EXPECT_TRUE(Eventually([&] { return cq.Poll(1, &wc) == 1; }));
  return wc;
}

std::vector<ibv_event_type> End::AsyncEvents() {
  MakeProgress();
  std::vector<ibv_event_type> types;
  ibv_async_event event;
  while (device.GetAsyncEvent(&event) == 0) types.push_back(event.event_type);
  return types;
}

std::string End::Explanation() const {
  char text[512];
  qp->Explain(text, sizeof(text));
  return text;
}

std::shared_ptr<QueuePair> End::MakeQp() {
  const QueuePairAttributes attributes = {
      .send_cq = send_cq,
      .recv_cq = recv_cq,
      .srq = srq,
      .max_send_wr = options_.max_wr,
      .max_recv_wr = options_.max_wr,
      .max_send_sge = options_.max_sge,
      .max_recv_sge = options_.max_sge,
      .max_inline_data = options_.max_inline_data,
      .sq_sig_all = options_.sq_sig_all,
  };
  std::shared_ptr<QueuePair> made;
  EXPECT_EQ(device.CreateQp(pd, attributes, &made), 0);
  EXPECT_EQ(made->State(), IBV_QPS_RESET);
  EXPECT_EQ(made->ToInit(), 0);
  return made;
}

void End::DestroyQp() {
  EXPECT_EQ(device.DestroyQp(qp.get()), 0);
  qp.reset();
}

void Connect(const std::shared_ptr<QueuePair>& a,
             const std::shared_ptr<QueuePair>& b,
             const ConnectionAttributes& attributes) {
  Connect(a, a, b, b, attributes);
}

void Connect(const std::shared_ptr<QueuePair>& a, const QpRef& a_as_remote,
             const std::shared_ptr<QueuePair>& b, const QpRef& b_as_remote,
             const ConnectionAttributes& attributes) {
  EXPECT_EQ(a->ToReadyToReceive(b_as_remote, attributes), 0);
  EXPECT_EQ(b->ToReadyToReceive(a_as_remote, attributes), 0);
  EXPECT_EQ(a->ToReadyToSend(), 0);
  EXPECT_EQ(b->ToReadyToSend(), 0);
}

bool IsLinkedByDefault() {
  const char* const linked = std::getenv("RPMA_TEST_LINKED");
  return linked != nullptr && std::string_view(linked) == "on";
}

ConnectedPair::ConnectedPair(const PairOptions& options)
    : environment(options.time_divisor, options.seed),
      client("client", 0, options, environment),
      server("server", 1, options, environment) {
  if (options.linked && !options.seed.has_value()) {
    link.emplace(client.device, server.device);
    environment.progress() = &*link;
  }
  Connect(client.qp, ClientQp(client.qp), server.qp, ServerQp(server.qp),
          options.connection);
}

QpRef ConnectedPair::ServerQp(const std::shared_ptr<QueuePair>& qp) const {
  return link.has_value() ? QpRef(link->ServerQp(*qp)) : QpRef(qp);
}

QpRef ConnectedPair::ClientQp(const std::shared_ptr<QueuePair>& qp) const {
  return link.has_value() ? QpRef(link->ClientQp(*qp)) : QpRef(qp);
}

ConnectedPair::~ConnectedPair() {
  environment.timers().Stop();
  environment.progress() = nullptr;
}

void ConnectedPair::SetFaults(std::vector<Fault> faults) {
  std::string error;
  EXPECT_EQ(environment.faults().Set(
                std::move(faults),
                [this](std::string_view name) {
                  return name == "client" ? &client.device : &server.device;
                },
                &error),
            0)
      << error;
}

bool Eventually(const std::function<bool()>& done) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return done();
    std::this_thread::yield();
  }
  return true;
}

}  // namespace rpma::emu
