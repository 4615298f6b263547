// SPDX-License-Identifier: BSD-3-Clause
// A device: limits, reference counts, its context as programs use it, async
// events, advice.

#include "emulator/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <syslog.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "emulator/async_events.h"
#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::HasSubstr;

class DeviceTest : public ::testing::Test {
 protected:
  explicit DeviceTest(const Profile& profile = *FindProfile("roce"))
      : device_("emu7", profile, 7, environment_) {
    EXPECT_EQ(device_.AllocPd(&pd_), 0);
    EXPECT_EQ(device_.CreateCq(8, nullptr, &cq_), 0);
  }
  ~DeviceTest() override {
    EXPECT_EQ(device_.DestroyCq(cq_), 0);
    EXPECT_EQ(device_.DeallocPd(pd_), 0);
  }
  QueuePairAttributes QpAttributes() const {
    return {.send_cq = cq_,
            .recv_cq = cq_,
            .max_send_wr = 4,
            .max_recv_wr = 4,
            .max_send_sge = 1,
            .max_recv_sge = 1};
  }
  int RegMr(size_t length, unsigned access, MemoryRegion** mr) {
    return device_.RegMr(pd_, memory_, length, access, mr);
  }

  TestEnvironment environment_;
  Device device_;
  ProtectionDomain* pd_ = nullptr;
  CompletionQueue* cq_ = nullptr;
  char memory_[4096] = {};
};

// --- Objects

TEST_F(DeviceTest, RefusesRegionsThatVerbsRefuses) {
  MemoryRegion* mr = nullptr;
  EXPECT_EQ(RegMr(0, IBV_ACCESS_LOCAL_WRITE, &mr), EINVAL);
  EXPECT_EQ(RegMr(SIZE_MAX, IBV_ACCESS_LOCAL_WRITE, &mr), EINVAL);
  EXPECT_EQ(RegMr(8, IBV_ACCESS_REMOTE_WRITE, &mr), EINVAL);
  EXPECT_EQ(RegMr(8, IBV_ACCESS_REMOTE_ATOMIC, &mr), EINVAL);
  EXPECT_EQ(RegMr(8, 1u << 30, &mr), EINVAL);
  EXPECT_EQ(RegMr(8, IBV_ACCESS_ON_DEMAND, &mr), EOPNOTSUPP);
  EXPECT_EQ(RegMr(8, kAccessFlushGlobal, &mr), EOPNOTSUPP);
  EXPECT_EQ(RegMr(8, kAccessFlushPersistent, &mr), EOPNOTSUPP);
  EXPECT_EQ(mr, nullptr);
  EXPECT_EQ(device_.Census().mrs, 0u);
}

TEST_F(DeviceTest, DescribesARegion) {
  MemoryRegion* mr = nullptr;
  ASSERT_EQ(RegMr(100, IBV_ACCESS_RELAXED_ORDERING, &mr), 0);
  EXPECT_EQ(mr->addr, memory_);
  EXPECT_EQ(mr->length, 100u);
  EXPECT_EQ(mr->pd, pd_);
  EXPECT_EQ(mr->context, device_.context());
  EXPECT_NE(mr->lkey, 0u);
  EXPECT_EQ(device_.Census().mrs, 1u);
  EXPECT_EQ(device_.DeallocPd(pd_), EBUSY);
  EXPECT_EQ(device_.DeregMr(mr), 0);
}

TEST_F(DeviceTest, RefusesSizesBeyondItsLimits) {
  const DeviceLimits& limits = device_.profile().limits;
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(device_.CreateCq(0, nullptr, &cq), EINVAL);
  EXPECT_EQ(
      device_.CreateCq(static_cast<int>(limits.max_cqe) + 1, nullptr, &cq),
      EINVAL);
  SharedReceiveQueue* srq = nullptr;
  EXPECT_EQ(device_.CreateSrq(pd_, 0, 1, 0, &srq), EINVAL);
  EXPECT_EQ(device_.CreateSrq(pd_, limits.max_srq_wr + 1, 1, 0, &srq), EINVAL);
  EXPECT_EQ(device_.CreateSrq(pd_, 1, limits.max_sge + 1, 0, &srq), EINVAL);
  EXPECT_EQ(device_.CreateSrq(pd_, 1, 1, 2, &srq), EINVAL);

  std::shared_ptr<QueuePair> qp;
  const auto refused = [&](auto change) {
    QueuePairAttributes attributes = QpAttributes();
    change(attributes);
    return device_.CreateQp(pd_, attributes, &qp) == EINVAL;
  };
  EXPECT_TRUE(refused([&](auto& a) { a.max_send_wr = limits.max_qp_wr + 1; }));
  EXPECT_TRUE(refused([&](auto& a) { a.max_recv_wr = limits.max_qp_wr + 1; }));
  EXPECT_TRUE(refused([&](auto& a) { a.max_send_sge = limits.max_sge + 1; }));
  EXPECT_TRUE(refused([&](auto& a) { a.max_recv_sge = limits.max_sge + 1; }));
  EXPECT_TRUE(refused(
      [&](auto& a) { a.max_inline_data = limits.max_inline_data + 1; }));
  EXPECT_TRUE(refused([](auto& a) { a.send_cq = nullptr; }));
  EXPECT_TRUE(refused([](auto& a) { a.recv_cq = nullptr; }));
  EXPECT_EQ(device_.CreateQp(nullptr, QpAttributes(), &qp), EINVAL);
  EXPECT_EQ(qp, nullptr);
}

