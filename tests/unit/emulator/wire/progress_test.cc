// SPDX-License-Identifier: BSD-3-Clause
// Who handles what comes: pollers, or a thread that sleeps when nothing does.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "emulator/far_link.h"
#include "emulator/random.h"
#include "emulator/wire/descriptor.h"
#include "emulator/wire/wire.h"
#include "tests/unit/emulator/wire/party.h"
#include "tests/unit/emulator/wire/recording_ends.h"
#include "tests/unit/emulator/wire/temporary_folder.h"

namespace rpma::emu::wire {
namespace {

class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() {
    EXPECT_EQ(a_.Claim(7204), 0);
    EXPECT_EQ(b_.Find(7204), Wire::Found::kLink);
    EXPECT_TRUE(SendDreq(*b_.link, 1));
    a_.AwaitMessages(1);
  }

  // Each message makes its receiver answer, until so many were received at `a`.
  void PlayPingPong(uint32_t rounds) {
    a_.Set([](FarLink& link, const Message& message) {
      if (message.head.type == Type::kRequest) {
        EXPECT_TRUE(SendReply(link, message.head.to, ""));
      }
    });
    b_.Set([rounds](FarLink& link, const Message& message) {
      if (message.head.to < rounds) {
        EXPECT_TRUE(SendWrite(link, message.head.to + 1, "8 bytes."));
      }
    });
    EXPECT_TRUE(SendWrite(*b_.link, 1, "8 bytes."));
  }

