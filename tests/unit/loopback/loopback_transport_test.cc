// SPDX-License-Identifier: BSD-3-Clause
// The loopback backend: that each call of the Transport reaches the emulator
// with all its arguments.

#include "backends/loopback/loopback_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "emulator/completion_queue.h"
#include "emulator/memory_region.h"
#include "emulator/queue_pair.h"

namespace rpma::loopback {
namespace {

constexpr char kPort[] = "7204";

class LoopbackTransportTest : public testing::Test {
 protected:
  void Start(const std::string& options) {
    std::string error;
    ASSERT_EQ(emu::Fabric::Create(options, &fabric_, &error), 0) << error;
    transport_ = std::make_unique<LoopbackTransport>(*fabric_);
    context_ = fabric_->FindDevice("emu0")->context();
    ASSERT_EQ(t().AllocPd(context_, &pd_), Errno::kOk);
    ASSERT_EQ(t().CreateCompChannel(context_, &channel_), Errno::kOk);
    ASSERT_EQ(t().CreateCq(context_, 10, channel_, &cq_), Errno::kOk);
    ASSERT_EQ(t().RegMr(pd_, memory_, sizeof(memory_), kAllRights, &mr_),
              Errno::kOk);
  }

  void TearDown() override {
    ASSERT_EQ(t().DeregMr(mr_), Errno::kOk);
    ASSERT_EQ(t().DestroyCq(cq_), Errno::kOk);
    ASSERT_EQ(t().DestroyCompChannel(channel_), Errno::kOk);
    ASSERT_EQ(t().DeallocPd(pd_), Errno::kOk);
    const emu::Fabric::Census census = fabric_->TakeCensus();
    EXPECT_EQ(census.verbs.pds + census.verbs.mrs + census.verbs.cqs, 0u);
    EXPECT_EQ(census.verbs.qps + census.verbs.srqs, 0u);
    EXPECT_EQ(census.cm.ids + census.cm.event_channels, 0u);
  }

  Transport& t() { return *transport_; }

  QpConfig Config() const {
    return {.pd = pd_,
            .send_cq = cq_,
            .recv_cq = cq_,
            .srq = nullptr,
            .max_send_wr = 5,
            .max_recv_wr = 6,
            .max_sge = 1,
            .max_inline_data = 8,
            .want_atomic_write = true,
            .want_flush = true};
  }

  rdma_cm_event_type NextEvent(rdma_event_channel* channel,
                               rdma_cm_id** id = nullptr) {
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(t().GetCmEvent(channel, &event), Errno::kOk);
    const rdma_cm_event_type type = event->event;
    if (id != nullptr) *id = event->id;
    EXPECT_EQ(t().AckCmEvent(event), Errno::kOk);
    return type;
  }

  ibv_wc NextCompletion() {
    ibv_wc wc{};
    EXPECT_EQ(t().PollCq(cq_, 1, &wc), 1);
    return wc;
  }

  ibv_sge Range(size_t offset, uint32_t length) const {
    return {.addr = reinterpret_cast<uint64_t>(memory_ + offset),
            .length = length,
            .lkey = mr_->lkey};
  }

  // A listening id; the id and the active and passive ones use `events`.
  void Connect(ibv_srq* srq = nullptr) {
    ASSERT_EQ(t().CreateEventChannel(&events_), Errno::kOk);
    rdma_addrinfo* info = nullptr;
    ASSERT_EQ(t().GetAddrInfo("127.0.0.1", kPort, true, &info), 0);
    ASSERT_EQ(t().CreateId(events_, &listener_), Errno::kOk);
    ASSERT_EQ(t().BindAddr(listener_, *info), Errno::kOk);
    ASSERT_EQ(t().Listen(listener_, 0), Errno::kOk);
    t().FreeAddrInfo(info);

    ASSERT_EQ(t().GetAddrInfo("127.0.0.1", kPort, false, &info), 0);
    ASSERT_EQ(t().CreateId(nullptr, &active_), Errno::kOk);
    ASSERT_EQ(t().ResolveAddr(active_, *info, 1000), Errno::kOk);
    ASSERT_EQ(t().ResolveRoute(active_, 1000), Errno::kOk);
    t().FreeAddrInfo(info);
    ASSERT_EQ(t().MigrateId(active_, events_), Errno::kOk);
    ASSERT_EQ(t().CreateQp(active_, Config(), &caps_), Errno::kOk);

    rdma_conn_param param{};
    param.responder_resources = param.initiator_depth = 1;
    ASSERT_EQ(t().Connect(active_, &param), Errno::kOk);
    ASSERT_EQ(NextEvent(events_, &passive_), RDMA_CM_EVENT_CONNECT_REQUEST);
    QpConfig config = Config();
    config.srq = srq;
    ASSERT_EQ(t().CreateQp(passive_, config, &caps_), Errno::kOk);
    ASSERT_EQ(t().Accept(passive_, &param), Errno::kOk);
    ASSERT_EQ(NextEvent(events_), RDMA_CM_EVENT_ESTABLISHED);
    ASSERT_EQ(NextEvent(events_), RDMA_CM_EVENT_ESTABLISHED);
  }