TEST_F(DeviceTest, RefusesObjectsOfAnotherDevice) {
  Device other("other", *FindProfile("roce"), 8, environment_);
  std::shared_ptr<QueuePair> qp;
  EXPECT_EQ(other.CreateQp(pd_, QpAttributes(), &qp), EINVAL);
}

TEST_F(DeviceTest, ObjectsInUseAreBusy) {
  CompletionChannel* channel = nullptr;
  ASSERT_EQ(device_.CreateCompChannel(&channel), 0);
  CompletionQueue* recv_cq = nullptr;
  ASSERT_EQ(device_.CreateCq(8, channel, &recv_cq), 0);
  SharedReceiveQueue* srq = nullptr;
  ASSERT_EQ(device_.CreateSrq(pd_, 4, 1, 0, &srq), 0);
  QueuePairAttributes attributes = QpAttributes();
  attributes.recv_cq = recv_cq;
  attributes.srq = srq;
  std::shared_ptr<QueuePair> qp;
  ASSERT_EQ(device_.CreateQp(pd_, attributes, &qp), 0);

  EXPECT_EQ(device_.DestroyCompChannel(channel), EBUSY);
  EXPECT_EQ(device_.DestroyCq(cq_), EBUSY);
  EXPECT_EQ(device_.DestroyCq(recv_cq), EBUSY);
  EXPECT_EQ(device_.DestroySrq(srq), EBUSY);
  EXPECT_EQ(device_.DeallocPd(pd_), EBUSY);
  const ObjectCensus census = device_.Census();
  EXPECT_EQ(census.pds, 1u);
  EXPECT_EQ(census.comp_channels, 1u);
  EXPECT_EQ(census.cqs, 2u);
  EXPECT_EQ(census.srqs, 1u);
  EXPECT_EQ(census.qps, 1u);

  EXPECT_EQ(device_.DestroyQp(qp.get()), 0);
  EXPECT_EQ(device_.DestroySrq(srq), 0);
  EXPECT_EQ(device_.DestroyCq(recv_cq), 0);
  EXPECT_EQ(device_.DestroyCompChannel(channel), 0);
}

TEST_F(DeviceTest, FindsQueuePairsByTheirNumber) {
  std::shared_ptr<QueuePair> first;
  std::shared_ptr<QueuePair> second;
  ASSERT_EQ(device_.CreateQp(pd_, QpAttributes(), &first), 0);
  ASSERT_EQ(device_.CreateQp(pd_, QpAttributes(), &second), 0);
  EXPECT_NE(first->qp_num, second->qp_num);
  EXPECT_LT(first->qp_num, 1u << 24);
  EXPECT_EQ(first->qp_num >> 16, 7u);
  EXPECT_EQ(device_.FindQp(first->qp_num), first);
  const uint32_t number = first->qp_num;
  EXPECT_EQ(device_.DestroyQp(first.get()), 0);
  EXPECT_EQ(device_.FindQp(number), nullptr);
  EXPECT_EQ(device_.FindQp(second->qp_num), second);
  EXPECT_EQ(device_.DestroyQp(second.get()), 0);
}

