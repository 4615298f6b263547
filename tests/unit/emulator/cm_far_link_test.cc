// SPDX-License-Identifier: BSD-3-Clause
// What only happens between two processes: ports that the other one has, a link
// without room, a process that does not run, messages that cross.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <random>
#include <string>
#include <vector>

#include "emulator/timer.h"
#include "tests/unit/emulator/cm_story.h"

namespace rpma::emu {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;
using std::chrono_literals::operator""ms;

constexpr char kRejectedNobodyListens[] = "sees 8, status 8,";
constexpr char kUnreachable[] = "sees 7, status -110,";
constexpr char kEstablished[] = "sees 9, status 0,";
constexpr char kDisconnected[] = "sees 10, status 0,";
constexpr char kTimeWaitExit[] = "sees 15, status 0,";

// More than once, those that wait for another process.
void LetTimersExpire(Story& story) {
  std::promise<void> expired;
  Timer timer(story.fabric(kClient).timers(), [&] { expired.set_value(); });
  ASSERT_TRUE(timer.Arm(600ms));
  expired.get_future().wait();
}

class CmFarLinkTest : public testing::TestWithParam<const char*> {
 protected:
  Story story{GetParam(), /*is_far=*/true};
};

INSTANTIATE_TEST_SUITE_P(Profiles, CmFarLinkTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

// --- Ports

TEST_P(CmFarLinkTest, APortOfAnotherProcessIsTaken) {
  story.Listen();
  ConnectionManager& cm = story.cm(kClient);
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm.CreateId(nullptr, &id), 0);
  EXPECT_EQ(cm.BindAddr(id, Address("127.0.0.1", Story::kPort)), EADDRINUSE);
  EXPECT_EQ(id->verbs, nullptr);
  EXPECT_EQ(cm.BindAddr(id, Address("127.0.0.1", Story::kPort + 1)), 0);
  EXPECT_EQ(cm.DestroyId(id), 0);
}

TEST_P(CmFarLinkTest, APortIsFreeOnceItsIdIsDestroyed) {
  story.Listen();
  story.StopListening();
  ConnectionManager& cm = story.cm(kClient);
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm.CreateId(nullptr, &id), 0);
  EXPECT_EQ(cm.BindAddr(id, Address("127.0.0.1", Story::kPort)), 0);
  EXPECT_EQ(cm.DestroyId(id), 0);
}

TEST_P(CmFarLinkTest, AFreePortIsFreeInAllProcesses) {
  std::array<rdma_cm_id*, 2> ids{};
  for (const Side side : {kClient, kServer}) {
    ConnectionManager& cm = story.cm(side);
    ASSERT_EQ(cm.CreateId(nullptr, &ids[side]), 0);
    ASSERT_EQ(cm.BindAddr(ids[side], Address("127.0.0.1", 0)), 0);
  }
  EXPECT_NE(ids[kClient]->route.addr.src_sin.sin_port,
            ids[kServer]->route.addr.src_sin.sin_port);
  for (const Side side : {kClient, kServer}) {
    EXPECT_EQ(story.cm(side).DestroyId(ids[side]), 0);
  }
}

// --- Finding the server

TEST_P(CmFarLinkTest, ARouteLeadsToAnAddressOfAnotherProcess) {
  story.MoveServer();
  story.Establish();
  EXPECT_THAT(story.lines(kClient), Contains(StartsWith(kEstablished)));
  EXPECT_THAT(story.lines(kServer), Contains(StartsWith(kEstablished)));
}

TEST(CmFarStoppedTest, AProcessThatDoesNotRunIsUnreachable) {
  Story story("roce", /*is_far=*/true);
  story.Listen();
  story.node(kClient).is_stopped = true;
  story.Connect();
  story.See(kClient);
  EXPECT_THAT(story.lines(kClient), Contains(StartsWith(kUnreachable)));
}

TEST(CmFarStoppedTest, AProcessThatStopsIsUnreachable) {
  Story story("roce", /*is_far=*/true);
  story.Listen();
  story.Connect();
  while (!story.HasEvent(kClient)) LetTimersExpire(story);
  story.SeeTheRest();
  EXPECT_THAT(story.lines(kClient), Contains(StartsWith(kUnreachable)));
}

TEST_P(CmFarLinkTest, ALinkThatJustEndedIsNoAnswer) {
  story.Listen();
  story.link(kClient).Kill();
  story.Connect();
  EXPECT_EQ(story.fabric(kClient).TakeCensus().cm.far_ids, 0u);
}

TEST(CmFarKindTest, DevicesOfDifferentKindsDoNotConnect) {
  Story story("roce", "iwarp", /*is_far=*/true);
  story.Listen();
  story.Connect();
  story.See(kClient);
  EXPECT_THAT(story.lines(kClient),
              Contains(StartsWith(kRejectedNobodyListens)));
}

// --- Waiting

TEST_P(CmFarLinkTest, ARequestThatFindsNoRoomIsSentAgain) {
  story.Listen();
  story.SetFaults({});
  story.link(kClient).Fill(true);
  story.Connect({1});
  story.AwaitMessages(kClient, 2);
  story.link(kClient).Fill(false);
  story.SeeRequest();
  EXPECT_THAT(story.lines(kServer), Contains(HasSubstr("data 1")));
}

