// SPDX-License-Identifier: BSD-3-Clause
// The descriptor behind event queues, as poll, epoll and signals see it.

#include "emulator/event_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

namespace rpma::emu {
namespace {

class EventFdTest : public ::testing::Test {
 protected:
  EventFdTest() { EXPECT_EQ(event_fd_.Open(), 0); }

  bool IsReadable() const {
    pollfd entry{event_fd_.fd(), POLLIN, 0};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
  }

  EventFd event_fd_;
};

TEST_F(EventFdTest, IsReadableFromTheFirstSignalToTheClear) {
  EXPECT_FALSE(IsReadable());
  event_fd_.Signal();
  EXPECT_TRUE(IsReadable());
  event_fd_.Signal();
  EXPECT_TRUE(IsReadable());
  event_fd_.Clear();
  EXPECT_FALSE(IsReadable());
}

TEST_F(EventFdTest, EverySignalIsAnEdge) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  ASSERT_GE(epoll, 0);
  epoll_event interest{EPOLLIN | EPOLLET, {}};
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, event_fd_.fd(), &interest), 0);
  epoll_event event;
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
  for (int i = 0; i < 3; ++i) {
    event_fd_.Signal();
    EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 1);
    EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
  }
  close(epoll);
}

TEST_F(EventFdTest, ALevelStaysUntilTheClear) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  ASSERT_GE(epoll, 0);
  epoll_event interest{EPOLLIN, {}};
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, event_fd_.fd(), &interest), 0);
  event_fd_.Signal();
  epoll_event event;
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 1);
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 1);
  event_fd_.Clear();
  EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
  close(epoll);
}

TEST_F(EventFdTest, WaitReturnsOnceTheDescriptorIsReadable) {
  std::thread other([this] { event_fd_.Signal(); });
  EXPECT_EQ(event_fd_.Wait(), 0);
  EXPECT_TRUE(IsReadable());  // Wait() takes nothing
  other.join();
}

TEST_F(EventFdTest, WaitHonoursTheUsersNonblock) {
  const int flags = fcntl(event_fd_.fd(), F_GETFL);
  EXPECT_EQ(flags & O_NONBLOCK, 0);
  ASSERT_EQ(fcntl(event_fd_.fd(), F_SETFL, flags | O_NONBLOCK), 0);
  EXPECT_EQ(event_fd_.Wait(), EAGAIN);
  event_fd_.Signal();
  event_fd_.Clear();
  EXPECT_FALSE(IsReadable());
}

TEST_F(EventFdTest, ASignalHandlerInterruptsTheWait) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);

  std::atomic<bool> done = false;
  int result = 0;
  std::thread waiter([&] {
    result = event_fd_.Wait();
    done = true;
  });
  while (!done) {  // until one arrives while the thread sleeps in poll
    pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  waiter.join();
  EXPECT_EQ(result, EINTR);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(EventFdTest, ACancelledThreadFinishesWhatDoesNotBlock) {
  bool finished = false;
  std::thread cancelled([&] {
    pthread_cancel(pthread_self());  // takes effect at a cancellation point
    event_fd_.Signal();
    event_fd_.Clear();
    {
      EventFd another;
      EXPECT_EQ(another.Open(), 0);
    }
    finished = true;
  });
  cancelled.join();
  EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace rpma::emu
