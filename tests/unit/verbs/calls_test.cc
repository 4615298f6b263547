// SPDX-License-Identifier: BSD-3-Clause
// Each method is the call that it is named after, with the arguments that
// librpma promises.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "backends/verbs/verbs_transport.h"
#include "tests/unit/verbs/fake_rdma_core.h"

namespace rpma::verbs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// As the flags of a request are unsigned.
[[maybe_unused]] constexpr unsigned kSignaled = IBV_SEND_SIGNALED;
[[maybe_unused]] constexpr unsigned kFence = IBV_SEND_FENCE;

class CallsTest : public testing::Test {
 protected:
  CallsTest() {
    fake_.info.ai_src_addr = &source_;
    fake_.info.ai_dst_addr = &destination_;
  }

  FakeRdmaCore fake_;
  VerbsTransport transport_;
  sockaddr source_ = {};
  sockaddr destination_ = {};
};

// --- Data path ---------------------------------------------------------------

TEST_F(CallsTest, RequestsArePostedAsTheyAre) {
  ibv_send_wr send = {};
  ibv_recv_wr receive = {};
  EXPECT_EQ(transport_.PostSend(&fake_.qp, &send), Errno::kOk);
  EXPECT_EQ(transport_.PostRecv(&fake_.qp, &receive), Errno::kOk);
  EXPECT_EQ(transport_.PostSrqRecv(&fake_.srq, &receive), Errno::kOk);
  EXPECT_THAT(fake_.calls,
              ElementsAre(CallText("post_send", &fake_.qp, &send),
                          CallText("post_recv", &fake_.qp, &receive),
                          CallText("post_srq_recv", &fake_.srq, &receive)));
}

TEST_F(CallsTest, PollCqGivesTheNumberOfCompletionsOrAFailure) {
  ibv_wc completions[2];
  for (const int result : {2, 0, -1}) {
    fake_.result = result;
    fake_.calls.clear();
    EXPECT_EQ(transport_.PollCq(&fake_.cq, 2, completions), result);
    EXPECT_THAT(fake_.calls,
                ElementsAre(CallText("poll_cq", &fake_.cq, 2, completions)));
  }
}

#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
TEST_F(CallsTest, AtomicWriteIsOneExtendedRequest) {
  const char bytes[8] = {};
  AtomicWriteWr wr = {
      .wr_id = 7, .remote_addr = 0x1000, .source = bytes, .rkey = 9};
  for (const bool signaled : {false, true}) {
    for (const bool fence : {false, true}) {
      wr.signaled = signaled;
      wr.fence = fence;
      fake_.calls.clear();
      EXPECT_EQ(transport_.PostAtomicWrite(&fake_.qp, wr), Errno::kOk);
      const unsigned flags = (signaled ? kSignaled : 0) | (fence ? kFence : 0);
      EXPECT_THAT(fake_.calls,
                  ElementsAre(CallText("wr_start", &fake_.qp_ex),
                              CallText("wr_atomic_write", &fake_.qp_ex, 9,
                                       0x1000, static_cast<const void*>(bytes)),
                              CallText("wr_complete", &fake_.qp_ex, 7, flags)));
    }
  }
}
#else
TEST_F(CallsTest, AtomicWriteIsNotSupportedByThisRdmaCore) {
  EXPECT_EQ(transport_.PostAtomicWrite(&fake_.qp, {}), Errno{EOPNOTSUPP});
  EXPECT_THAT(fake_.calls, IsEmpty());
}
#endif

#ifdef RPMA_HAVE_IBV_WR_FLUSH
TEST_F(CallsTest, FlushIsOneExtendedRequestForTheRange) {
  FlushWr wr = {.wr_id = 7, .remote_addr = 0x1000, .length = 5, .rkey = 9};
  const std::pair<FlushKind, int> kTypes[] = {
      {FlushKind::kVisibility, IBV_FLUSH_GLOBAL},
      {FlushKind::kPersistence, IBV_FLUSH_PERSISTENT}};
  for (const auto& [kind, type] : kTypes) {
    wr.kind = kind;
    wr.signaled = kind == FlushKind::kPersistence;
    fake_.calls.clear();
    EXPECT_EQ(transport_.PostFlush(&fake_.qp, wr), Errno::kOk);
    EXPECT_THAT(fake_.calls,
                ElementsAre(CallText("wr_start", &fake_.qp_ex),
                            CallText("wr_flush", &fake_.qp_ex, 9, 0x1000, 5,
                                     type, int{IBV_FLUSH_RANGE}),
                            CallText("wr_complete", &fake_.qp_ex, 7,
                                     wr.signaled ? kSignaled : 0)));
  }
}
#else
TEST_F(CallsTest, FlushIsNotSupportedByThisRdmaCore) {
  EXPECT_EQ(transport_.PostFlush(&fake_.qp, {}), Errno{EOPNOTSUPP});
  EXPECT_THAT(fake_.calls, IsEmpty());
}
#endif

