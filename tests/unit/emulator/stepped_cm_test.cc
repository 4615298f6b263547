// SPDX-License-Identifier: BSD-3-Clause
// The connection manager of a stepped fabric.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syslog.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint64_t kSeeds = 64;
constexpr uint16_t kPort = 7204;

// Two ids that connect on one stepped fabric, and words for what they do. The
// channels block.
class SteppedCmTest : public testing::Test {
 protected:
  void Start(uint64_t seed, const std::string& more = {}) {
    std::string error;
    ASSERT_EQ(Fabric::Create(
                  "schedule=stepped seed=" + std::to_string(seed) + " " + more,
                  &fabric_, &error),
              0)
        << error;
    Device* const device = fabric_->FindDevice("emu0");
    fabric_->SetLogSink([](int level, const char* text) {
      if (level == LOG_CRIT) report += std::string(text) + "\n";
    });
    report.clear();
    ASSERT_EQ(device->AllocPd(&pd_), 0);
    ASSERT_EQ(device->CreateCq(100, nullptr, &cq_), 0);
    channel_ = NewChannel();
    listener_ = NewId(channel_);
    ASSERT_EQ(cm().BindAddr(listener_, Address("127.0.0.1", kPort)), 0);
    ASSERT_EQ(cm().Listen(listener_, 0), 0);
  }

  void TearDown() override {
    if (fabric_ != nullptr) Stop();
  }

  void Stop() {
    Device* const device = fabric_->FindDevice("emu0");
    if (listener_ != nullptr) Destroy(std::exchange(listener_, nullptr));
    for (rdma_event_channel* const channel : std::exchange(channels_, {})) {
      cm().DestroyEventChannel(channel);
    }
    EXPECT_EQ(device->DestroyCq(cq_), 0);
    EXPECT_EQ(device->DeallocPd(pd_), 0);
    EXPECT_EQ(fabric_->TakeCensus().cm.ids, 0u);
    fabric_.reset();
  }

  ConnectionManager& cm() { return fabric_->cm(); }
  Scheduler& scheduler() { return *fabric_->scheduler(); }

  rdma_event_channel* NewChannel() {
    rdma_event_channel* channel = nullptr;
    EXPECT_EQ(cm().CreateEventChannel(&channel), 0);
    channels_.push_back(channel);
    return channel;
  }

  rdma_cm_id* NewId(rdma_event_channel* channel) {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(cm().CreateId(channel, &id), 0);
    return id;
  }

  // An id with a route, a QP and a channel of its own.
  rdma_cm_id* NewActive(const char* ip = "127.0.0.1") {
    rdma_cm_id* const id = NewId(nullptr);
    EXPECT_EQ(cm().ResolveAddr(id, nullptr, Address(ip, kPort)), 0);
    EXPECT_EQ(cm().ResolveRoute(id), 0);
    Equip(id);
    return id;
  }

  void Equip(rdma_cm_id* id) {
    EXPECT_EQ(cm().MigrateId(id, NewChannel()), 0);
    EXPECT_EQ(cm().CreateQp(id, pd_,
                            {.send_cq = cq_,
                             .recv_cq = cq_,
                             .max_send_wr = 10,
                             .max_recv_wr = 10,
                             .max_send_sge = 1,
                             .max_recv_sge = 1}),
              0);
  }

  void Connect(rdma_cm_id* id, uint8_t mark = 0) {
    rdma_conn_param param{};
    param.private_data = &mark;
    param.private_data_len = 1;
    param.retry_count = 7;
    EXPECT_EQ(cm().Connect(id, param), 0);
  }

