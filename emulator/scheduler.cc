// SPDX-License-Identifier: BSD-3-Clause
// The scheduler of a stepped fabric.

#include "emulator/scheduler.h"

#include <sys/syslog.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <new>
#include <utility>

#include "emulator/no_cancellation.h"

namespace rpma::emu {
namespace {

// How often only repeating timers may expire in a row.
constexpr int kMaxRepetitions = 1000;

// Threads that call at a time without an allocation.
constexpr size_t kFewThreads = 16;

// Of a report on a deadlock.
constexpr size_t kMaxReportLines = 32;

// The streams of the scheduler itself; those of objects follow.
enum Stream : uint64_t { kNextTask, kNextThread, kTies, kFirstOfObjects };

template <typename T>
void Erase(std::vector<T*>& from, const T* object) {
  from.erase(std::find(from.begin(), from.end(), object));
}

}  // namespace

// A thread in Await() or Step().
struct Scheduler::Visitor {
  bool Steps() const { return waiting == nullptr; }

  const Waiting* waiting = nullptr;  // of Await()
  uint32_t thread = 0;
  bool stepped = false;  // since it came, if it Steps()
  int result = 0;        // 0, EDEADLK or, if it Steps(), EAGAIN: nothing moved
  bool goes_on = false;
  std::condition_variable wake;
};

Scheduler::Scheduler(uint64_t seed, TimerQueue& timers, Log log)
    : seed_(seed),
      timers_(timers),
      log_(std::move(log)),
      next_task_(seed, kNextTask),
      next_thread_(seed, kNextThread),
      ties_(seed, kTies) {
  visitors_.reserve(kFewThreads);
  choices_.reserve(kFewThreads);
}

void Scheduler::Add(Task& task, std::weak_ptr<void> owner) {
  task.owner_ = std::move(owner);
  const std::lock_guard lock(mutex_);
  if (runnable_.capacity() == tasks_.size()) {
    runnable_.reserve(2 * tasks_.size() + 1);
  }
  tasks_.push_back(&task);
}

void Scheduler::Remove(Task& task) {
  const std::lock_guard lock(mutex_);
  Erase(tasks_, &task);
  if (task.place_ == Task::kIdle) return;
  runnable_.back()->place_ = task.place_;
  std::swap(runnable_[task.place_], runnable_.back());
  runnable_.pop_back();
  task.place_ = Task::kIdle;
}

void Scheduler::MakeRunnable(Task& task) {
  const std::lock_guard lock(mutex_);
  if (task.place_ != Task::kIdle) return;
  task.place_ = runnable_.size();
  runnable_.push_back(&task);
}

Random Scheduler::StreamOf(ObjectKind kind, uint32_t number) const {
  return {seed_,
          kFirstOfObjects + number * kObjectKinds + static_cast<size_t>(kind)};
}

int Scheduler::Await(const Waiting& waiting) {
  Visitor visitor;
  visitor.waiting = &waiting;
  Lock lock(mutex_);
  return Visit(lock, visitor);
}

bool Scheduler::Step() {
  Visitor visitor;
  Lock lock(mutex_);
  return Visit(lock, visitor) == 0;
}

void Scheduler::NoteEvent() {
  const std::lock_guard lock(mutex_);
  repetitions_ = 0;
}

int Scheduler::AttachThread() try {
  const std::lock_guard lock(mutex_);
  if (NumberOfThisThread() != 0) return EINVAL;
  attached_.push_back({std::this_thread::get_id(), ever_attached_ + 1});
  ++ever_attached_;
  ++outside_;
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int Scheduler::DetachThread() {
  const std::lock_guard lock(mutex_);
  if (NumberOfThisThread() == 0) return EINVAL;
  std::erase_if(attached_, [](const AttachedThread& thread) {
    return thread.id == std::this_thread::get_id();
  });
  --outside_;
  WakeAVisitor();
  return 0;
}

uint32_t Scheduler::NumberOfThisThread() const {
  for (const AttachedThread& thread : attached_) {
    if (thread.id == std::this_thread::get_id()) return thread.number;
  }
  return 0;
}

int Scheduler::Visit(Lock& lock, Visitor& visitor) {
  if (advancing_ == std::this_thread::get_id()) {
    return visitor.Steps() ? EAGAIN : EDEADLK;
  }
  const NoCancellation none;
  visitor.thread = NumberOfThisThread();
  visitors_.push_back(&visitor);
  if (visitor.thread != 0) --outside_;
  repetitions_ = 0;
  while (!visitor.goes_on) {
    if (outside_ > 0 || advancing_ != std::thread::id()) {
      visitor.wake.wait(lock);
    } else {
      Advance(lock);
    }
  }
  WakeAVisitor();
  return visitor.result;
}

void Scheduler::Advance(Lock& lock) {
  advancing_ = std::this_thread::get_id();
  if (Visitor* const chosen = ChooseVisitor(lock)) {
    LetGoOn(*chosen);
  } else {
    const bool moved = !IsStuck() && MakeStep(lock);
    bool anyone_steps = false;
    for (Visitor* const visitor : visitors_) {
      if (!visitor->Steps()) continue;
      anyone_steps = true;
      visitor->stepped = true;
      visitor->result = moved ? 0 : EAGAIN;
    }
    if (!moved && !anyone_steps) {
      ReportDeadlock(lock);
      visitors_.front()->result = EDEADLK;
      LetGoOn(*visitors_.front());
    }
  }
  advancing_ = std::thread::id();
}

Scheduler::Visitor* Scheduler::ChooseVisitor(Lock& lock) {
  choices_.clear();
  // Others may come meanwhile, but none goes.
  for (size_t i = 0; i < visitors_.size(); ++i) {
    Visitor* const visitor = visitors_[i];
    bool is_over = visitor->stepped;
    if (!visitor->Steps()) {
      lock.unlock();
      is_over = visitor->waiting->is_over();
      lock.lock();
    }
    if (is_over) choices_.push_back(visitor);
  }
  if (choices_.size() < 2) return choices_.empty() ? nullptr : choices_[0];
  // The order in which threads came may have been up to the kernel.
  std::sort(choices_.begin(), choices_.end(),
            [](const auto* a, const auto* b) { return a->thread < b->thread; });
  return choices_[next_thread_.Below(choices_.size())];
}

bool Scheduler::MakeStep(Lock& lock) {
  if (!runnable_.empty()) {
    Task* const task = runnable_[next_task_.Below(runnable_.size())];
    runnable_.back()->place_ = task->place_;
    std::swap(runnable_[task->place_], runnable_.back());
    runnable_.pop_back();
    task->place_ = Task::kIdle;
    std::shared_ptr<void> owner = task->owner_.lock();
    lock.unlock();
    if (owner != nullptr) task->Step();
    owner.reset();
    lock.lock();
    return true;
  }
  lock.unlock();
  const TimerQueue::Expired expired = timers_.ExpireNext(ties_);
  lock.lock();
  if (expired == TimerQueue::Expired::kOnce) repetitions_ = 0;
  if (expired == TimerQueue::Expired::kRepeating) ++repetitions_;
  return expired != TimerQueue::Expired::kNone;
}

bool Scheduler::IsStuck() const {
  return repetitions_ >= kMaxRepetitions && timers_.OnlyRepeatingAreArmed();
}

void Scheduler::LetGoOn(Visitor& visitor) {
  Erase(visitors_, &visitor);
  if (visitor.thread != 0) {
    ++outside_;
    trace_.Add("thread %u goes on", visitor.thread);
  }
  visitor.goes_on = true;
  visitor.wake.notify_one();
}

void Scheduler::WakeAVisitor() {
  if (outside_ == 0 && !visitors_.empty()) visitors_.front()->wake.notify_one();
}

void Scheduler::ReportDeadlock(Lock& lock) try {
  std::vector<std::string> lines;
  for (const Visitor* const visitor : visitors_) {
    const std::string who = visitor->thread != 0
                                ? "thread " + std::to_string(visitor->thread)
                                : "a thread that is not attached";
    const Waiting& waiting = *visitor->waiting;
    lines.push_back(who + " waits in " + waiting.call + " on " +
                    NameOf(waiting.kind) + " " +
                    std::to_string(waiting.number));
  }
  std::vector<std::pair<Task*, std::shared_ptr<void>>> tasks;
  for (Task* const task : tasks_) tasks.emplace_back(task, task->owner_.lock());
  lock.unlock();
  for (const auto& [task, owner] : tasks) {
    if (owner != nullptr) task->SayWhatItWaitsFor(&lines);
  }
  trace_.Add("deadlock");
  log_(LOG_CRIT, "deadlock: every thread waits and nothing can move");
  const size_t told = std::min(lines.size(), kMaxReportLines);
  for (size_t i = 0; i < told; ++i) {
    log_(LOG_CRIT, ("deadlock: " + lines[i]).c_str());
  }
  if (told < lines.size()) {
    log_(LOG_CRIT, ("deadlock: and " + std::to_string(lines.size() - told) +
                    " more that wait")
                       .c_str());
  }
  tasks.clear();
  lock.lock();
} catch (const std::bad_alloc&) {
  if (lock.owns_lock()) lock.unlock();
  log_(LOG_CRIT, "deadlock; there is no memory to say more");
  lock.lock();
}

}  // namespace rpma::emu