TEST(DeviceLimitsTest, CountsObjects) {
  TestEnvironment environment;
  Profile profile = *FindProfile("roce");
  profile.limits.max_pd = profile.limits.max_mr = profile.limits.max_cq =
      profile.limits.max_srq = profile.limits.max_qp = 1;
  profile.limits.max_mr_size = 8;
  Device device("small", profile, 0, environment);
  char memory[16];
  ProtectionDomain* pd = nullptr;
  MemoryRegion* mr = nullptr;
  CompletionQueue* cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  std::shared_ptr<QueuePair> qp;
  ASSERT_EQ(device.AllocPd(&pd), 0);
  ASSERT_EQ(device.RegMr(pd, memory, 8, 0, &mr), 0);
  ASSERT_EQ(device.CreateCq(1, nullptr, &cq), 0);
  ASSERT_EQ(device.CreateSrq(pd, 1, 1, 0, &srq), 0);
  const QueuePairAttributes attributes{.send_cq = cq, .recv_cq = cq};
  ASSERT_EQ(device.CreateQp(pd, attributes, &qp), 0);

  ProtectionDomain* pd2 = nullptr;
  MemoryRegion* mr2 = nullptr;
  CompletionQueue* cq2 = nullptr;
  SharedReceiveQueue* srq2 = nullptr;
  std::shared_ptr<QueuePair> qp2;
  EXPECT_EQ(device.AllocPd(&pd2), ENOMEM);
  EXPECT_EQ(device.RegMr(pd, memory, 8, 0, &mr2), ENOMEM);
  EXPECT_EQ(device.CreateCq(1, nullptr, &cq2), ENOMEM);
  EXPECT_EQ(device.CreateSrq(pd, 1, 1, 0, &srq2), ENOMEM);
  EXPECT_EQ(device.CreateQp(pd, attributes, &qp2), ENOMEM);

  EXPECT_EQ(device.DestroyQp(qp.get()), 0);
  EXPECT_EQ(device.DestroySrq(srq), 0);
  EXPECT_EQ(device.DestroyCq(cq), 0);
  EXPECT_EQ(device.DeregMr(mr), 0);
  EXPECT_EQ(device.RegMr(pd, memory, 9, 0, &mr), ENOMEM);  // max_mr_size
  EXPECT_EQ(device.RegMr(pd, memory, 8, 0, &mr), 0);
  EXPECT_EQ(device.DeregMr(mr), 0);
  EXPECT_EQ(device.DeallocPd(pd), 0);
}

TEST(DeviceLimitsTest, RoundsCompletionQueuesAsTheProfileSays) {
  TestEnvironment environment;
  const auto size = [&](const char* profile, int asked) {
    Device device("d", *FindProfile(profile), 0, environment);
    CompletionQueue* cq = nullptr;
    EXPECT_EQ(device.CreateCq(asked, nullptr, &cq), 0);
    const int got = cq->cqe;
    EXPECT_EQ(device.DestroyCq(cq), 0);
    return got;
  };
  EXPECT_EQ(size("roce", 10), 10);
  EXPECT_EQ(size("iwarp", 10), 10);
  EXPECT_EQ(size("ib", 1), 1);
  EXPECT_EQ(size("ib", 10), 15);
  EXPECT_EQ(size("ib", 15), 15);
  EXPECT_EQ(size("ib", 16), 31);
}

// --- The context

TEST_F(DeviceTest, ItsContextSaysWhatItIs) {
  ibv_context* const context = device_.context();
  EXPECT_STREQ(context->device->name, "emu7");
  EXPECT_EQ(context->device->node_type, IBV_NODE_CA);
  EXPECT_EQ(context->device->transport_type, IBV_TRANSPORT_IB);
  EXPECT_EQ(Device::Of(context), &device_);
  verbs_context foreign{};
  EXPECT_EQ(Device::Of(&foreign.context), nullptr);
  EXPECT_EQ(Device::Of(nullptr), nullptr);

  Device iwarp("siw", *FindProfile("iwarp"), 1, environment_);
  EXPECT_EQ(iwarp.context()->device->node_type, IBV_NODE_RNIC);
  EXPECT_EQ(iwarp.context()->device->transport_type, IBV_TRANSPORT_IWARP);
  EXPECT_NE(iwarp.guid(), device_.guid());
}

// What the inlines ibv_query_device_ex() and ibv_query_port() do with a context
// that has these operations; the inlines themselves would need libibverbs.
int QueryDevice(ibv_context* context, const ibv_query_device_ex_input* input,
                ibv_device_attr_ex* attr) {
  verbs_context* const verbs = verbs_get_ctx(context);
  EXPECT_EQ(verbs->sz, sizeof(verbs_context));
  return verbs->query_device_ex(context, input, attr, sizeof(*attr));
}

int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attr) {
  verbs_context* const verbs = verbs_get_ctx(context);
  EXPECT_EQ(verbs->sz, sizeof(verbs_context));
  return verbs->query_port(context, port, attr, sizeof(*attr));
}

