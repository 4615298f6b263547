// SPDX-License-Identifier: BSD-3-Clause
// Event channels: their descriptors, and what acknowledging and migrating mean.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

class CmEventsTest : public CmFixture {
 protected:
  void SetUp() override { Start(""); }

  // Two unread events: ADDR_RESOLVED and ROUTE_RESOLVED.
  void QueueTwoEvents(rdma_cm_id* id) {
    ASSERT_EQ(cm().ResolveAddr(id, nullptr, Address("127.0.0.1", kPort)), 0);
    ASSERT_EQ(cm().ResolveRoute(id), 0);
  }
};

// True if `call` is still under way after a while that is long for it.
bool Blocks(std::future<int>& call) {
  return call.wait_for(std::chrono::milliseconds(20)) ==
         std::future_status::timeout;
}

TEST_F(CmEventsTest, TheDescriptorIsReadableWhileEventsAreUnread) {
  End end(cm());
  EXPECT_TRUE(end.channel().IsEmpty());
  QueueTwoEvents(end.id());
  EXPECT_FALSE(end.channel().IsEmpty());
  EXPECT_EQ(end.Next().type, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_FALSE(end.channel().IsEmpty());
  EXPECT_EQ(end.Next().type, RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_TRUE(end.channel().IsEmpty());
}

TEST_F(CmEventsTest, EveryEventIsAnEdge) {
  End end(cm());
  const int epoll = epoll_create1(0);
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, end.channel().fd(), &wanted), 0);
  epoll_event got{};
  ASSERT_EQ(cm().ResolveAddr(end.id(), nullptr, Address("127.0.0.1", kPort)),
            0);
  EXPECT_EQ(epoll_wait(epoll, &got, 1, kPatienceMs), 1);
  EXPECT_EQ(epoll_wait(epoll, &got, 1, 0), 0);
  ASSERT_EQ(cm().ResolveRoute(end.id()), 0);
  EXPECT_EQ(epoll_wait(epoll, &got, 1, kPatienceMs), 1);
  close(epoll);
}

TEST_F(CmEventsTest, AnEmptyNonBlockingChannelAnswersEagain) {
  Channel channel(cm());
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(cm().GetEvent(channel.get(), &event), EAGAIN);
  EXPECT_EQ(event, nullptr);
}

TEST(CmEventsOptionTest, AnEmptyNonBlockingChannelAnswersEnodataIfToldTo) {
  std::unique_ptr<Fabric> fabric;
  std::string error;
  ASSERT_EQ(Fabric::Create("empty_channel_errno=ENODATA", &fabric, &error), 0);
  Channel channel(fabric->cm());
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(fabric->cm().GetEvent(channel.get(), &event), ENODATA);
}

TEST_F(CmEventsTest, ABlockingGetEventWaitsForTheEvent) {
  End end(cm());
  ASSERT_EQ(fcntl(end.channel().fd(), F_SETFL, 0), 0);
  std::future<int> fetched = std::async(std::launch::async, [&] {
    rdma_cm_event* event = nullptr;
    const int error = cm().GetEvent(end.channel().get(), &event);
    return error != 0 ? error : cm().AckEvent(event);
  });
  EXPECT_TRUE(Blocks(fetched));

  ASSERT_EQ(cm().ResolveAddr(end.id(), nullptr, Address("127.0.0.1", kPort)),
            0);

  EXPECT_EQ(fetched.get(), 0);
}

TEST_F(CmEventsTest, ASignalHandlerInterruptsABlockingGetEvent) {
  struct sigaction handler {};
  handler.sa_handler = [](int) {};
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);
  End end(cm());
  ASSERT_EQ(fcntl(end.channel().fd(), F_SETFL, 0), 0);
  std::atomic<bool> interrupted = false;
  std::thread waiter([&] {
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(cm().GetEvent(end.channel().get(), &event), EINTR);
    interrupted = true;
  });
  while (!interrupted) {
    pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  waiter.join();
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST_F(CmEventsTest, DestroyingDropsUnreadEvents) {
  Channel channel(cm());
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm().CreateId(channel.get(), &id), 0);
  QueueTwoEvents(id);
  ASSERT_EQ(cm().DestroyId(id), 0);
  EXPECT_TRUE(channel.IsEmpty());
}

TEST_F(CmEventsTest, DestroyingWaitsForEventsThatWereHandedOut) {
  Channel channel(cm());
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm().CreateId(channel.get(), &id), 0);
  QueueTwoEvents(id);
  rdma_cm_event* const event = channel.Fetch();
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(fabric().TakeCensus().cm.unacked_events, 1u);

  std::future<int> destroyed =
      std::async(std::launch::async, [&] { return cm().DestroyId(id); });
  EXPECT_TRUE(Blocks(destroyed));
  EXPECT_EQ(cm().AckEvent(event), 0);

  EXPECT_EQ(destroyed.get(), 0);
}