  void Disconnect() {
    for (rdma_cm_id* id : {active_, passive_}) {
      EXPECT_EQ(t().Disconnect(id), Errno::kOk);
      EXPECT_EQ(t().DestroyQp(id), Errno::kOk);
      EXPECT_EQ(id->qp, nullptr);
    }
    for (rdma_cm_id* id : {active_, passive_, listener_}) {
      EXPECT_EQ(t().DestroyId(id), Errno::kOk);
    }
    t().DestroyEventChannel(events_);
  }

  static constexpr uint32_t kAllRights =
      kMrLocalWrite | kMrRemoteRead | kMrRemoteWrite;

  std::unique_ptr<emu::Fabric> fabric_;
  std::unique_ptr<LoopbackTransport> transport_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  rdma_event_channel* events_ = nullptr;
  rdma_cm_id* listener_ = nullptr;
  rdma_cm_id* active_ = nullptr;
  rdma_cm_id* passive_ = nullptr;
  QpCaps caps_;
  alignas(8) char memory_[4096] = {};
};

TEST_F(LoopbackTransportTest, ADeviceSaysWhatItCanDo) {
  Start(
      "profile=ib native_atomic_write=on native_flush=on max_mr_size=8192 "
      "max_cqe=31 max_qp_wr=12 max_srq_wr=13 max_msg_sz=14");
  DeviceCaps caps;
  ASSERT_EQ(t().QueryDevice(context_, &caps), Errno::kOk);
  EXPECT_STREQ(caps.name, "emu0");
  EXPECT_FALSE(caps.iwarp);
  EXPECT_TRUE(caps.odp_rc_read_write);
  EXPECT_TRUE(caps.native_atomic_write);
  EXPECT_TRUE(caps.native_flush);
  EXPECT_EQ(caps.max_mr_size, 8192u);
  EXPECT_EQ(caps.max_cqe, 31u);
  EXPECT_EQ(caps.max_qp_wr, 12u);
  EXPECT_EQ(caps.max_srq_wr, 13u);
  EXPECT_EQ(caps.max_msg_size, 14u);
}

TEST_F(LoopbackTransportTest, AnIwarpDeviceSaysSo) {
  Start("profile=iwarp");
  DeviceCaps caps;
  ASSERT_EQ(t().QueryDevice(context_, &caps), Errno::kOk);
  EXPECT_TRUE(caps.iwarp);
  EXPECT_FALSE(caps.odp_rc_read_write);
  EXPECT_FALSE(caps.native_atomic_write);
  EXPECT_FALSE(caps.native_flush);
}

TEST_F(LoopbackTransportTest, RightsBecomeAccessFlags) {
  Start("native_flush=on on_demand_paging=on");
  const struct {
    uint32_t rights;
    unsigned flags;
  } kRows[] = {
      {0, 0},
      {kMrLocalWrite, IBV_ACCESS_LOCAL_WRITE},
      {kMrRemoteRead, IBV_ACCESS_REMOTE_READ},
      {kMrLocalWrite | kMrRemoteWrite,
       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE},
      {kMrFlushVisibility, emu::kAccessFlushGlobal},
      {kMrFlushPersistence, emu::kAccessFlushPersistent},
      {kMrOnDemand, IBV_ACCESS_ON_DEMAND},
  };
  for (const auto& [rights, flags] : kRows) {
    ibv_mr* mr = nullptr;
    ASSERT_EQ(t().RegMr(pd_, memory_, 100, rights, &mr), Errno::kOk) << rights;
    EXPECT_EQ(static_cast<emu::MemoryRegion*>(mr)->access, flags);
    EXPECT_EQ(mr->addr, memory_);
    EXPECT_EQ(mr->length, 100u);
    EXPECT_EQ(t().DeregMr(mr), Errno::kOk);
  }
}

TEST_F(LoopbackTransportTest, FailuresLeaveOutParametersUntouched) {
  Start("max_pd=1 max_mr=1 max_cq=1 max_srq=0");
  auto* const pd = reinterpret_cast<ibv_pd*>(0x1);
  ibv_pd* second_pd = pd;
  EXPECT_NE(t().AllocPd(context_, &second_pd), Errno::kOk);
  EXPECT_EQ(second_pd, pd);
  auto* const mr = reinterpret_cast<ibv_mr*>(0x2);
  ibv_mr* second_mr = mr;
  EXPECT_NE(t().RegMr(pd_, memory_, 1, 0, &second_mr), Errno::kOk);
  EXPECT_EQ(second_mr, mr);
  auto* const cq = reinterpret_cast<ibv_cq*>(0x3);
  ibv_cq* second_cq = cq;
  EXPECT_NE(t().CreateCq(context_, 1, nullptr, &second_cq), Errno::kOk);
  EXPECT_EQ(second_cq, cq);
  auto* const srq = reinterpret_cast<ibv_srq*>(0x4);
  ibv_srq* second_srq = srq;
  EXPECT_NE(t().CreateSrq(pd_, 1, &second_srq), Errno::kOk);
  EXPECT_EQ(second_srq, srq);
  EXPECT_EQ(t().DeallocPd(pd_), static_cast<Errno>(EBUSY));
  EXPECT_EQ(t().DestroyCompChannel(channel_), static_cast<Errno>(EBUSY));
}

TEST_F(LoopbackTransportTest, AdviceReachesTheRegion) {
  Start("advise_mr=on on_demand_paging=on");
  ibv_mr* mr = nullptr;
  ASSERT_EQ(t().RegMr(pd_, memory_, 100, kMrOnDemand, &mr), Errno::kOk);
  EXPECT_EQ(t().AdviseMr(mr, 8, 92, IBV_ADVISE_MR_ADVICE_PREFETCH, 0),
            Errno::kOk);
  EXPECT_NE(t().AdviseMr(mr, 8, 93, IBV_ADVISE_MR_ADVICE_PREFETCH, 0),
            Errno::kOk);
  EXPECT_NE(t().AdviseMr(mr, 8, 92, /*advice=*/99, 0), Errno::kOk);
  EXPECT_NE(t().AdviseMr(mr, 8, 92, IBV_ADVISE_MR_ADVICE_PREFETCH, ~0u),
            Errno::kOk);
  EXPECT_EQ(t().DeregMr(mr), Errno::kOk);
}

TEST_F(LoopbackTransportTest, NamesAreResolved) {
  Start("");
  rdma_addrinfo* info = nullptr;
  EXPECT_EQ(t().GetAddrInfo(nullptr, nullptr, true, &info), EAI_NONAME);
  ASSERT_EQ(t().GetAddrInfo("127.0.0.1", nullptr, true, &info), 0);
  EXPECT_NE(info->ai_src_addr, nullptr);
  EXPECT_EQ(info->ai_dst_addr, nullptr);
  t().FreeAddrInfo(info);
}

TEST_F(LoopbackTransportTest, SendsReceivesAndTheirEvents) {
  Start("");
  Connect();
  EXPECT_FALSE(caps_.atomic_write);
  EXPECT_FALSE(caps_.flush);
  ASSERT_EQ(t().ReqNotifyCq(cq_), Errno::kOk);
  ibv_sge to = Range(100, 10);
  ibv_recv_wr receive{};
  receive.wr_id = 1;
  receive.sg_list = &to;
  receive.num_sge = 1;
  ASSERT_EQ(t().PostRecv(passive_->qp, &receive), Errno::kOk);
  std::memcpy(memory_, "hello", 5);
  ibv_sge from = Range(0, 5);
  ibv_send_wr send{};
  send.wr_id = 2;
  send.sg_list = &from;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  ASSERT_EQ(t().PostSend(active_->qp, &send), Errno::kOk);

  ibv_cq* signalled = nullptr;
  ASSERT_EQ(t().GetCqEvent(channel_, &signalled), Errno::kOk);
  EXPECT_EQ(signalled, cq_);
  t().AckCqEvents(signalled, 1);
  const ibv_wc received = NextCompletion();
  EXPECT_EQ(received.wr_id, 1u);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.byte_len, 5u);
  EXPECT_EQ(std::memcmp(memory_ + 100, "hello", 5), 0);
  ASSERT_EQ(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(t().GetCqEvent(channel_, &signalled), static_cast<Errno>(EAGAIN));
  Disconnect();
}

TEST_F(LoopbackTransportTest, ReceivesOfASharedQueue) {
  Start("");
  ibv_srq* srq = nullptr;
  ASSERT_EQ(t().CreateSrq(pd_, 4, &srq), Errno::kOk);
  Connect(srq);
  EXPECT_EQ(t().DestroySrq(srq), static_cast<Errno>(EBUSY));
  ibv_recv_wr receive{};
  receive.wr_id = 3;
  ASSERT_EQ(t().PostSrqRecv(srq, &receive), Errno::kOk);
  ibv_send_wr send{};
  send.opcode = IBV_WR_SEND;
  ASSERT_EQ(t().PostSend(active_->qp, &send), Errno::kOk);
  EXPECT_EQ(NextCompletion().wr_id, 3u);
  Disconnect();
  EXPECT_EQ(t().DestroySrq(srq), Errno::kOk);
}

TEST_F(LoopbackTransportTest, NativeFlushAndAtomicWrite) {
  Start("native_flush=on native_atomic_write=on");
  ibv_mr* flushable = nullptr;
  ASSERT_EQ(t().RegMr(pd_, memory_, sizeof(memory_),
                      kAllRights | kMrFlushVisibility | kMrFlushPersistence,
                      &flushable),
            Errno::kOk);
  Connect();
  EXPECT_TRUE(caps_.atomic_write);
  EXPECT_TRUE(caps_.flush);
  const uint64_t target = reinterpret_cast<uint64_t>(memory_) + 800;
  const uint64_t value = 0x1122334455667788;
  ASSERT_EQ(t().PostAtomicWrite(active_->qp, {.wr_id = 4,
                                              .remote_addr = target,
                                              .source = &value,
                                              .rkey = flushable->rkey,
                                              .fence = true,
                                              .signaled = true}),
            Errno::kOk);
  ibv_wc wc = NextCompletion();
  EXPECT_EQ(wc.wr_id, 4u);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory_ + 800, &value, 8), 0);
  for (const FlushKind kind :
       {FlushKind::kVisibility, FlushKind::kPersistence}) {
    ASSERT_EQ(t().PostFlush(active_->qp, {.wr_id = 5,
                                          .remote_addr = target,
                                          .length = 8,
                                          .rkey = flushable->rkey,
                                          .kind = kind,
                                          .signaled = true}),
              Errno::kOk);
    wc = NextCompletion();
    EXPECT_EQ(wc.wr_id, 5u);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  }
  Disconnect();
  EXPECT_EQ(t().DeregMr(flushable), Errno::kOk);
}

TEST_F(LoopbackTransportTest, ARefusedRequestAndACallOutOfTurn) {
  Start("");
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(t().CreateId(nullptr, &id), Errno::kOk);
  rdma_conn_param param{};
  EXPECT_EQ(t().Connect(id, &param), static_cast<Errno>(EINVAL));
  EXPECT_EQ(t().Accept(id, &param), static_cast<Errno>(EINVAL));
  EXPECT_EQ(t().Reject(id, nullptr, 0), static_cast<Errno>(EINVAL));
  EXPECT_EQ(t().Disconnect(id), static_cast<Errno>(EINVAL));
  QpCaps caps{.atomic_write = true, .flush = true};
  EXPECT_EQ(t().CreateQp(id, Config(), &caps), static_cast<Errno>(EINVAL));
  EXPECT_TRUE(caps.atomic_write);
  EXPECT_EQ(t().DestroyQp(id), static_cast<Errno>(EINVAL));
  EXPECT_EQ(t().DestroyId(id), Errno::kOk);
}

}  // namespace
}  // namespace rpma::loopback