TEST_P(CmFarLinkTest, ARequestOnItsWayIsNotSentAgain) {
  story.Listen();
  story.SetFaults({});
  story.Connect({1});
  LetTimersExpire(story);
  EXPECT_EQ(story.fabric(kClient).fault_counts().messages, 1u);
  story.SeeRequest();
  story.Reject({2});
  story.See(kClient);
  story.SeeTheRest();
  EXPECT_EQ(story.lines(kServer).size(), 3u) << "one request and its end";
}

TEST_P(CmFarLinkTest, ARequestThatArrivedMayTakeItsTime) {
  story.Request();
  story.Pump();
  story.SetFaults({});
  LetTimersExpire(story);
  EXPECT_EQ(story.fabric(kClient).fault_counts().messages, 0u);
}

TEST_P(CmFarLinkTest, WithoutNewsOfItsArrivalARequestIsSentAgain) {
  story.Listen();
  story.Connect();
  ASSERT_TRUE(story.PumpOne(kClient));
  EXPECT_EQ(story.link(kServer).Lose(), 1u);
  story.SetFaults({});
  story.AwaitMessages(kClient, 1);
  story.SeeRequest();
  story.Accept();
  story.See(kClient);
  EXPECT_THAT(story.lines(kClient), Contains(StartsWith(kEstablished)));
}

// --- Messages that cross

TEST_P(CmFarLinkTest, BothEndsMayDisconnectAtOnce) {
  story.Establish();
  story.Disconnect(kClient);
  story.Disconnect(kServer);
  for (const Side side : {kClient, kServer}) {
    story.See(side);
    EXPECT_THAT(story.lines(side), Contains(StartsWith(kDisconnected)));
  }
  if (story.iwarp()) return;
  story.Disconnect(kClient);
  story.Disconnect(kServer);
  for (const Side side : {kClient, kServer}) {
    story.See(side);
    EXPECT_THAT(story.lines(side), Contains(StartsWith(kTimeWaitExit)));
  }
}

TEST_P(CmFarLinkTest, ADisconnectionCrossesTheEndOfTheOtherId) {
  for (const Side destroyed : {kClient, kServer}) {
    Story crossing(GetParam(), /*is_far=*/true);
    const Side other = destroyed == kClient ? kServer : kClient;
    crossing.Establish();
    crossing.Disconnect(other);
    crossing.Destroy(destroyed);
    crossing.See(other);
    EXPECT_THAT(crossing.lines(other), Contains(StartsWith(kDisconnected)));
  }
}

TEST_P(CmFarLinkTest, ARejectionCrossesTheWithdrawal) {
  story.Request();
  story.Reject({});
  story.Destroy(kClient);
  story.SeeTheRest();
  EXPECT_EQ(story.fabric(kServer).TakeCensus().cm.far_ids, 1u)
      << "as long as the rejected id is there";
}

TEST_P(CmFarLinkTest, NothingStaysOfRequestsThatWereRefused) {
  for (uint8_t i = 0; i < 3; ++i) {
    story.Listen(1);
    story.Connect();
    story.Pump();
    story.Connect();
    story.Pump();
    EXPECT_EQ(story.fabric(kServer).TakeCensus().cm.far_ids, 1u);
    story.StopListening();
    EXPECT_EQ(story.fabric(kServer).TakeCensus().cm.far_ids, 0u);
  }
}

// --- A process that sends what makes no sense

class CmFarNonsenseTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Profiles, CmFarNonsenseTest,
                         testing::Values("roce", "iwarp"), ProfileName);

wire::CmBody AnyBody(std::mt19937& random) {
  const auto below = [&](uint32_t end) {
    return static_cast<uint32_t>(random() % end);
  };
  wire::CmBody body{};
  body.kind = static_cast<wire::CmKind>(
      below(static_cast<uint32_t>(wire::CmKind::kGiveUp) + 1));
  body.from_id = below(5) + (body.kind == wire::CmKind::kReq ? 1 : 0);
  body.to_id = below(5);
  body.iwarp = static_cast<uint8_t>(below(2));
  body.on = static_cast<uint8_t>(below(2));
  body.qp_num = below(3);
  body.source = wire::ToCmAddress(*Address("127.0.0.1", Story::kPort));
  body.destination = body.source;
  return body;
}

TEST_P(CmFarNonsenseTest, DoesNoHarm) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    Story story(GetParam(), /*is_far=*/true);
    story.Listen(3);
    story.Connect({1});
    story.SeeRequest();
    for (int i = 0; i < 100; ++i) {
      const Side side = random() % 2 == 0 ? kClient : kServer;
      if (i == 30) story.Accept();
      if (i == 60) story.Disconnect(kServer);
      if (i == 90) story.Destroy(kClient);
      story.cm(side).OnCm(story.link(side), AnyBody(random), {});
      if (random() % 4 == 0) story.SeeTheRest();
    }
    story.SeeTheRest();
  }
}

}  // namespace
}  // namespace rpma::emu
