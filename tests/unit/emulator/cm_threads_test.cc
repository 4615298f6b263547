// SPDX-License-Identifier: BSD-3-Clause
// Many threads on one fabric, and many connections one after another.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

using CmThreadsTest = CmProfileTest;
INSTANTIATE_TEST_SUITE_P(Profiles, CmThreadsTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

auto OpenDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

TEST_P(CmThreadsTest, AThousandConnectionsLeaveNothingBehind) {
  const auto listener = NewListener();
  { const Connection first = Connect(*listener); }
  const auto descriptors = OpenDescriptors();
  for (int i = 0; i < 1000; ++i) {
    const Connection ends = Connect(*listener);
    if (i % 2 == 0) {
      ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
      ASSERT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
    }
  }
  EXPECT_EQ(OpenDescriptors(), descriptors);
  EXPECT_EQ(fabric().TakeCensus().cm.ids, 1u);
  EXPECT_EQ(fabric().TakeCensus().cm.event_channels, 1u);
  EXPECT_EQ(fabric().TakeCensus().verbs.qps, 0u);
}

// Takes requests until `stop`: accepts most, rejects some, drops some, and lets
// go of the connections in different ways.
void Serve(ConnectionManager& cm, rdma_event_channel* requests,
           const std::atomic<bool>& stop,
           const std::function<void(rdma_cm_id*)>& give_qp) {
  for (unsigned turn = 0; !stop; ++turn) {
    rdma_cm_event* event = nullptr;
    if (cm.GetEvent(requests, &event) != 0) {
      std::this_thread::yield();
      continue;
    }
    rdma_cm_id* const id = event->id;
    ASSERT_EQ(cm.AckEvent(event), 0);
    End passive(cm, id);
    give_qp(id);
    if (turn % 7 == 1) {
      (void)cm.Reject(id, nullptr, 0);  // EINVAL if it was withdrawn
      continue;
    }
    if (turn % 7 == 2) continue;
    rdma_conn_param param{};
    param.responder_resources = param.initiator_depth = 255;
    if (cm.Accept(id, param) != 0) continue;
    if (turn % 7 == 3) continue;
    const Seen established = passive.Next();
    if (established.type != RDMA_CM_EVENT_ESTABLISHED) continue;
    if (turn % 2 == 0) (void)cm.Disconnect(id);
    EXPECT_EQ(passive.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  }
}

TEST_P(CmThreadsTest, ClientsAndServersRaceThroughAllStates) {
  constexpr int kClients = 3;
  constexpr int kServers = 2;
  constexpr int kRounds = 150;
  const auto listener = NewListener();
  std::atomic<bool> stop = false;
  std::vector<std::thread> servers;
  for (int i = 0; i < kServers; ++i) {
    servers.emplace_back([&] {
      Serve(cm(), listener->channel().get(), stop,
            [this](rdma_cm_id* id) { GiveQp(id); });
    });
  }
  std::atomic<int> established = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        const auto active = NewActive();
        ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
        if (round % 10 == i) continue;  // withdrawn, at whatever state it is
        if (active->Next().type != RDMA_CM_EVENT_ESTABLISHED) continue;
        ++established;
        if (round % 3 != 0) continue;
        EXPECT_EQ(cm().Disconnect(active->id()), 0);
        EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  stop = true;
  for (std::thread& server : servers) server.join();
  EXPECT_GT(established, 0);
}

TEST_P(CmThreadsTest, BothEndsAreDestroyedAtOnce) {
  const auto listener = NewListener();
  for (int i = 0; i < 200; ++i) {
    const Connection ends = Connect(*listener);
    std::thread other([&] { ends.passive->Destroy(); });
    ends.active->Destroy();
    other.join();
  }
}

TEST_P(CmThreadsTest, AcceptRacesWithTheWithdrawalOfTheRequest) {
  const auto listener = NewListener();
  for (int i = 0; i < 200; ++i) {
    const Connection ends = Requested(*listener);
    std::thread other([&] { ends.active->Destroy(); });
    const int error = cm().Accept(ends.passive->id(), Param());
    other.join();
    if (error != 0) {
      EXPECT_EQ(error, EINVAL);
      EXPECT_TRUE(ends.passive->channel().IsEmpty());
      continue;
    }
    // Accepted first: the destruction followed.
    const rdma_cm_event_type type = ends.passive->Next().type;
    if (type == RDMA_CM_EVENT_ESTABLISHED) {
      EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
    } else {
      EXPECT_EQ(type, RDMA_CM_EVENT_REJECTED);
    }
  }
}

TEST_P(CmThreadsTest, EachEventGoesToOneOfTheThreadsThatWait) {
  const auto listener = NewListener();
  ASSERT_EQ(fcntl(listener->channel().fd(), F_SETFL, 0), 0);
  constexpr int kThreads = 4;
  std::atomic<int> taken = 0;
  std::vector<std::thread> takers;
  for (int i = 0; i < kThreads; ++i) {
    takers.emplace_back([&] {
      rdma_cm_event* event = nullptr;
      ASSERT_EQ(cm().GetEvent(listener->channel().get(), &event), 0);
      rdma_cm_id* const id = event->id;
      ASSERT_EQ(cm().AckEvent(event), 0);
      ASSERT_EQ(cm().DestroyId(id), 0);
      ++taken;
    });
  }
  std::vector<std::unique_ptr<End>> actives;
  for (int i = 0; i < kThreads; ++i) {
    actives.push_back(NewActive());
    ASSERT_EQ(cm().Connect(actives.back()->id(), Param()), 0);
  }
  for (const auto& active : actives) {
    EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_REJECTED);
  }
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(taken, kThreads);
}

}  // namespace
}  // namespace rpma::emu