// --- Memory ------------------------------------------------------------------

TEST_F(CallsTest, ProtectionDomain) {
  ibv_pd* pd = nullptr;
  EXPECT_EQ(transport_.AllocPd(&fake_.context, &pd), Errno::kOk);
  EXPECT_EQ(transport_.DeallocPd(pd), Errno::kOk);
  EXPECT_THAT(fake_.calls, ElementsAre(CallText("ibv_alloc_pd", &fake_.context),
                                       CallText("ibv_dealloc_pd", &fake_.pd)));
}

struct Access {
  uint32_t rights;
  unsigned flags;
};

TEST_F(CallsTest, RegionIsRegisteredWithTheFlagsOfItsRights) {
#ifdef RPMA_HAVE_IBV_WR_FLUSH
  constexpr unsigned kVisibility = IBV_ACCESS_FLUSH_GLOBAL;
  constexpr unsigned kPersistence = IBV_ACCESS_FLUSH_PERSISTENT;
#else
  constexpr unsigned kVisibility = 0;
  constexpr unsigned kPersistence = 0;
#endif
  const Access kAccess[] = {
      {0, 0},
      {kMrLocalWrite, IBV_ACCESS_LOCAL_WRITE},
      {kMrRemoteRead, IBV_ACCESS_REMOTE_READ},
      {kMrRemoteWrite, IBV_ACCESS_REMOTE_WRITE},
      {kMrOnDemand, IBV_ACCESS_ON_DEMAND},
      {kMrFlushVisibility, kVisibility},
      {kMrFlushPersistence, kPersistence},
      {kMrLocalWrite | kMrRemoteWrite | kMrFlushPersistence,
       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | kPersistence},
  };
  char memory[10];
  for (const auto& [rights, flags] : kAccess) {
    fake_.calls.clear();
    ibv_mr* mr = nullptr;
    EXPECT_EQ(transport_.RegMr(&fake_.pd, memory, sizeof(memory), rights, &mr),
              Errno::kOk);
    EXPECT_THAT(fake_.calls,
                ElementsAre(CallText("ibv_reg_mr", &fake_.pd,
                                     static_cast<void*>(memory), 10, flags)));
  }
}

TEST_F(CallsTest, RegionIsDeregistered) {
  EXPECT_EQ(transport_.DeregMr(&fake_.mr), Errno::kOk);
  EXPECT_THAT(fake_.calls, ElementsAre(CallText("ibv_dereg_mr", &fake_.mr)));
}

TEST_F(CallsTest, AdviceIsForOneRangeOfTheRegion) {
  fake_.mr.addr = reinterpret_cast<void*>(0x2000);
  fake_.mr.lkey = 3;
  EXPECT_EQ(transport_.AdviseMr(&fake_.mr, 0x100, 50,
                                IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
                                IBV_ADVISE_MR_FLAG_FLUSH),
            Errno::kOk);
  EXPECT_THAT(fake_.calls,
              ElementsAre(CallText("advise_mr", &fake_.pd,
                                   int{IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE},
                                   int{IBV_ADVISE_MR_FLAG_FLUSH}, 1)));
  EXPECT_EQ(fake_.advised.addr, 0x2100u);
  EXPECT_EQ(fake_.advised.length, 50u);
  EXPECT_EQ(fake_.advised.lkey, 3u);
}

// --- Completion queues and shared receive queues -----------------------------

TEST_F(CallsTest, CompletionQueue) {
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  EXPECT_EQ(transport_.CreateCompChannel(&fake_.context, &channel), Errno::kOk);
  EXPECT_EQ(transport_.CreateCq(&fake_.context, 5, channel, &cq), Errno::kOk);
  EXPECT_EQ(transport_.ReqNotifyCq(cq), Errno::kOk);
  EXPECT_EQ(transport_.GetCqEvent(channel, &cq), Errno::kOk);
  transport_.AckCqEvents(cq, 2);
  EXPECT_EQ(transport_.DestroyCq(cq), Errno::kOk);
  EXPECT_EQ(transport_.DestroyCompChannel(channel), Errno::kOk);
  EXPECT_THAT(
      fake_.calls,
      ElementsAre(CallText("ibv_create_comp_channel", &fake_.context),
                  CallText("ibv_create_cq", &fake_.context, 5, 0,
                           &fake_.comp_channel, 0),
                  CallText("req_notify_cq", &fake_.cq, 0),
                  CallText("ibv_get_cq_event", &fake_.comp_channel),
                  CallText("ibv_ack_cq_events", &fake_.cq, 2),
                  CallText("ibv_destroy_cq", &fake_.cq),
                  CallText("ibv_destroy_comp_channel", &fake_.comp_channel)));
}

