// SPDX-License-Identifier: BSD-3-Clause
// The descriptors behind the four waiting calls, and those calls without
// blocking, blocking, and interrupted by signals.

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "tests/conformance/fixture.h"
#include "tests/support/allocation_counter.h"

namespace rpma::test {
namespace {

int SharedFd(const rpma_conn* conn) {
  int fd = -1;
  EXPECT_THAT(rpma_conn_get_compl_fd(conn, &fd), IsOk());
  return fd;
}

void SetNonBlocking(int fd) {
  ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

// Watches one descriptor with epoll(7), edge-triggered.
class EdgeWatch {
 public:
  explicit EdgeWatch(int fd) : epoll_(epoll_create1(0)) {
    epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {}};
    EXPECT_EQ(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event), 0);
  }
  EdgeWatch(const EdgeWatch&) = delete;
  EdgeWatch& operator=(const EdgeWatch&) = delete;
  ~EdgeWatch() { close(epoll_); }

  // Whether there was an edge since the last call.
  bool Fires() const { return HasEdge(0); }
  // The same, for which it is given time.
  bool FiresInTime() const {
    while (Emulation::IsStepped()) {
      if (Fires()) return true;
      if (!Emulation::Step()) return false;
    }
    return HasEdge(20'000);
  }

 private:
  bool HasEdge(int timeout_ms) const {
    epoll_event event = {};
    return epoll_wait(epoll_, &event, 1, timeout_ms) == 1;
  }

  int epoll_;
};

class EventsTest : public ConformanceTest {
 protected:
  ConnCfg SharedChannelCfg() {
    ConnCfg cfg;
    EXPECT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
    EXPECT_THAT(rpma_conn_cfg_set_compl_channel(cfg, true), IsOk());
    return cfg;
  }
  void ExpectWoken(const std::function<int()>& wait,
                   const std::function<void()>& deliver);
};

INSTANTIATE_TEST_SUITE_P(, EventsTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

// --- Descriptors -------------------------------------------------------------

TEST_P(EventsTest, EndpointIsReadableWhileRequestsWait) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  EXPECT_FALSE(IsReadable(EndpointFd(endpoint)));
  const Conn first = Connect(NewRequest(port));
  const Conn second = Connect(NewRequest(port));
  EXPECT_TRUE(BecomesReadable(EndpointFd(endpoint)));
  NextRequest(endpoint);
  EXPECT_TRUE(BecomesReadable(EndpointFd(endpoint)));
  NextRequest(endpoint);
  EXPECT_FALSE(IsReadable(EndpointFd(endpoint)));
}

TEST_P(EventsTest, ConnectionIsReadableWhileEventsWait) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Conn client = Connect(NewRequest(port));
  EXPECT_FALSE(IsReadable(EventFd(client)));
  const Conn server = Connect(NextRequest(endpoint));
  EXPECT_TRUE(BecomesReadable(EventFd(client)));
  EXPECT_TRUE(IsReadable(EventFd(client)));  // looking takes nothing
  EXPECT_EQ(NextEvent(client), RPMA_CONN_ESTABLISHED);
  EXPECT_FALSE(IsReadable(EventFd(client)));
}

TEST_P(EventsTest, CompletionQueueIsReadableUntilWaitedFor) {
  const Pair pair = ConnectedPair();
  rpma_cq* const cq = pair.client.cq;
  EXPECT_FALSE(IsReadable(CompletionFd(cq)));
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_TRUE(BecomesReadable(CompletionFd(cq)));
  ASSERT_THAT(rpma_cq_wait(cq), IsOk());
  EXPECT_FALSE(IsReadable(CompletionFd(cq)));
  EXPECT_THAT(Poll(cq), Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
}

TEST_P(EventsTest, EachConnectionRequestIsAnEdge) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const EdgeWatch watch(EndpointFd(endpoint));
  EXPECT_FALSE(watch.Fires());
  const Conn first = Connect(NewRequest(port));
  EXPECT_TRUE(watch.FiresInTime());
  EXPECT_FALSE(watch.Fires());
  const Conn second = Connect(NewRequest(port));
  EXPECT_TRUE(watch.FiresInTime());
  NextRequest(endpoint);
  NextRequest(endpoint);
  EXPECT_FALSE(watch.Fires());
}

TEST_P(EventsTest, EachConnectionEventIsAnEdge) {
  const Pair pair = ConnectedPair();
  const EdgeWatch watch(EventFd(pair.server.conn));
  EXPECT_FALSE(watch.Fires());
  ASSERT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_TRUE(BecomesReadable(EventFd(pair.server.conn)));
  EXPECT_TRUE(watch.FiresInTime());
  EXPECT_FALSE(watch.Fires());
}

TEST_P(EventsTest, EachArmedCompletionIsAnEdge) {
  const Pair pair = ConnectedPair();
  const EdgeWatch watch(CompletionFd(pair.client.cq));
  EXPECT_FALSE(watch.Fires());
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_THAT(pair.client.Write(i, 0, 0, 8), IsOk());
    EXPECT_TRUE(BecomesReadable(CompletionFd(pair.client.cq)));
    EXPECT_TRUE(watch.FiresInTime());
    EXPECT_FALSE(watch.Fires());
    EXPECT_THAT(rpma_cq_wait(pair.client.cq), IsOk());
    EXPECT_FALSE(watch.Fires());
  }
}

