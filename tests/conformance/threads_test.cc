// SPDX-License-Identifier: BSD-3-Clause
// What several threads may do at once with endpoints and connections.

#include <pthread.h>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

class ThreadsTest : public ConformanceTest {
 protected:
  // Connects, as a client, one connection after the other.
  void ConnectClients(const std::string& port, int count) {
    for (int i = 0; i < count; ++i) {
      const Conn client = Connect(NewRequest(port));
      EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
      EXPECT_EQ(NextEvent(client), RPMA_CONN_CLOSED);
      EXPECT_THAT(rpma_conn_disconnect(client), IsOk());
    }
  }

  // Accepts one connection after the other and ends each.
  void ServeClients(rpma_ep* endpoint, int count) {
    for (int i = 0; i < count; ++i) {
      ConnReq request;
      ASSERT_THAT(rpma_ep_next_conn_req(endpoint, nullptr, request.address()),
                  IsOk());
      const Conn server = Connect(std::move(request));
      EXPECT_EQ(NextEvent(server), RPMA_CONN_ESTABLISHED);
      EXPECT_THAT(rpma_conn_disconnect(server), IsOk());
      EXPECT_EQ(NextEvent(server), RPMA_CONN_CLOSED);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(, ThreadsTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

// One thread is always in rpma_ep_next_conn_req() while the other accepts: it
// must not take the events of the other's connection.
TEST_P(ThreadsTest, TwoThreadsServeOneEndpoint) {
  constexpr int kRounds = 100;
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const auto serve = [&] { ServeClients(endpoint, kRounds); };
  const auto connect = [&] { ConnectClients(port, kRounds); };
  InThreads({serve, connect, serve, connect});
}

TEST_P(ThreadsTest, EachRequestGoesToOneThread) {
  // siw has room for 48 connections in a process.
  constexpr int kPerThread = 20;
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  std::vector<Conn> clients;
  for (int i = 0; i < 2 * kPerThread; ++i) {
    clients.push_back(Connect(NewRequest(port)));
    // The threads wait for as many requests.
    ASSERT_NE(clients.back(), nullptr);
  }
  const auto take = [&] {
    for (int i = 0; i < kPerThread; ++i) {
      ConnReq request;
      EXPECT_THAT(rpma_ep_next_conn_req(endpoint, nullptr, request.address()),
                  IsOk());
    }
  };
  InThreads({take, take});
  for (const Conn& client : clients) {
    EXPECT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
  }
}

TEST_P(ThreadsTest, PairsOfDifferentThreadsDoNotDisturbEachOther) {
  constexpr int kRounds = 30;
  const auto run = [&](const std::string& port) {
    const Endpoint endpoint = Listen(port);
    for (int i = 0; i < kRounds; ++i) {
      const Pair pair = ConnectedPair(endpoint, port);
      ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
      ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
      EXPECT_THAT(Poll(pair.server.cq), Received(1, 8, pair.server.qp_num));
      DisconnectBoth(pair);
    }
  };
  const std::string first = NewPort();
  const std::string second = NewPort();
  InThreads({[&] { run(first); }, [&] { run(second); }});
}

TEST_P(ThreadsTest, BothSidesMayDisconnectAtTheSameTime) {
  for (int round = 0; round < 100; ++round) {
    const Pair pair = ConnectedPair();
    const auto disconnect = [](const Conn& conn) {
      EXPECT_THAT(rpma_conn_disconnect(conn), IsOk());
      EXPECT_EQ(NextEvent(conn), RPMA_CONN_CLOSED);
    };
    InThreads({[&] { disconnect(pair.client.conn); },
               [&] { disconnect(pair.server.conn); }});
  }
}

TEST_P(ThreadsTest, OneSideMayBeDeletedWhileTheOtherDisconnects) {
  for (int round = 0; round < 100; ++round) {
    Pair pair = ConnectedPair();
    InThreads({[&] { pair.client.conn.reset(); },
               [&] {
                 EXPECT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
                 EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
               }});
  }
}

TEST_P(ThreadsTest, OnePeerAndOneConfigurationServeManyThreads) {
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  const std::string port = NewPort();
  const auto prepare = [&] {
    for (int i = 0; i < 50; ++i) {
      NewRequest(port, cfg);
      Region(client_peer(), 64).Remote();
      EXPECT_THAT(rpma_conn_cfg_set_cq_size(cfg, 20), IsOk());
    }
  };
  InThreads({prepare, prepare});
}

// Runs `body` in a thread that would end at its first cancellation point; says
// whether it came to the end of `body`.
bool RunCancelled(const std::function<void()>& body) {
  bool finished = false;
  std::thread cancelled([&] {
    pthread_cancel(pthread_self());
    body();
    finished = true;
  });
  cancelled.join();
  return finished;
}

// Of real devices libibverbs and the drivers enter the kernel by write(2) and
// ioctl(2), the former of which is a cancellation point.
class CancelledThreadTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, CancelledThreadTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(CancelledThreadTest, FinishesWhatDoesNotBlock) {
  Pair pair = ConnectedPair();
  const End& client = pair.client;
  const End& server = pair.server;
  EXPECT_TRUE(RunCancelled([&] {
    EXPECT_THAT(server.Recv(1, 0, 8), IsOk());
    EXPECT_THAT(client.Send(2, 0, 8), IsOk());
  }));
  ASSERT_TRUE(BecomesReadable(CompletionFd(client.cq)));
  EXPECT_TRUE(
      RunCancelled([&] { EXPECT_THAT(rpma_cq_wait(client.cq), IsOk()); }));
  EXPECT_THAT(Poll(client.cq), Succeeded(2, IBV_WC_SEND, client.qp_num));
  EXPECT_THAT(Poll(server.cq), Received(1, 8, server.qp_num));
  EXPECT_TRUE(RunCancelled(
      [&] { EXPECT_THAT(rpma_conn_disconnect(client.conn), IsOk()); }));
  ASSERT_TRUE(BecomesReadable(EventFd(server.conn)));
  EXPECT_TRUE(RunCancelled([&] {
    rpma_conn_event event = RPMA_CONN_UNDEFINED;
    EXPECT_THAT(rpma_conn_next_event(server.conn, &event), IsOk());
    EXPECT_EQ(event, RPMA_CONN_CLOSED);
  }));
  EXPECT_TRUE(RunCancelled([&] { pair.server.conn.reset(); }));
}

}  // namespace
}  // namespace rpma::test
