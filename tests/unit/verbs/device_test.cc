// SPDX-License-Identifier: BSD-3-Clause
// What a device can do, and queue pairs that make use of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>

#include "backends/verbs/verbs_transport.h"
#include "tests/unit/verbs/fake_rdma_core.h"

namespace rpma::verbs {
namespace {

using testing::ElementsAre;

// Of this build: a device that can do more is not asked for it.
#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
constexpr bool kCanWriteAtomically = true;
constexpr uint64_t kAtomicWriteOp = IBV_QP_EX_WITH_ATOMIC_WRITE;
#else
constexpr bool kCanWriteAtomically = false;
constexpr uint64_t kAtomicWriteOp = 0;
#endif
#ifdef RPMA_HAVE_IBV_WR_FLUSH
constexpr bool kCanFlush = true;
constexpr uint64_t kFlushOp = IBV_QP_EX_WITH_FLUSH;
#else
constexpr bool kCanFlush = false;
constexpr uint64_t kFlushOp = 0;
#endif

class DeviceTest : public testing::Test {
 protected:
  DeviceCaps Query() {
    DeviceCaps caps;
    EXPECT_EQ(transport_.QueryDevice(&fake_.context, &caps), Errno::kOk);
    return caps;
  }

  QpCaps Create(const QpConfig& config) {
    QpCaps caps;
    EXPECT_EQ(transport_.CreateQp(&fake_.id, config, &caps), Errno::kOk);
    EXPECT_THAT(fake_.calls,
                ElementsAre(CallText("rdma_create_qp_ex", &fake_.id)));
    fake_.calls.clear();
    return caps;
  }