// As Poll(), but without waiting for an event.
ibv_wc PollBusily(rpma_cq* cq) {
  ibv_wc wc = {};
  int rc = RPMA_E_NO_COMPLETION;
  while (rc == RPMA_E_NO_COMPLETION) rc = rpma_cq_get_wc(cq, 1, &wc, nullptr);
  EXPECT_THAT(rc, IsOk());
  return wc;
}

TEST_P(EventsTest, UnwaitedCompletionQueueRaisesOneEventForMany) {
  const Pair pair = ConnectedPair();
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_THAT(pair.client.Write(i, 0, 0, 8), IsOk());
  }
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_THAT(PollBusily(pair.client.cq),
                Succeeded(i, IBV_WC_RDMA_WRITE, pair.client.qp_num));
  }
  ASSERT_THAT(rpma_cq_wait(pair.client.cq), IsOk());
  EXPECT_FALSE(IsReadable(CompletionFd(pair.client.cq)));
}

TEST_P(EventsTest, DescriptorsDiffer) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Pair pair = ConnectedPair(endpoint, port);
  const std::set<int> fds = {EndpointFd(endpoint), EventFd(pair.client.conn),
                             EventFd(pair.server.conn),
                             CompletionFd(pair.client.cq),
                             CompletionFd(pair.server.cq)};
  EXPECT_EQ(fds.size(), 5u);
}

