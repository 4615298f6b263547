// SPDX-License-Identifier: BSD-3-Clause
// Timers of a fabric: an ordered map of deadlines and the thread that serves
// it.

#include "emulator/timer.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace rpma::emu {

using Clock = std::chrono::steady_clock;

struct TimerQueue::State {
  // What the map holds for an armed timer. The callback is shared with the
  // expiry that runs it, so the timer may be destroyed meanwhile.
  struct Expiry {
    std::shared_ptr<const std::function<void()>> callback;
    Timer::Node* timer = nullptr;
  };
  using Deadlines = std::multimap<Clock::time_point, Expiry>;

  void Serve();
  // REQUIRES: the lock is held, here and in Disarm().
  bool StartThread() noexcept;
  void Disarm(Timer::Node& node);

  std::mutex mutex;
  std::condition_variable changed;  // an earlier deadline, or `stopping`
  Deadlines deadlines;              // guarded by mutex, as all below
  // Until when the thread sleeps, so that it is woken for earlier deadlines
  // only; min() while it is awake or about to be.
  Clock::time_point sleeps_until = Clock::time_point::min();
  std::thread thread;
  bool stopping = false;
};

struct Timer::Node {
  TimerQueue::State::Deadlines::node_type idle;  // while it is not armed
  TimerQueue::State::Deadlines::iterator armed;  // while it is
};

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
  if (node.idle.empty()) node.idle = deadlines.extract(node.armed);
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

TimerQueue::TimerQueue() : state_(std::make_unique<State>()) {}

TimerQueue::~TimerQueue() { Stop(); }

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

bool Timer::Arm(std::chrono::nanoseconds delay) noexcept {
  TimerQueue::State& queue = *queue_.state_;
  bool wake = false;
  {
    const std::lock_guard lock(queue.mutex);
    queue.Disarm(*node_);
    if (queue.stopping) return false;
    if (!queue.thread.joinable() && !queue.StartThread()) return false;
    const auto deadline = Clock::now() + delay;
    node_->idle.key() = deadline;
    node_->armed = queue.deadlines.insert(std::move(node_->idle));
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