  FakeRdmaCore fake_;
  VerbsTransport transport_;
};

// --- QueryDevice -------------------------------------------------------------

TEST_F(DeviceTest, HasANameAndLimits) {
  std::snprintf(fake_.device.name, sizeof(fake_.device.name), "rxe0");
  ibv_device_attr& attr = fake_.device_attr.orig_attr;
  attr.max_mr_size = uint64_t{1} << 40;
  attr.max_cqe = 1;
  attr.max_qp_wr = 2;
  attr.max_srq_wr = 3;
  fake_.port_attr.max_msg_sz = 1u << 31;
  const DeviceCaps caps = Query();
  EXPECT_STREQ(caps.name, "rxe0");
  EXPECT_EQ(caps.max_mr_size, uint64_t{1} << 40);
  EXPECT_EQ(caps.max_cqe, 1u);
  EXPECT_EQ(caps.max_qp_wr, 2u);
  EXPECT_EQ(caps.max_srq_wr, 3u);
  EXPECT_EQ(caps.max_msg_size, 1u << 31);
  EXPECT_THAT(fake_.calls,
              ElementsAre(CallText("query_device_ex", &fake_.context),
                          CallText("query_port", &fake_.context, 1)));
}

TEST_F(DeviceTest, HasNoAbilitiesUnlessItSaysSo) {
  const DeviceCaps caps = Query();
  EXPECT_FALSE(caps.iwarp);
  EXPECT_FALSE(caps.odp_rc_read_write);
  EXPECT_FALSE(caps.native_atomic_write);
  EXPECT_FALSE(caps.native_flush);
}

TEST_F(DeviceTest, IsOfIwarpByItsTransport) {
  fake_.device.transport_type = IBV_TRANSPORT_IWARP;
  EXPECT_TRUE(Query().iwarp);
  fake_.device.transport_type = IBV_TRANSPORT_IB;
  EXPECT_FALSE(Query().iwarp);
}

TEST_F(DeviceTest, PagesOnDemandIfItDoesForReadsAndWrites) {
  constexpr uint32_t kReadWrite = IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_WRITE;
  struct {
    uint64_t general;
    uint32_t rc;
    bool expected;
  } const kCases[] = {
      {IBV_ODP_SUPPORT, kReadWrite, true},
      {IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
       kReadWrite | IBV_ODP_SUPPORT_SEND, true},
      {0, kReadWrite, false},
      {IBV_ODP_SUPPORT_IMPLICIT, kReadWrite, false},
      {IBV_ODP_SUPPORT, IBV_ODP_SUPPORT_READ, false},
      {IBV_ODP_SUPPORT, IBV_ODP_SUPPORT_WRITE, false},
  };
  for (const auto& [general, rc, expected] : kCases) {
    fake_.device_attr.odp_caps.general_caps = general;
    fake_.device_attr.odp_caps.per_transport_caps.rc_odp_caps = rc;
    EXPECT_EQ(Query().odp_rc_read_write, expected) << general << ' ' << rc;
  }
  fake_.device_attr.odp_caps = {
      .general_caps = IBV_ODP_SUPPORT,
      .per_transport_caps = {.rc_odp_caps = 0,
                             .uc_odp_caps = kReadWrite,
                             .ud_odp_caps = kReadWrite}};
  EXPECT_FALSE(Query().odp_rc_read_write);
}

TEST_F(DeviceTest, WritesAtomicallyByBit40) {
  uint64_t& flags = fake_.device_attr.device_cap_flags_ex;
  flags = uint64_t{1} << 40;
  EXPECT_EQ(Query().native_atomic_write, kCanWriteAtomically);
  flags = ~flags;
  EXPECT_FALSE(Query().native_atomic_write);
}

TEST_F(DeviceTest, FlushesByBits38And39Together) {
  constexpr uint64_t kGlobal = uint64_t{1} << 38;
  constexpr uint64_t kPersistent = uint64_t{1} << 39;
  uint64_t& flags = fake_.device_attr.device_cap_flags_ex;
  flags = kGlobal | kPersistent;
  EXPECT_EQ(Query().native_flush, kCanFlush);
  for (const uint64_t one_alone : {kGlobal, kPersistent}) {
    flags = ~(kGlobal | kPersistent) | one_alone;
    EXPECT_FALSE(Query().native_flush);
  }
}

TEST_F(DeviceTest, WithoutPortCannotBeQueried) {
  fake_.extended.query_port = [](ibv_context*, uint8_t, ibv_port_attr*,
                                 size_t) { return EINVAL; };
  DeviceCaps caps;
  fake_.device_attr.orig_attr.max_mr_size = 1;
  EXPECT_EQ(transport_.QueryDevice(&fake_.context, &caps), Errno{EINVAL});
  EXPECT_EQ(caps.max_mr_size, 0u);
}

// --- CreateQp, DestroyQp -----------------------------------------------------

TEST_F(DeviceTest, QueuePairIsReliableAndSignalsByRequest) {
  Create({.pd = &fake_.pd,
          .send_cq = &fake_.cq,
          .recv_cq = &fake_.cq + 1,
          .srq = &fake_.srq,
          .max_send_wr = 1,
          .max_recv_wr = 2,
          .max_sge = 3,
          .max_inline_data = 4});
  const ibv_qp_init_attr_ex& attr = fake_.qp_attr;
  EXPECT_EQ(attr.qp_type, IBV_QPT_RC);
  EXPECT_EQ(attr.sq_sig_all, 0);
  EXPECT_EQ(attr.qp_context, nullptr);
  EXPECT_EQ(attr.pd, &fake_.pd);
  EXPECT_EQ(attr.send_cq, &fake_.cq);
  EXPECT_EQ(attr.recv_cq, &fake_.cq + 1);
  EXPECT_EQ(attr.srq, &fake_.srq);
  EXPECT_EQ(attr.cap.max_send_wr, 1u);
  EXPECT_EQ(attr.cap.max_recv_wr, 2u);
  EXPECT_EQ(attr.cap.max_send_sge, 3u);
  EXPECT_EQ(attr.cap.max_recv_sge, 3u);
  EXPECT_EQ(attr.cap.max_inline_data, 4u);
}

TEST_F(DeviceTest, QueuePairAsksForExtendedRequestsOnlyIfSomeAreWanted) {
  for (const bool atomic_write : {false, true}) {
    for (const bool flush : {false, true}) {
      Create({.want_atomic_write = atomic_write, .want_flush = flush});
      const uint64_t ops =
          (atomic_write ? kAtomicWriteOp : 0) | (flush ? kFlushOp : 0);
      const uint32_t mask =
          ops != 0 ? IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
                   : IBV_QP_INIT_ATTR_PD;
      EXPECT_EQ(fake_.qp_attr.comp_mask, mask);
      EXPECT_EQ(fake_.qp_attr.send_ops_flags, ops);
    }
  }
}

TEST_F(DeviceTest, QueuePairHasTheOperationsThatTheProviderGave) {
  const QpConfig both = {.want_atomic_write = true, .want_flush = true};
  QpCaps caps = Create(both);
  EXPECT_EQ(caps.atomic_write, kCanWriteAtomically);
  EXPECT_EQ(caps.flush, kCanFlush);

  fake_.send_ops = kFlushOp;
  caps = Create(both);
  EXPECT_FALSE(caps.atomic_write);
  EXPECT_EQ(caps.flush, kCanFlush);

  fake_.send_ops = ~uint64_t{0};
  caps = Create({});
  EXPECT_FALSE(caps.atomic_write);
  EXPECT_FALSE(caps.flush);
}

TEST_F(DeviceTest, QueuePairIsDestroyedByTheCallThatReportsFailure) {
  fake_.id.qp = &fake_.qp;
  EXPECT_EQ(transport_.DestroyQp(&fake_.id), Errno::kOk);
  EXPECT_EQ(fake_.id.qp, nullptr);
  EXPECT_THAT(fake_.calls, ElementsAre(CallText("ibv_destroy_qp", &fake_.qp)));
}

}  // namespace
}  // namespace rpma::verbs
