// SPDX-License-Identifier: BSD-3-Clause
// Timers of a fabric: an ordered map of deadlines, and the thread or the
// virtual clock that serves it.

#include "emulator/timer.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace rpma::emu {

using Clock = std::chrono::steady_clock;

struct TimerQueue::State {
  explicit State(ClockKind clock) : is_virtual(clock == ClockKind::kVirtual) {}

  // What the map holds for an armed timer. The callback is shared with the
  // expiry that runs it, so the timer may be destroyed meanwhile.
  struct Expiry {
    std::shared_ptr<const std::function<void()>> callback;
    Timer::Node* timer = nullptr;
  };
  using Deadlines = std::multimap<Clock::time_point, Expiry>;

  void Serve();
  // REQUIRES: the lock is held, here and below.
  TimePoint Now() const { return is_virtual ? virtual_now : Clock::now(); }
  bool IsServed() noexcept;  // by a thread, if it needs one
  bool StartThread() noexcept;
  void Disarm(Timer::Node& node);

  const bool is_virtual;
  mutable std::mutex mutex;
  std::condition_variable changed;  // an earlier deadline, or `stopping`
  Deadlines deadlines;              // guarded by mutex, as all below
  size_t repeating = 0;             // of them
  TimePoint virtual_now;
  // Until when the thread sleeps, so that it is woken for earlier deadlines
  // only; min() while it is awake or about to be.
  Clock::time_point sleeps_until = Clock::time_point::min();
  std::thread thread;
  bool stopping = false;
};

struct Timer::Node {
  TimerQueue::State::Deadlines::node_type idle;  // while it is not armed
  TimerQueue::State::Deadlines::iterator armed;  // while it is
  Recurrence recurrence = Recurrence::kOnce;
};

bool TimerQueue::State::IsServed() noexcept {
  return is_virtual || thread.joinable() || StartThread();
}

bool TimerQueue::State::StartThread() noexcept {
  // Signals of the process go to the program's own threads, whose blocking
  // calls they are meant to interrupt.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread = std::thread([this] { Serve(); });
    pthread_setname_np(thread.native_handle(), "rpma-emu-timer");
  } catch (const std::exception&) {  // std::system_error or std::bad_alloc
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread.joinable();
}

void TimerQueue::State::Disarm(Timer::Node& node) {
  if (!node.idle.empty()) return;
  node.idle = deadlines.extract(node.armed);
  if (node.recurrence == Recurrence::kRepeating) --repeating;
}

void TimerQueue::State::Serve() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    const auto first = deadlines.begin();
    if (first == deadlines.end()) {
      sleeps_until = Clock::time_point::max();
      changed.wait(lock);
      sleeps_until = Clock::time_point::min();
      continue;
    }
    const Clock::time_point deadline = first->first;
    if (Clock::now() < deadline) {
      sleeps_until = deadline;
      changed.wait_until(lock, deadline);
      sleeps_until = Clock::time_point::min();
      continue;
    }
    auto callback = first->second.callback;
    Disarm(*first->second.timer);
    lock.unlock();
    (*callback)();
    callback.reset();
    lock.lock();
  }
}

TimerQueue::TimerQueue(ClockKind clock)
    : state_(std::make_unique<State>(clock)) {}

TimerQueue::~TimerQueue() { Stop(); }

TimerQueue::TimePoint TimerQueue::Now() const {
  const std::lock_guard lock(state_->mutex);
  return state_->Now();
}

TimerQueue::Expired TimerQueue::ExpireNext(Random& ties) {
  std::unique_lock lock(state_->mutex);
  auto next = state_->deadlines.begin();
  if (state_->stopping || next == state_->deadlines.end()) {
    return Expired::kNone;
  }
  state_->virtual_now = next->first;
  // Equal deadlines stand in the order of arming.
  const size_t equal = state_->deadlines.count(next->first);
  if (equal > 1) {
    std::advance(next, static_cast<std::ptrdiff_t>(ties.Below(equal)));
  }
  Timer::Node& timer = *next->second.timer;
  const auto callback = next->second.callback;
  const bool repeats = timer.recurrence == Recurrence::kRepeating;
  state_->Disarm(timer);
  lock.unlock();
  (*callback)();
  return repeats ? Expired::kRepeating : Expired::kOnce;
}

bool TimerQueue::OnlyRepeatingAreArmed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->repeating == state_->deadlines.size();
}

void TimerQueue::Stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_one();
  if (state_->thread.joinable()) state_->thread.join();
}

Timer::Timer(TimerQueue& queue, std::function<void()> on_expiry)
    : queue_(queue), node_(std::make_unique<Node>()) {
  TimerQueue::State::Deadlines nodes;
  const auto made = nodes.emplace(
      Clock::time_point(),
      TimerQueue::State::Expiry{
          std::make_shared<const std::function<void()>>(std::move(on_expiry)),
          node_.get()});
  node_->idle = nodes.extract(made);
}

Timer::~Timer() { Cancel(); }

bool Timer::Arm(std::chrono::nanoseconds delay,
                Recurrence recurrence) noexcept {
  TimerQueue::State& queue = *queue_.state_;
  bool wake = false;
  {
    const std::lock_guard lock(queue.mutex);
    queue.Disarm(*node_);
    if (queue.stopping || !queue.IsServed()) return false;
    const auto deadline = queue.Now() + delay;
    node_->idle.key() = deadline;
    node_->armed = queue.deadlines.insert(std::move(node_->idle));
    node_->recurrence = recurrence;
    if (recurrence == Recurrence::kRepeating) ++queue.repeating;
    wake = deadline < queue.sleeps_until;
    if (wake) queue.sleeps_until = Clock::time_point::min();
  }
  if (wake) queue.changed.notify_one();
  return true;
}

void Timer::Cancel() noexcept {
  const std::lock_guard lock(queue_.state_->mutex);
  queue_.state_->Disarm(*node_);
}

}  // namespace rpma::emu
