// SPDX-License-Identifier: BSD-3-Clause
// The clock of a fabric and its timers. A real clock's timers are served by one
// thread that sleeps to the next deadline; a virtual clock jumps to it when it
// is told to.

#ifndef RPMA_EMULATOR_TIMER_H_
#define RPMA_EMULATOR_TIMER_H_

#include <chrono>
#include <functional>
#include <memory>

#include "emulator/random.h"

namespace rpma::emu {

enum class ClockKind { kReal, kVirtual };

// Whether a timer may be armed again and again for as long as the world around
// it does not change, as that of a requester whose remote has no receive.
enum class Recurrence { kOnce, kRepeating };

// Threads: every call is safe from any thread. Of a real clock: the thread that
// runs expiries is started when the first timer is armed, blocks all signals,
// and is joined by Stop(), which must not run inside an expiry.
class TimerQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit TimerQueue(ClockKind clock = ClockKind::kReal);
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;
  ~TimerQueue();  // REQUIRES: no Timer is left

  // A virtual clock starts at TimePoint().
  TimePoint Now() const;

  enum class Expired { kNone, kOnce, kRepeating };
  // Lets the clock jump to the earliest deadline and runs that expiry on the
  // calling thread. Among equal deadlines `ties` picks one. kNone: no timer is
  // armed. REQUIRES: a virtual clock.
  Expired ExpireNext(Random& ties);
  // Whether all timers that are armed are repeating ones.
  bool OnlyRepeatingAreArmed() const;

  // Nothing expires any more once it returns; Arm() answers false. For the
  // owner of what expiries refer to.
  void Stop();

 private:
  friend class Timer;
  struct State;
  std::unique_ptr<State> state_;
};

// One timer. Creating it allocates all it will ever need, and throws
// std::bad_alloc; Arm() and Cancel() do not allocate, except for the thread
// that the first Arm() of a real clock's queue starts.
//
// `on_expiry` runs on the queue's thread or in ExpireNext(), holding no lock of
// the queue. It may still be running, or about to run, when Cancel() or the
// destructor returns: it must guard itself (hold a weak_ptr, look its object up
// again). It must not throw.
class Timer {
 public:
  Timer(TimerQueue& queue, std::function<void()> on_expiry);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer();

  // Expires once after `delay` from now; replaces an earlier deadline. False:
  // the queue's thread cannot be started (limits on threads or memory) or was
  // stopped, and the timer is not armed. Whoever waits with a timer then goes
  // on as if the time had passed without an answer, so that nothing hangs; the
  // next Arm() tries again.
  [[nodiscard]] bool Arm(std::chrono::nanoseconds delay,
                         Recurrence recurrence = Recurrence::kOnce) noexcept;
  void Cancel() noexcept;

 private:
  friend class TimerQueue;
  struct Node;
  TimerQueue& queue_;
  std::unique_ptr<Node> node_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_TIMER_H_