  // The next request, with a QP. `mark` is what it was sent with.
  rdma_cm_id* TakeRequest(uint8_t* mark = nullptr) {
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(cm().GetEvent(channel_, &event), 0);
    EXPECT_EQ(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
    if (mark != nullptr) {
      *mark = *static_cast<const uint8_t*>(event->param.conn.private_data);
    }
    rdma_cm_id* const id = event->id;
    EXPECT_EQ(cm().AckEvent(event), 0);
    Equip(id);
    return id;
  }

  // The next request, accepted, with a SEND that waits for the other end.
  rdma_cm_id* TakeAndSend() {
    rdma_cm_id* const id = TakeRequest();
    EXPECT_EQ(cm().Accept(id, {}), 0);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(static_cast<QueuePair*>(id->qp)->PostSend(&wr, &bad), 0);
    return id;
  }

  rdma_cm_event_type Next(rdma_cm_id* id) {
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(cm().GetEvent(id->channel, &event), 0);
    const rdma_cm_event_type type = event->event;
    EXPECT_EQ(cm().AckEvent(event), 0);
    return type;
  }

  void Destroy(rdma_cm_id* id) {
    if (id->qp != nullptr) {
      EXPECT_EQ(cm().DestroyQp(id), 0);
    }
    EXPECT_EQ(cm().DestroyId(id), 0);
  }

  void RunDry() {
    while (scheduler().Step()) continue;
  }

  static std::string report;

  std::unique_ptr<Fabric> fabric_;
  ProtectionDomain* pd_ = nullptr;
  CompletionQueue* cq_ = nullptr;
  std::vector<rdma_event_channel*> channels_;
  rdma_event_channel* channel_ = nullptr;  // of the listener
  rdma_cm_id* listener_ = nullptr;
};

std::string SteppedCmTest::report;

// --- Messages ----------------------------------------------------------------

TEST_F(SteppedCmTest, OneStepDeliversOneMessage) {
  Start(0);
  rdma_cm_id* const active = NewActive();
  pollfd readable = {.fd = channel_->fd, .events = POLLIN, .revents = 0};
  Connect(active);
  EXPECT_EQ(poll(&readable, 1, 0), 0);
  EXPECT_TRUE(scheduler().Step());
  EXPECT_EQ(poll(&readable, 1, 0), 1);
  EXPECT_FALSE(scheduler().Step());
  Destroy(active);
}

TEST_F(SteppedCmTest, WaitingForEventsRunsTheWorld) {
  Start(0);
  rdma_cm_id* const active = NewActive();
  Connect(active);
  rdma_cm_id* const passive = TakeRequest();
  EXPECT_EQ(cm().Accept(passive, {}), 0);
  EXPECT_EQ(Next(active), RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(Next(passive), RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(cm().Disconnect(active), 0);
  EXPECT_EQ(Next(passive), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(cm().Disconnect(passive), 0);
  EXPECT_EQ(Next(active), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(Next(passive), RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_EQ(Next(active), RDMA_CM_EVENT_TIMEWAIT_EXIT);
  Destroy(active);
  Destroy(passive);
}

TEST_F(SteppedCmTest, RequestsOfTwoIdsArriveInAnyOrder) {
  std::set<uint8_t> first_marks;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Start(seed);
    rdma_cm_id* const actives[] = {NewActive(), NewActive()};
    Connect(actives[0], 10);
    Connect(actives[1], 20);
    uint8_t mark = 0;
    Destroy(TakeRequest(&mark));
    first_marks.insert(mark);
    for (rdma_cm_id* const active : actives) Destroy(active);
    Stop();
  }
  EXPECT_THAT(first_marks, ElementsAre(10, 20));
}

// A DREQ that overtook the RTU would end a connection that the passive end has
// not seen.
TEST_F(SteppedCmTest, MessagesOfOneIdKeepTheirOrder) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Start(seed);
    rdma_cm_id* const active = NewActive();
    Connect(active);
    rdma_cm_id* const passive = TakeRequest();
    EXPECT_EQ(cm().Accept(passive, {}), 0);
    EXPECT_EQ(Next(active), RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(cm().Disconnect(active), 0);
    EXPECT_EQ(Next(passive), RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(Next(passive), RDMA_CM_EVENT_DISCONNECTED);
    Destroy(active);
    Destroy(passive);
    Stop();
  }
}

TEST_F(SteppedCmTest, BothEndsMayDisconnectAtATime) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Start(seed);
    rdma_cm_id* const active = NewActive();
    Connect(active);
    rdma_cm_id* const passive = TakeRequest();
    EXPECT_EQ(cm().Accept(passive, {}), 0);
    EXPECT_EQ(Next(active), RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(Next(passive), RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(cm().Disconnect(active), 0);
    EXPECT_EQ(cm().Disconnect(passive), 0);
    EXPECT_EQ(Next(active), RDMA_CM_EVENT_DISCONNECTED);
    EXPECT_EQ(Next(passive), RDMA_CM_EVENT_DISCONNECTED);
    Destroy(active);
    Destroy(passive);
    Stop();
  }
}

TEST_F(SteppedCmTest, TimeOutsTakeVirtualTimeOnly) {
  Start(0, "timers=hardware");
  std::string error;
  ASSERT_EQ(fabric_->AddRoute("192.0.2.1", "emu0", &error), 0) << error;
  rdma_cm_id* const active = NewActive("192.0.2.1");
  Connect(active);
  EXPECT_EQ(Next(active), RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_GT(fabric_->timers().Now().time_since_epoch(),
            std::chrono::seconds(50));
  Destroy(active);
}

TEST_F(SteppedCmTest, RequestsEndWithTheHopeForAConnection) {
  Start(0);
  std::string error;
  ASSERT_EQ(
      fabric_->SetFaults({{.site = FaultSite::kRep, .from = true}}, &error), 0)
      << error;
  rdma_cm_id* const active = NewActive();
  Connect(active);
  // As nobody answers, the active end asks again, which is another request.
  rdma_cm_id* const passives[] = {TakeAndSend(), TakeAndSend()};
  for (rdma_cm_id* const passive : passives) {
    EXPECT_EQ(Next(passive), RDMA_CM_EVENT_UNREACHABLE);
  }
  RunDry();
  ibv_wc wcs[2];
  ASSERT_EQ(cq_->Poll(2, wcs), 2);
  for (const ibv_wc& wc : wcs) EXPECT_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
  Destroy(active);
  for (rdma_cm_id* const passive : passives) Destroy(passive);
}

// --- Waits -------------------------------------------------------------------

TEST_F(SteppedCmTest, ANonBlockingWaitMakesOneStep) {
  Start(0);
  ASSERT_EQ(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), 0);
  rdma_cm_id* const active = NewActive();
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(cm().GetEvent(channel_, &event), EAGAIN);
  Connect(active);
  ASSERT_EQ(cm().GetEvent(channel_, &event), 0);
  Equip(event->id);
  Destroy(event->id);
  EXPECT_EQ(cm().AckEvent(event), 0);
  Destroy(active);
  EXPECT_EQ(report, "");
}

TEST_F(SteppedCmTest, WaitingForWhatNeverComesFails) {
  Start(0);
  rdma_cm_id* const active = NewActive();
  Connect(active);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(cm().GetEvent(active->channel, &event), EDEADLK);
  EXPECT_EQ(event, nullptr);
  EXPECT_THAT(
      report,
      AllOf(HasSubstr("waits in GetCmEvent on event channel 2"),
            HasSubstr("CM id 1 has an event, CONNECT_REQUEST, that nobody "
                      "fetched from event channel 1"),
            HasSubstr("CM id 2 waits for its peer to accept or reject"),
            HasSubstr("CM id 3 waits for the program to accept or reject it")));
  Destroy(active);
}

TEST_F(SteppedCmTest, AnIdWithAnUnacknowledgedEventIsNotDestroyed) {
  Start(0);
  rdma_cm_id* const active = NewActive();
  Connect(active);
  rdma_cm_event* event = nullptr;
  ASSERT_EQ(cm().GetEvent(channel_, &event), 0);
  EXPECT_EQ(cm().DestroyId(listener_), EDEADLK);
  EXPECT_THAT(report,
              AllOf(HasSubstr("waits in DestroyId on CM id 1"),
                    HasSubstr("CM id 1 waits for the program to acknowledge "
                              "CONNECT_REQUEST")));
  EXPECT_EQ(fabric_->TakeCensus().cm.ids, 3u);
  Equip(event->id);
  Destroy(event->id);
  EXPECT_EQ(cm().AckEvent(event), 0);
  EXPECT_EQ(cm().DestroyId(std::exchange(listener_, nullptr)), 0);
  Destroy(active);
}

TEST_F(SteppedCmTest, AnIdWithAnUnacknowledgedEventIsNotMoved) {
  Start(0);
  rdma_cm_id* const active = NewActive();
  rdma_event_channel* const before = active->channel;
  Connect(active);
  rdma_cm_id* const passive = TakeRequest();
  EXPECT_EQ(cm().Accept(passive, {}), 0);
  rdma_cm_event* event = nullptr;
  ASSERT_EQ(cm().GetEvent(before, &event), 0);
  rdma_event_channel* const channel = NewChannel();
  EXPECT_EQ(cm().MigrateId(active, channel), EDEADLK);
  EXPECT_EQ(active->channel, before);
  EXPECT_EQ(cm().AckEvent(event), 0);
  EXPECT_EQ(cm().MigrateId(active, channel), 0);
  EXPECT_EQ(active->channel, channel);
  Destroy(active);
  Destroy(passive);
}

// --- Streams -----------------------------------------------------------------

TEST_F(SteppedCmTest, WhatTcpHasSentArrivesThoughItsSenderHasGone) {
  Start(0, "profile=iwarp");
  rdma_cm_id* const active = NewActive();
  Connect(active);
  rdma_cm_id* const passive = TakeRequest();
  EXPECT_EQ(cm().Accept(passive, {}), 0);
  Destroy(passive);
  EXPECT_EQ(Next(active), RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(Next(active), RDMA_CM_EVENT_DISCONNECTED);
  Destroy(active);
}

// --- History -----------------------------------------------------------------

TEST_F(SteppedCmTest, ASeedHasOneHistoryAndSeedsDiffer) {
  const auto hash = [this](uint64_t seed) {
    Start(seed);
    rdma_cm_id* const actives[] = {NewActive(), NewActive()};
    for (rdma_cm_id* const active : actives) Connect(active);
    rdma_cm_id* const passives[] = {TakeRequest(), TakeRequest()};
    for (rdma_cm_id* const passive : passives) {
      EXPECT_EQ(cm().Accept(passive, {}), 0);
    }
    for (rdma_cm_id* const active : actives) {
      EXPECT_EQ(Next(active), RDMA_CM_EVENT_ESTABLISHED);
    }
    for (rdma_cm_id* const passive : passives) Destroy(passive);
    RunDry();
    const uint64_t result = scheduler().trace().hash();
    for (rdma_cm_id* const active : actives) Destroy(active);
    Stop();
    return result;
  };
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const uint64_t first = hash(seed);
    EXPECT_EQ(hash(seed), first);
    hashes.insert(first);
  }
  EXPECT_GT(hashes.size(), 5u);
}

}  // namespace
}  // namespace rpma::emu