TEST_P(EventsTest, NullArgumentsAreInvalid) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  const Pair pair = ConnectedPair(endpoint, port);
  int fd = -1;
  rpma_conn_req* request = nullptr;
  ibv_wc wc = {};
  int got = 0;
  rpma_cq* const cq = pair.client.cq;
  EXPECT_THAT(rpma_ep_get_fd(nullptr, &fd), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_ep_get_fd(endpoint, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_ep_next_conn_req(nullptr, nullptr, &request),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_ep_next_conn_req(endpoint, nullptr, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_fd(nullptr, &fd), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_fd(cq, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_wait(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(nullptr, 1, &wc, &got), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(cq, 1, nullptr, &got), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(cq, 0, &wc, &got), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(cq, -1, &wc, &got), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_cq_get_wc(cq, 2, &wc, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_EQ(fd, -1);
  EXPECT_EQ(request, nullptr);
  log().Discard();
}

// --- Without blocking --------------------------------------------------------

// Expects the answer `rc`, a thousand times, without an allocation. That
// nothing is logged is the fixture's concern.
void ExpectManyTimes(int rc, const std::function<int()>& call) {
  const size_t before = AllocationsOfThisThread();
  int answers = 0;
  for (int i = 0; i < 1000; ++i) answers += call() == rc;
  EXPECT_EQ(AllocationsOfThisThread(), before);
  EXPECT_EQ(answers, 1000);
}

TEST_P(EventsTest, NonBlockingEndpointWithoutRequestsHasNoEvent) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  SetNonBlocking(EndpointFd(endpoint));
  rpma_conn_req* request = nullptr;
  ExpectManyTimes(RPMA_E_NO_EVENT, [&] {
    return rpma_ep_next_conn_req(endpoint, nullptr, &request);
  });
  EXPECT_EQ(request, nullptr);
  ConnectedPair(endpoint, port);
}

TEST_P(EventsTest, NonBlockingConnectionWithoutEventsHasNoEvent) {
  const Pair pair = ConnectedPair();
  SetNonBlocking(EventFd(pair.client.conn));
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  ExpectManyTimes(RPMA_E_NO_EVENT, [&] {
    return rpma_conn_next_event(pair.client.conn, &event);
  });
  EXPECT_EQ(event, RPMA_CONN_UNDEFINED);
  Disconnect(pair);
}

TEST_P(EventsTest, NonBlockingQueueWithoutCompletionsHasNone) {
  const Pair pair = ConnectedPair();
  rpma_cq* const cq = pair.client.cq;
  SetNonBlocking(CompletionFd(cq));
  ExpectManyTimes(RPMA_E_NO_COMPLETION, [&] { return rpma_cq_wait(cq); });
  ibv_wc wc = {};
  ExpectManyTimes(RPMA_E_NO_COMPLETION,
                  [&] { return rpma_cq_get_wc(cq, 1, &wc, nullptr); });
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_THAT(Poll(cq), Succeeded(1, IBV_WC_RDMA_WRITE, pair.client.qp_num));
}

TEST_P(EventsTest, NonBlockingSharedChannelWithoutCompletionsHasNone) {
  const ConnCfg cfg = SharedChannelCfg();
  const Pair pair = ConnectedPair({.client_cfg = cfg});
  SetNonBlocking(SharedFd(pair.client.conn));
  rpma_cq* cq = nullptr;
  bool is_rcq = true;
  ExpectManyTimes(RPMA_E_NO_COMPLETION, [&] {
    return rpma_conn_wait(pair.client.conn, 0, &cq, &is_rcq);
  });
  EXPECT_EQ(cq, nullptr);
  EXPECT_TRUE(is_rcq);
}

TEST_P(EventsTest, WaitingWithATimeLimitNeedsNoThread) {
  const Pair pair = ConnectedPair();
  const int fd = CompletionFd(pair.client.cq);
  SetNonBlocking(fd);
  EXPECT_FALSE(IsReadable(fd));
  EXPECT_THAT(rpma_cq_wait(pair.client.cq), RcIs(RPMA_E_NO_COMPLETION));
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_TRUE(BecomesReadable(fd));
  EXPECT_THAT(rpma_cq_wait(pair.client.cq), IsOk());
}

// Other kernels say ENODATA where Linux says EAGAIN.
class EnodataTest : public EventsTest {
 protected:
  std::string device_options() const override {
    return "empty_channel_errno=ENODATA";
  }
};

INSTANTIATE_TEST_SUITE_P(, EnodataTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(EnodataTest, NonBlockingCallsWithoutEventsHaveNoEvent) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  SetNonBlocking(EndpointFd(endpoint));
  const Conn client = Connect(NewRequest(port));
  SetNonBlocking(EventFd(client));
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  EXPECT_THAT(rpma_conn_next_event(client, &event), RcIs(RPMA_E_NO_EVENT));
  NextRequest(endpoint);
  rpma_conn_req* request = nullptr;
  EXPECT_THAT(rpma_ep_next_conn_req(endpoint, nullptr, &request),
              RcIs(RPMA_E_NO_EVENT));
}

// --- Blocking ----------------------------------------------------------------

// Calls `wait` in a thread, makes what it waits for happen with `deliver`, and
// expects that the wait succeeds.
void EventsTest::ExpectWoken(const std::function<int()>& wait,
                             const std::function<void()>& deliver) {
  InThreads({[&] { EXPECT_THAT(wait(), IsOk()); }, deliver});
}

TEST_P(EventsTest, RequestWakesABlockedEndpoint) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  Conn client;
  ConnReq incoming;
  ExpectWoken(
      [&] {
        return rpma_ep_next_conn_req(endpoint, nullptr, incoming.address());
      },
      [&] { client = Connect(NewRequest(port)); });
  EXPECT_NE(incoming, nullptr);
}

TEST_P(EventsTest, EventWakesABlockedConnection) {
  const Pair pair = ConnectedPair();
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  ExpectWoken([&] { return rpma_conn_next_event(pair.server.conn, &event); },
              [&] { rpma_conn_disconnect(pair.client.conn); });
  EXPECT_EQ(event, RPMA_CONN_CLOSED);
}

TEST_P(EventsTest, CompletionWakesABlockedQueue) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ExpectWoken([&] { return rpma_cq_wait(pair.server.cq); },
              [&] { EXPECT_THAT(pair.client.Send(2, 0, 8), IsOk()); });
  EXPECT_THAT(Poll(pair.server.cq), Received(1, 8, pair.server.qp_num));
}

TEST_P(EventsTest, CompletionWakesABlockedSharedChannel) {
  const ConnCfg cfg = SharedChannelCfg();
  const Pair pair = ConnectedPair({.server_cfg = cfg});
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  rpma_cq* cq = nullptr;
  bool is_rcq = true;
  ExpectWoken([&] { return rpma_conn_wait(pair.server.conn, 0, &cq, &is_rcq); },
              [&] { EXPECT_THAT(pair.client.Send(2, 0, 8), IsOk()); });
  EXPECT_EQ(cq, pair.server.cq);
  EXPECT_FALSE(is_rcq);
}

// --- Signals -----------------------------------------------------------------

// While it lives, SIGUSR1 runs a handler that does not restart calls.
class InterruptingSignal {
 public:
  InterruptingSignal() {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    EXPECT_EQ(sigaction(SIGUSR1, &action, &previous_), 0);
  }
  InterruptingSignal(const InterruptingSignal&) = delete;
  InterruptingSignal& operator=(const InterruptingSignal&) = delete;
  ~InterruptingSignal() { sigaction(SIGUSR1, &previous_, nullptr); }

 private:
  struct sigaction previous_ = {};
};

// Interrupts `wait` in a thread a hundred times, each of which must answer
// `interrupted`; then delivers what it waits for, which must not be lost.
void ExpectInterruptible(int interrupted, const std::function<int()>& wait,
                         const std::function<void()>& deliver) {
  constexpr int kTimes = 100;
  const InterruptingSignal signal;
  std::atomic<int> times = 0;
  std::atomic<bool> ended = false;
  std::thread waiter([&] {
    int rc = interrupted;
    while ((rc = wait()) == interrupted) ++times;
    EXPECT_THAT(rc, IsOk());
    ended = true;
  });
  while (times < kTimes && !ended) {
    pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  EXPECT_GE(times, kTimes);
  deliver();
  waiter.join();
}

TEST_P(EventsTest, SignalsInterruptTheWaitForARequest) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  Conn client;
  ConnReq incoming;
  ExpectInterruptible(
      RPMA_E_NO_EVENT,
      [&] {
        return rpma_ep_next_conn_req(endpoint, nullptr, incoming.address());
      },
      [&] { client = Connect(NewRequest(port)); });
  EXPECT_NE(incoming, nullptr);
}

TEST_P(EventsTest, SignalsInterruptTheWaitForAnEvent) {
  const Pair pair = ConnectedPair();
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  ExpectInterruptible(
      RPMA_E_NO_EVENT,
      [&] { return rpma_conn_next_event(pair.server.conn, &event); },
      [&] { rpma_conn_disconnect(pair.client.conn); });
  EXPECT_EQ(event, RPMA_CONN_CLOSED);
}

TEST_P(EventsTest, SignalsInterruptTheWaitForACompletion) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ExpectInterruptible(
      RPMA_E_NO_COMPLETION, [&] { return rpma_cq_wait(pair.server.cq); },
      [&] { EXPECT_THAT(pair.client.Send(2, 0, 8), IsOk()); });
  EXPECT_THAT(Poll(pair.server.cq), Received(1, 8, pair.server.qp_num));
}

TEST_P(EventsTest, SignalsInterruptTheWaitOnASharedChannel) {
  const ConnCfg cfg = SharedChannelCfg();
  const Pair pair = ConnectedPair({.server_cfg = cfg});
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  rpma_cq* cq = nullptr;
  ExpectInterruptible(
      RPMA_E_NO_COMPLETION,
      [&] { return rpma_conn_wait(pair.server.conn, 0, &cq, nullptr); },
      [&] { EXPECT_THAT(pair.client.Send(2, 0, 8), IsOk()); });
  EXPECT_EQ(cq, pair.server.cq);
}

}  // namespace
}  // namespace rpma::test