  TemporaryFolder temporary_;
  Party a_{temporary_.path()};
  Party b_{temporary_.path()};
};

TEST_F(ProgressTest, TheThreadsAnswerEachOther) {
  constexpr uint32_t kRounds = 20'000;
  PlayPingPong(kRounds);
  b_.AwaitMessages(kRounds);
}

TEST_F(ProgressTest, PollersAnswerEachOther) {
  constexpr uint32_t kRounds = 20'000;
  PlayPingPong(kRounds);
  while (!b_.HasMessages(kRounds)) {
    a_.progress.load()->Poll();
    b_.progress.load()->Poll();
  }
  EXPECT_EQ(a_.Log() + b_.Log(), "");
}

TEST_F(ProgressTest, APollLeavesTheCmToTheThread) {
  std::atomic<std::thread::id> handler;
  a_.Set([&](FarLink&, const Message&) {
    handler.store(std::this_thread::get_id());
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(SendDreq(*b_.link, 2));
    a_.progress.load()->Poll();
  }
  a_.AwaitMessages(101);
  EXPECT_NE(handler.load(), std::this_thread::get_id());
}

// A message comes at any moment of falling asleep, and no other after it; were
// one wake-up lost, the test would not end.
TEST_F(ProgressTest, NoWakeUpIsLost) {
  constexpr uint64_t kMessages = 10'000;
  const Descriptor readable(eventfd(1, EFD_CLOEXEC));
  Random random(1);
  for (uint64_t message = 1; message <= kMessages; ++message) {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::nanoseconds(random.Below(100'000));
    while (std::chrono::steady_clock::now() < end) {
    }
    if (random.Below(16) == 0) {
      for (size_t i = random.Below(200); i > 0; --i) a_.progress.load()->Poll();
      // Not long: the descriptor is readable.
      const std::function<bool()> never = [] { return false; };
      const bool looks = random.Below(2) == 0;
      EXPECT_EQ(
          a_.progress.load()->Wait(readable.get(), looks ? &never : nullptr),
          0);
    }
    EXPECT_TRUE(SendWrite(*b_.link, 1, ""));
    a_.AwaitMessages(message + 1);
  }
}

// Were the waiter not woken by what comes, the thread would handle it all, and
// the test would not end.
TEST_F(ProgressTest, WhoWaitsHandlesWhatComes) {
  constexpr int kEnough = 10;
  const std::thread::id waiter = std::this_thread::get_id();
  const Descriptor event(eventfd(0, EFD_CLOEXEC));
  std::atomic<uint64_t> handled = 0;
  std::atomic<int> by_waiter = 0;
  a_.Set([&](FarLink&, const Message&) {
    if (std::this_thread::get_id() == waiter) ++by_waiter;
    ++handled;
    eventfd_write(event.get(), 1);
  });
  std::jthread sender([&](const std::stop_token& stop) {
    for (uint64_t sent = 0; !stop.stop_requested(); ++sent) {
      // Longer than anybody looks, so that all are asleep.
      const auto end =
          std::chrono::steady_clock::now() + std::chrono::microseconds(300);
      while (std::chrono::steady_clock::now() < end) sched_yield();
      EXPECT_TRUE(SendWrite(*b_.link, 1, ""));
      while (handled.load() == sent) sched_yield();
    }
  });
  uint64_t message = 0;
  while (by_waiter.load() < kEnough) {
    ++message;
    const std::function<bool()> came = [&] { return handled >= message; };
    EXPECT_EQ(a_.progress.load()->Wait(event.get(), &came), 0);
    while (!came()) sched_yield();
    eventfd_t count;
    eventfd_read(event.get(), &count);
  }
  sender.request_stop();
  sender.join();
  a_.Set([](FarLink&, const Message&) {});
}

TEST_F(ProgressTest, OneThreadLooksAtATime) {
  const Descriptor readable(eventfd(1, EFD_CLOEXEC));
  Progress& progress = *a_.progress.load();
  int looks = 0;
  const std::function<bool()> count = [&] { return ++looks < 0; };
  const std::function<bool()> wait_within = [&] {
    EXPECT_EQ(progress.Wait(readable.get(), &count), 0);
    return true;
  };
  EXPECT_EQ(progress.Wait(readable.get(), &wait_within), 0);
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(progress.Wait(readable.get(), &count), 0);
  EXPECT_GT(looks, 2);
}

TEST_F(ProgressTest, ASignalWhileAThreadLooksEndsItsWait) {
  struct sigaction handler {};
  static volatile sig_atomic_t handled;
  handled = 0;
  handler.sa_handler = [](int) { handled = 1; };
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);
  // Not for ever, if the signal were lost.
  const Descriptor later(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec time{{}, {30, 0}};
  ASSERT_EQ(timerfd_settime(later.get(), 0, &time, nullptr), 0);
  const std::function<bool()> signals = [] { return raise(SIGUSR1) != 0; };
  EXPECT_EQ(a_.progress.load()->Wait(later.get(), &signals), EINTR);
  EXPECT_EQ(handled, 1);
  sigaction(SIGUSR1, &before, nullptr);
}

// The receiver tells nobody that it has made room.
TEST_F(ProgressTest, AFullLaneIsTakenUpAgain) {
  constexpr uint64_t kMessages = 3'000;
  const std::string data(kMaxPart, 'x');
  std::atomic<uint64_t> sent = 0;
  b_.SetOnRoom([&](FarLink& link) {
    while (sent.load() < kMessages && SendWrite(link, 1, data)) ++sent;
    if (sent.load() < kMessages) link.WantRoom();
  });
  b_.link->WantRoom();
  a_.AwaitMessages(kMessages + 1);
  EXPECT_EQ(sent.load(), kMessages);
}

// What the kernel says the thread of this process is blocked in: number and
// arguments of a system call, or "running".
std::string SystemCallOf(const std::filesystem::path& task) {
  std::string line;
  std::ifstream file(task / "syscall");
  std::getline(file, line);
  return line;
}

bool IsThreadOfWire(const std::filesystem::path& task) {
  std::string name;
  std::ifstream file(task / "comm");
  std::getline(file, name);
  return name == "rpma-emu-wire";
}

TEST_F(ProgressTest, TheThreadsSleepWithoutEndWhenNothingComes) {
  // ppoll(descriptors, count, no time limit, ...)
  int sleepers = 0;
  const std::string ppoll = std::to_string(SYS_ppoll) + " ";
  while (sleepers != 2) {
    sleepers = 0;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/self/task")) {
      if (!IsThreadOfWire(task)) continue;
      std::string call = SystemCallOf(task);
      if (call.empty()) GTEST_SKIP() << "the kernel does not tell";
      if (!call.starts_with(ppoll)) continue;
      size_t argument = 0;
      for (int i = 0; i < 3; ++i) argument = call.find(' ', argument) + 1;
      sleepers += call.substr(argument).starts_with("0x0 ");
    }
    sched_yield();
  }
  // And they wake.
  EXPECT_TRUE(SendWrite(*b_.link, 1, ""));
  a_.AwaitMessages(2);
}

}  // namespace
}  // namespace rpma::emu::wire
