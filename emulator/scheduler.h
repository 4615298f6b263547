// SPDX-License-Identifier: BSD-3-Clause
// The scheduler of a stepped fabric: what moves next, and which thread goes on.

#ifndef RPMA_EMULATOR_SCHEDULER_H_
#define RPMA_EMULATOR_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emulator/random.h"
#include "emulator/timer.h"
#include "emulator/trace.h"

namespace rpma::emu {

class Scheduler;

// Whatever takes steps: a queue pair with requests, a CM id with events on
// their way to it. Added to the scheduler before its first step and removed
// before it goes.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Takes one step. No lock of the emulator is held, and no other step is under
  // way.
  virtual void Step() = 0;
  // Adds to *lines what it waits for, for the report of a deadlock. No lock is
  // held.
  virtual void SayWhatItWaitsFor(std::vector<std::string>* lines) = 0;

 protected:
  ~Task() = default;

 private:
  friend class Scheduler;
  static constexpr size_t kIdle = SIZE_MAX;
  size_t place_ = kIdle;       // among the runnable
  std::weak_ptr<void> owner_;  // what a step keeps alive
};

// What a thread waits for.
struct Waiting {
  // For the report of a deadlock: the call, and the object that it is about.
  const char* call = nullptr;
  ObjectKind kind = {};
  uint32_t number = 0;
  // Called with no lock held.
  std::function<bool()> is_over;
};

// Nothing moves by itself. One step is a step of a task that is runnable or, if
// none is, the expiry of the next timer, to which the virtual clock jumps. The
// seed decides which of several tasks steps.
//
// Threads. The world moves for one thread at a time. Those that take part are
// attached; it stands still while any of them is outside of Await() and Step().
// Then one thread goes on whose wait is over, if there is one; else one step is
// made. The seed decides which of several threads goes on. A thread that is not
// attached takes part while it is in one of the two calls, and if no thread is
// attached the world moves for whoever is.
//
// Locks: all calls but Await() and Step() may be made under any lock of the
// emulator. None of these two is a cancellation point.
class Scheduler {
 public:
  // `level` as in syslog(3).
  using Log = std::function<void(int level, const char* text)>;

  // `timers` has a virtual clock and outlives this. Throws std::bad_alloc.
  Scheduler(uint64_t seed, TimerQueue& timers, Log log);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // `owner` is kept alive by a step. Throws std::bad_alloc.
  void Add(Task& task, std::weak_ptr<void> owner);
  void Remove(Task& task);
  // The task has something to do; if it has after its step, it says so again.
  // Does not allocate.
  void MakeRunnable(Task& task);

  // Makes steps until the wait is over: 0. EDEADLK: it cannot end, as every
  // thread waits and nothing moves, or nothing but repeating timers, of which a
  // thousand expired; the log says who waits. Or this is inside of a step.
  int Await(const Waiting& waiting);
  // Makes one step, and lets other threads go on whose wait is over. False:
  // nothing can move, or this is inside of a step.
  bool Step();
  // Something happened that a waiting program may see, so the world is alive.
  void NoteEvent();

  // EINVAL: this thread is attached, or is not. ENOMEM.
  int AttachThread();
  int DetachThread();

  Trace& trace() { return trace_; }
  // The random numbers for the choices that an object makes itself.
  Random StreamOf(ObjectKind kind, uint32_t number) const;

 private:
  struct Visitor;
  struct AttachedThread {
    std::thread::id id;
    uint32_t number;
  };
  using Lock = std::unique_lock<std::mutex>;

  // REQUIRES: the lock is held, here and below. Those that take it let go of it
  // meanwhile.
  int Visit(Lock& lock, Visitor& visitor);
  uint32_t NumberOfThisThread() const;  // 0: it is not attached
  // Lets a visitor go on, or makes a step, or finds that there is none.
  void Advance(Lock& lock);
  Visitor* ChooseVisitor(Lock& lock);  // nullptr: nobody's wait is over
  bool MakeStep(Lock& lock);
  bool IsStuck() const;
  void LetGoOn(Visitor& visitor);
  // Some visitor has to look whether it is its turn to advance.
  void WakeAVisitor();
  void ReportDeadlock(Lock& lock);

  const uint64_t seed_;
  TimerQueue& timers_;
  const Log log_;
  Trace trace_;

  std::mutex mutex_;
  std::vector<Task*> tasks_;  // guarded by mutex_, as all below
  std::vector<Task*> runnable_;
  std::vector<AttachedThread> attached_;
  uint32_t ever_attached_ = 0;
  size_t outside_ = 0;              // attached threads that are in neither call
  std::vector<Visitor*> visitors_;  // in the order of their coming
  std::vector<Visitor*> choices_;   // for ChooseVisitor()
  std::thread::id advancing_;       // the thread that is in Advance()
  int repetitions_ = 0;             // expiries of repeating timers in a row
  Random next_task_;
  Random next_thread_;
  Random ties_;
};

// The next number of its kind in the trace; 0 without a scheduler.
inline uint32_t NumberOf(Scheduler* scheduler, ObjectKind kind) {
  return scheduler == nullptr ? 0 : scheduler->trace().NumberOf(kind);
}

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_SCHEDULER_H_
