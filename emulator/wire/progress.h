// SPDX-License-Identifier: BSD-3-Clause
// The thread of a fabric that handles what comes while no other thread looks,
// and that accepts links and sees them end.

#ifndef RPMA_EMULATOR_WIRE_PROGRESS_H_
#define RPMA_EMULATOR_WIRE_PROGRESS_H_

#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "emulator/wire/descriptor.h"
#include "emulator/wire/drainer.h"
#include "emulator/wire/token.h"

namespace rpma::emu::wire {

// How long a thread looks for messages before it sleeps, and how long it does
// so before it lets others have the processor in between.
inline constexpr std::chrono::microseconds kSpin{50};
inline constexpr std::chrono::microseconds kYield{5};

// After traffic the thread looks for more for 50 microseconds. Then it sleeps
// until a peer wakes it; or, while other threads poll, it naps: they see what
// comes, peers need not wake anybody, and it looks once in a millisecond
// whether they still do.
class ProgressThread {
 public:
  ProgressThread(Drainer& drainer, Log log)
      : drainer_(drainer), log_(std::move(log)) {}
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread() = default;  // REQUIRES: it does not run

  // Starts it; it accepts links to `own` on the socket, which listens and does
  // not block. 0, or an errno of eventfd(2) or pthread_create(3).
  int Start(Descriptor listener, const Token& own);
  // Ends and joins it, if it runs.
  void Stop();

  // The rest is safe from any thread while it runs.

  // It is to look at what is new.
  void Kick();
  // A thread found nothing.
  void NotePoll() {
    polls_.store(polls_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
  }
  // A thread that may have polled sleeps now.
  void NoteSleeper();

  // As those of Drainer.
  void Abandon();
  void LockForFork() { strangers_mutex_.lock(); }
  void UnlockForFork() { strangers_mutex_.unlock(); }

 private:
  using Clock = std::chrono::steady_clock;

  // Connected, and has not said Hello.
  struct Stranger {
    Descriptor socket;
    Clock::time_point deadline;
  };

  static void* Run(void* self);
  void Serve();
  // Returns when there is something to do.
  void Rest(const Drainer::Pass& pass);
  void Sleep();
  bool OthersPoll();
  // Waits in ppoll(2) for the descriptors, at most so long; then sees to them.
  void Watch(std::chrono::nanoseconds timeout);
  void ListDescriptors();
  void SeeToSockets();
  void Accept();
  void SeeToStrangers(size_t first_entry, size_t count);
  bool Hear(Stranger& stranger);  // false: it is done with
  void SeeToLinks(size_t first_entry, size_t count);

  Drainer& drainer_;
  const Log log_;
  Token own_;
  pthread_t thread_{};
  bool is_running_ = false;
  std::atomic<bool> is_stopping_ = false;

  Descriptor kick_;  // an eventfd
  std::atomic<bool> is_kicked_ = false;
  std::atomic<uint64_t> polls_ = 0;
  std::atomic<bool> is_napping_ = false;
  std::atomic<bool> has_sleeper_ = false;

  // --- For the thread alone, except in a child of fork(2).
  std::mutex strangers_mutex_;  // held where these change
  Descriptor listener_;
  std::vector<Stranger> strangers_;
  std::vector<pollfd> watched_;  // kick_, listener_, strangers, links
  size_t watched_strangers_ = 0;
  size_t watched_links_ = 0;
  Clock::time_point last_traffic_;
  Clock::time_point last_watch_;
  Clock::time_point accepts_again_;  // after a lack of descriptors
  std::chrono::nanoseconds room_wait_{0};
  uint64_t seen_polls_ = 0;
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_PROGRESS_H_