TEST_F(CallsTest, SharedReceiveQueueHasNoLimitAndOneElementInARequest) {
  ibv_srq* srq = nullptr;
  EXPECT_EQ(transport_.CreateSrq(&fake_.pd, 6, &srq), Errno::kOk);
  EXPECT_EQ(transport_.DestroySrq(srq), Errno::kOk);
  EXPECT_THAT(fake_.calls,
              ElementsAre(CallText("ibv_create_srq", &fake_.pd),
                          CallText("ibv_destroy_srq", &fake_.srq)));
  EXPECT_EQ(fake_.srq_attr.attr.max_wr, 6u);
  EXPECT_EQ(fake_.srq_attr.attr.max_sge, 1u);
  EXPECT_EQ(fake_.srq_attr.attr.srq_limit, 0u);
}

// --- Connection manager ------------------------------------------------------

TEST_F(CallsTest, AddressesAreOfReliableConnections) {
  rdma_addrinfo* info = nullptr;
  EXPECT_EQ(transport_.GetAddrInfo("host", "7", false, &info), 0);
  EXPECT_EQ(info, &fake_.info);
  EXPECT_EQ(fake_.hints.ai_flags, 0);
  EXPECT_EQ(fake_.hints.ai_qp_type, IBV_QPT_RC);
  EXPECT_EQ(fake_.hints.ai_port_space, RDMA_PS_TCP);
  EXPECT_EQ(transport_.GetAddrInfo("host", nullptr, true, &info), 0);
  EXPECT_EQ(fake_.hints.ai_flags, RAI_PASSIVE);
  transport_.FreeAddrInfo(info);
  EXPECT_THAT(fake_.calls,
              ElementsAre(CallText("rdma_getaddrinfo", "host", "7"),
                          CallText("rdma_getaddrinfo", "host", "nullptr"),
                          CallText("rdma_freeaddrinfo", &fake_.info)));
}

TEST_F(CallsTest, EventChannel) {
  rdma_event_channel* channel = nullptr;
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(transport_.CreateEventChannel(&channel), Errno::kOk);
  EXPECT_EQ(transport_.GetCmEvent(channel, &event), Errno::kOk);
  EXPECT_EQ(transport_.AckCmEvent(event), Errno::kOk);
  transport_.DestroyEventChannel(channel);
  EXPECT_THAT(fake_.calls,
              ElementsAre(CallText("rdma_create_event_channel"),
                          CallText("rdma_get_cm_event", &fake_.event_channel),
                          CallText("rdma_ack_cm_event", &fake_.event),
                          CallText("rdma_destroy_event_channel",
                                   &fake_.event_channel)));
}

TEST_F(CallsTest, ListeningId) {
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(transport_.CreateId(&fake_.event_channel, &id), Errno::kOk);
  EXPECT_EQ(transport_.BindAddr(id, fake_.info), Errno::kOk);
  EXPECT_EQ(transport_.Listen(id, 4), Errno::kOk);
  EXPECT_EQ(transport_.MigrateId(id, &fake_.event_channel), Errno::kOk);
  EXPECT_EQ(transport_.DestroyId(id), Errno::kOk);
  EXPECT_THAT(
      fake_.calls,
      ElementsAre(
          CallText("rdma_create_id", &fake_.event_channel, 0, int{RDMA_PS_TCP}),
          CallText("rdma_bind_addr", &fake_.id, &source_),
          CallText("rdma_listen", &fake_.id, 4),
          CallText("rdma_migrate_id", &fake_.id, &fake_.event_channel),
          CallText("rdma_destroy_id", &fake_.id)));
}

TEST_F(CallsTest, ConnectingId) {
  rdma_conn_param param = {};
  rdma_cm_id* const id = &fake_.id;
  const char data[] = "no";
  EXPECT_EQ(transport_.ResolveAddr(id, fake_.info, 100), Errno::kOk);
  EXPECT_EQ(transport_.ResolveRoute(id, 200), Errno::kOk);
  EXPECT_EQ(transport_.Connect(id, &param), Errno::kOk);
  EXPECT_EQ(transport_.Accept(id, &param), Errno::kOk);
  EXPECT_EQ(transport_.Reject(id, data, 3), Errno::kOk);
  EXPECT_EQ(transport_.Disconnect(id), Errno::kOk);
  EXPECT_THAT(
      fake_.calls,
      ElementsAre(
          CallText("rdma_resolve_addr", id, &source_, &destination_, 100),
          CallText("rdma_resolve_route", id, 200),
          CallText("rdma_connect", id, &param),
          CallText("rdma_accept", id, &param),
          CallText("rdma_reject", id, static_cast<const void*>(data), 3),
          CallText("rdma_disconnect", id)));
}

}  // namespace
}  // namespace rpma::verbs