TEST_F(CmEventsTest, AConnectRequestIsAccountedToTheListener) {
  auto listener = NewListener();
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  rdma_cm_event* const request = listener->channel().Fetch();
  ASSERT_NE(request, nullptr);

  // The new id does not wait for it, the listener does.
  EXPECT_EQ(cm().DestroyId(request->id), 0);
  std::future<int> destroyed = std::async(std::launch::async, [&] {
    listener->Destroy();
    return 0;
  });
  EXPECT_TRUE(Blocks(destroyed));
  EXPECT_EQ(cm().AckEvent(request), 0);
  EXPECT_EQ(destroyed.get(), 0);
}

TEST_F(CmEventsTest, MigratingMovesUnreadEventsInOrder) {
  Channel from(cm());
  Channel to(cm());
  rdma_cm_id* id = nullptr;
  rdma_cm_id* other = nullptr;
  ASSERT_EQ(cm().CreateId(from.get(), &id), 0);
  ASSERT_EQ(cm().CreateId(from.get(), &other), 0);
  QueueTwoEvents(id);
  ASSERT_EQ(cm().ResolveAddr(other, nullptr, Address("127.0.0.1", kPort)), 0);

  ASSERT_EQ(cm().MigrateId(id, to.get()), 0);

  EXPECT_EQ(id->channel, to.get());
  EXPECT_EQ(to.Next().type, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(to.Next().type, RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_TRUE(to.IsEmpty());
  EXPECT_EQ(from.Next().id, other);
  EXPECT_TRUE(from.IsEmpty());
  EXPECT_EQ(cm().DestroyId(id), 0);
  EXPECT_EQ(cm().DestroyId(other), 0);
}

TEST_F(CmEventsTest, MigratingWaitsForEventsThatWereHandedOut) {
  Channel from(cm());
  Channel to(cm());
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm().CreateId(from.get(), &id), 0);
  QueueTwoEvents(id);
  rdma_cm_event* const event = from.Fetch();
  ASSERT_NE(event, nullptr);

  std::future<int> migrated = std::async(
      std::launch::async, [&] { return cm().MigrateId(id, to.get()); });
  EXPECT_TRUE(Blocks(migrated));
  EXPECT_EQ(cm().AckEvent(event), 0);

  EXPECT_EQ(migrated.get(), 0);
  EXPECT_EQ(to.Next().type, RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_EQ(cm().DestroyId(id), 0);
}

TEST_F(CmEventsTest, EventsOfAnIdWithoutChannelWaitForOne) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  ASSERT_EQ(cm().MigrateId(ends.passive->id(), nullptr), 0);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  EXPECT_TRUE(ends.passive->channel().IsEmpty());

  ASSERT_EQ(cm().MigrateId(ends.passive->id(), ends.passive->channel().get()),
            0);

  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmEventsTest, AMigratedRequestGetsItsEventsOnItsOwnChannel) {
  const auto listener = NewListener();
  const Connection ends = Accepted(*listener);
  ASSERT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_TRUE(listener->channel().IsEmpty());
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
}

TEST_F(CmEventsTest, AListenerTakesItsRequestsAlong) {
  const auto listener = NewListener();
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  Channel to(cm());
  ASSERT_EQ(cm().MigrateId(listener->id(), to.get()), 0);

  const Seen request = to.Next();

  EXPECT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(request.id->channel, to.get());
  EXPECT_EQ(cm().DestroyId(request.id), 0);
  listener->Destroy();
}

TEST_F(CmEventsTest, AChannelThatIdsUseStays) {
  static int logged;
  logged = 0;
  fabric().SetLogSink([](int, const char*) { ++logged; });
  rdma_event_channel* channel = nullptr;
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm().CreateEventChannel(&channel), 0);
  ASSERT_EQ(cm().CreateId(channel, &id), 0);

  cm().DestroyEventChannel(channel);

  EXPECT_EQ(logged, 1);
  EXPECT_EQ(fabric().TakeCensus().cm.event_channels, 1u);
  ASSERT_EQ(cm().DestroyId(id), 0);
  cm().DestroyEventChannel(channel);
  EXPECT_EQ(fabric().TakeCensus().cm.event_channels, 0u);
}

TEST_F(CmEventsTest, AcknowledgingNothingIsInvalid) {
  EXPECT_EQ(cm().AckEvent(nullptr), EINVAL);
}

}  // namespace
}  // namespace rpma::emu
