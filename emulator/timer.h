// SPDX-License-Identifier: BSD-3-Clause
// Timers of a fabric, served by one thread that sleeps to the next deadline.

#ifndef RPMA_EMULATOR_TIMER_H_
#define RPMA_EMULATOR_TIMER_H_

#include <chrono>
#include <functional>
#include <memory>

namespace rpma::emu {

// Threads: every call is safe from any thread. The thread that runs expiries is
// started when the first timer is armed, blocks all signals, and is joined by
// Stop(), which must not run inside an expiry.
class TimerQueue {
 public:
  TimerQueue();
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;
  ~TimerQueue();  // REQUIRES: no Timer is left

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
// that the first Arm() of the queue starts.
//
// `on_expiry` runs on the queue's thread, holding no lock of the queue. It may
// still be running, or about to run, when Cancel() or the destructor returns:
// it must guard itself (hold a weak_ptr, look its object up again). It must not
// throw.
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
  [[nodiscard]] bool Arm(std::chrono::nanoseconds delay) noexcept;
  void Cancel() noexcept;

 private:
  friend class TimerQueue;
  struct Node;
  TimerQueue& queue_;
  std::unique_ptr<Node> node_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_TIMER_H_