TEST_F(DeviceTest, InlineQueriesGoThroughItsContext) {
  ibv_device_attr_ex attr;
  ASSERT_EQ(QueryDevice(device_.context(), nullptr, &attr), 0);
  const DeviceLimits& limits = device_.profile().limits;
  EXPECT_EQ(attr.orig_attr.max_qp_wr, static_cast<int>(limits.max_qp_wr));
  EXPECT_EQ(attr.orig_attr.max_cqe, static_cast<int>(limits.max_cqe));
  EXPECT_EQ(attr.orig_attr.max_sge, static_cast<int>(limits.max_sge));
  EXPECT_EQ(attr.orig_attr.max_qp_rd_atom, limits.max_qp_rd_atom);
  EXPECT_EQ(attr.orig_attr.node_guid, device_.guid());
  EXPECT_EQ(attr.orig_attr.phys_port_cnt, 1);
  EXPECT_EQ(attr.odp_caps.general_caps, 0u);
  const ibv_query_device_ex_input unknown{.comp_mask = 1};
  EXPECT_EQ(QueryDevice(device_.context(), &unknown, &attr), EINVAL);

  Device with_odp("mlx", *FindProfile("ib"), 1, environment_);
  ASSERT_EQ(QueryDevice(with_odp.context(), nullptr, &attr), 0);
  EXPECT_EQ(attr.odp_caps.general_caps, uint64_t{IBV_ODP_SUPPORT});
  const uint32_t needed = IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  EXPECT_EQ(attr.odp_caps.per_transport_caps.rc_odp_caps & needed, needed);

  ibv_port_attr port;
  ASSERT_EQ(QueryPort(device_.context(), 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(port.max_msg_sz, limits.max_msg_sz);
  EXPECT_EQ(QueryPort(device_.context(), 2, &port), EINVAL);
}

TEST(DeviceContextTest, InlineVerbsMoveData) {
  ConnectedPair pair;
  End& client = pair.client;
  ibv_sge into = pair.server.Sge(64, 8);
  ibv_recv_wr receive{1, nullptr, &into, 1};
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(ibv_post_recv(pair.server.qp.get(), &receive, &bad_receive), 0);
  ASSERT_EQ(ibv_req_notify_cq(pair.server.recv_cq, 0), 0);
  ibv_sge sge = client.Sge(0, 8);
  auto wr = End::Request(2, IBV_WR_SEND, &sge, IBV_SEND_SIGNALED);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(client.qp.get(), &wr, &bad), 0);
  ibv_wc wc;
  ASSERT_EQ(ibv_poll_cq(client.send_cq, 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 2u);
  ASSERT_EQ(ibv_poll_cq(pair.server.recv_cq, 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 1u);
  CompletionQueue* cq = nullptr;
  ASSERT_EQ(pair.server.channel->GetEvent(&cq), 0);
  EXPECT_EQ(cq, pair.server.recv_cq);
  cq->AckEvents(1);
}

TEST(DeviceContextTest, InlineSharedReceivesArePosted) {
  PairOptions options;
  options.with_srq = true;
  options.max_wr = 1;
  ConnectedPair pair(options);
  ibv_recv_wr receive{1, nullptr, nullptr, 0};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_recv(pair.server.srq, &receive, &bad), 0);
  EXPECT_EQ(ibv_post_srq_recv(pair.server.srq, &receive, &bad), ENOMEM);
}

TEST_F(DeviceTest, OtherInlineVerbsAreNotSupported) {
  errno = 0;
  EXPECT_EQ(ibv_alloc_mw(pd_, IBV_MW_TYPE_1), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_mw mw{};
  mw.context = device_.context();
  EXPECT_EQ(ibv_dealloc_mw(&mw), EOPNOTSUPP);
  ibv_alloc_dm_attr dm{};
  EXPECT_EQ(ibv_alloc_dm(device_.context(), &dm), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_advise_mr(pd_, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0),
            EOPNOTSUPP);
}

using DeviceDeathTest = DeviceTest;

TEST_F(DeviceDeathTest, ThePrivateTableStopsWhoeverDispatchesThroughIt) {
  const verbs_context* const verbs = reinterpret_cast<verbs_context*>(
      reinterpret_cast<char*>(device_.context()) -
      offsetof(verbs_context, context));
  EXPECT_DEATH(
      {
        const auto* table = reinterpret_cast<const volatile char*>(verbs->priv);
        static_cast<void>(table[0]);
      },
      "");
}

// --- Async events

TEST_F(DeviceTest, AsyncEventsMakeTheirDescriptorReadable) {
  pollfd entry{device_.context()->async_fd, POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  ibv_async_event event{};
  EXPECT_EQ(device_.GetAsyncEvent(&event), EAGAIN);
  event.event_type = IBV_EVENT_DEVICE_FATAL;
  device_.RaiseAsyncEvent(event);
  EXPECT_EQ(poll(&entry, 1, 0), 1);
  ibv_async_event got{};
  EXPECT_EQ(device_.GetAsyncEvent(&got), 0);
  EXPECT_EQ(got.event_type, IBV_EVENT_DEVICE_FATAL);
  EXPECT_EQ(poll(&entry, 1, 0), 0);
}

TEST_F(DeviceTest, TheOldestAsyncEventsAreDroppedAndCounted) {
  ibv_async_event event{};
  event.event_type = IBV_EVENT_PORT_ACTIVE;
  for (size_t i = 0; i < AsyncEvents::kCapacity + 3; ++i) {
    event.element.port_num = static_cast<int>(i);
    device_.RaiseAsyncEvent(event);
  }
  ASSERT_EQ(device_.GetAsyncEvent(&event), 0);
  EXPECT_EQ(event.element.port_num, 3);
  const auto log = environment_.log();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].level, LOG_WARNING);
  EXPECT_THAT(log[0].text, HasSubstr("3 async events were dropped"));
  for (size_t i = 1; i < AsyncEvents::kCapacity; ++i) {
    ASSERT_EQ(device_.GetAsyncEvent(&event), 0);
  }
  EXPECT_EQ(device_.GetAsyncEvent(&event), EAGAIN);
  EXPECT_EQ(environment_.log().size(), 1u);
}

TEST_F(DeviceTest, EventsOfADestroyedObjectAreRetracted) {
  std::shared_ptr<QueuePair> qp;
  ASSERT_EQ(device_.CreateQp(pd_, QpAttributes(), &qp), 0);
  ibv_async_event event{};
  event.event_type = IBV_EVENT_COMM_EST;
  event.element.qp = qp.get();
  device_.RaiseAsyncEvent(event);
  ibv_async_event other = event;
  other.element.qp = nullptr;
  device_.RaiseAsyncEvent(other);
  device_.RaiseAsyncEvent(event);
  ASSERT_EQ(device_.DestroyQp(qp.get()), 0);
  ASSERT_EQ(device_.GetAsyncEvent(&event), 0);
  EXPECT_EQ(event.element.qp, nullptr);
  EXPECT_EQ(device_.GetAsyncEvent(&event), EAGAIN);
}

// --- Advice

class AdviseTest : public DeviceTest {
 protected:
  AdviseTest() : DeviceTest(*FindProfile("ib")) {}
  int Advise(const MemoryRegion& mr, int advice, size_t offset, uint32_t length,
             uint32_t flags = 0) {
    const ibv_sge range{reinterpret_cast<uint64_t>(memory_) + offset, length,
                        mr.lkey};
    return device_.AdviseMr(pd_, advice, flags, &range, 1);
  }
};

TEST_F(AdviseTest, TakesRangesOfOnDemandRegions) {
  MemoryRegion* mr = nullptr;
  ASSERT_EQ(RegMr(4096, IBV_ACCESS_ON_DEMAND, &mr), 0);
  EXPECT_EQ(Advise(*mr, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, 4096), 0);
  EXPECT_EQ(Advise(*mr, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 4, 8,
                   IBV_ADVISE_MR_FLAG_FLUSH),
            0);
  EXPECT_EQ(Advise(*mr, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, 8), EPERM);
  EXPECT_EQ(Advise(*mr, IBV_ADVISE_MR_ADVICE_PREFETCH, 1, 4096), EFAULT);
  EXPECT_EQ(Advise(*mr, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, 8, 2), EINVAL);
  EXPECT_EQ(Advise(*mr, 3, 0, 8), ENOTSUP);
  EXPECT_EQ(device_.AdviseMr(pd_, 0, 0, nullptr, 0), EINVAL);
  MemoryRegion unknown{};
  EXPECT_EQ(Advise(unknown, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, 8), EFAULT);
  EXPECT_EQ(device_.DeregMr(mr), 0);
}

TEST_F(AdviseTest, RefusesRegionsThatAreNotOnDemand) {
  MemoryRegion* mr = nullptr;
  ASSERT_EQ(RegMr(4096, IBV_ACCESS_LOCAL_WRITE, &mr), 0);
  EXPECT_EQ(Advise(*mr, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, 4096), EINVAL);
  EXPECT_EQ(device_.DeregMr(mr), 0);
}

TEST_F(DeviceTest, WithoutAdviceRefusesIt) {
  EXPECT_EQ(device_.AdviseMr(pd_, 0, 0, nullptr, 0), EOPNOTSUPP);
}

}  // namespace
}  // namespace rpma::emu
