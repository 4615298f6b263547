// SPDX-License-Identifier: BSD-3-Clause
// Completion queues and completion channels.

#include "emulator/completion_queue.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <mutex>

#include "emulator/device.h"
#include "emulator/far_link.h"
#include "emulator/fault_injector.h"

namespace rpma::emu {
namespace {

// For a thread that was woken by the holder of the lock, who still holds it for
// a moment: to sleep again would take longer than to let the other go on.
std::unique_lock<std::mutex> LockAfterWaking(std::mutex& mutex) {
  constexpr int kMostYields = 32;
  std::unique_lock lock(mutex, std::defer_lock);
  for (int i = 0; i < kMostYields; ++i) {
    if (lock.try_lock()) return lock;
    sched_yield();
  }
  lock.lock();
  return lock;
}

}  // namespace

CompletionChannel::CompletionChannel(ibv_context* device_context,
                                     Device* device)
    : ibv_comp_channel{},
      device_(device),
      scheduler_(device == nullptr ? nullptr : device->scheduler()),
      number_(NumberOf(scheduler_, ObjectKind::kCompletionChannel)) {
  context = device_context;
  fd = -1;
}

int CompletionChannel::Open() {
  const int error = event_fd_.Open();
  fd = event_fd_.fd();
  return error;
}

void CompletionChannel::Append(CompletionQueue& cq) {
  cq.previous_in_channel_ = last_;
  cq.next_in_channel_ = nullptr;
  (last_ == nullptr ? first_ : last_->next_in_channel_) = &cq;
  last_ = &cq;
}

void CompletionChannel::Remove(CompletionQueue& cq) {
  CompletionQueue* const before = cq.previous_in_channel_;
  CompletionQueue* const after = cq.next_in_channel_;
  (before == nullptr ? first_ : before->next_in_channel_) = after;
  (after == nullptr ? last_ : after->previous_in_channel_) = before;
  if (first_ == nullptr) event_fd_.Clear();
}

void CompletionChannel::Push(CompletionQueue& cq) {
  const std::lock_guard lock(mutex_);
  if (cq.unread_events_++ == 0) Append(cq);
  event_fd_.Signal();
}

CompletionQueue* CompletionChannel::ForeignCq() {
  if (device_ == nullptr) return nullptr;
  FaultInjector& faults = device_->environment().faults();
  if (!faults.active() || !faults.OnCompletionEvent()) return nullptr;
  return &device_->foreign_cq();
}

CompletionQueue* CompletionChannel::Pop() {
  const std::unique_lock lock = LockAfterWaking(mutex_);
  if (first_ == nullptr) return nullptr;
  if (CompletionQueue* const foreign = ForeignCq()) return foreign;
  CompletionQueue& popped = *first_;
  ++popped.unacked_events_;
  const bool more = --popped.unread_events_ > 0;
  if (!more) {
    Remove(popped);
  } else if (first_ != last_) {
    first_ = popped.next_in_channel_;
    first_->previous_in_channel_ = nullptr;
    Append(popped);
  }
  return &popped;
}

Progress* CompletionChannel::progress() const {
  if (device_ == nullptr) return nullptr;
  return device_->environment().progress().load(std::memory_order_acquire);
}

int CompletionChannel::Wait() {
  const std::function<bool()> has_event = [this] {
    const std::lock_guard lock(mutex_);
    return first_ != nullptr;
  };
  if (scheduler_ == nullptr) return event_fd_.Wait(progress(), &has_event);
  return event_fd_.WaitStepping(
      *scheduler_,
      {"GetCqEvent", ObjectKind::kCompletionChannel, number_, has_event});
}

int CompletionChannel::GetEvent(CompletionQueue** cq) {
  for (;;) {
    CompletionQueue* popped = Pop();
    if (Progress* const made = progress(); popped == nullptr && made) {
      made->Poll();
      popped = Pop();
    }
    if (popped != nullptr) {
      *cq = popped;
      if (scheduler_ != nullptr) {
        scheduler_->trace().Add("completion channel %u gives CQ %u", number_,
                                popped->number());
      }
      return 0;
    }
    if (const int error = Wait(); error != 0) return error;
  }
}

CompletionQueue::CompletionQueue(ibv_context* device_context, int capacity,
                                 CqOverrun on_overrun,
                                 CompletionChannel* completion_channel,
                                 FaultInjector* faults, Scheduler* scheduler,
                                 const std::atomic<Progress*>* progress)
    : ibv_cq{},
      on_overrun_(on_overrun),
      faults_(faults),
      scheduler_(scheduler),
      progress_(progress),
      number_(NumberOf(scheduler, ObjectKind::kCompletionQueue)),
      ring_(static_cast<size_t>(capacity)) {
  context = device_context;
  channel = completion_channel;
  cqe = capacity;
  if (completion_channel != nullptr) ++completion_channel->cqs_;
}

CompletionQueue::~CompletionQueue() {
  if (channel != nullptr) --completion_channel()->cqs_;
}

CompletionQueue::PushResult CompletionQueue::Push(const Cqe& cqe_in) {
  std::unique_lock lock(mutex_);
  if (overrun_.load(std::memory_order_relaxed)) return PushResult::kLost;
  const bool finds_it_full =
      faults_ != nullptr && faults_->active() && faults_->OnCompletion();
  const size_t count = count_.load(std::memory_order_relaxed);
  if (finds_it_full || count == ring_.size()) {
    if (on_overrun_ == CqOverrun::kDrop) return PushResult::kLost;
    overrun_.store(true);
    return PushResult::kOverrun;
  }
  size_t last = first_ + count;
  if (last >= ring_.size()) last -= ring_.size();
  ring_[last] = cqe_in;
  count_.store(count + 1, std::memory_order_release);

  const bool wakes =
      armed_ == Armed::kNext || (armed_ == Armed::kSolicited &&
                                 (cqe_in.solicited || cqe_in.wc.status != 0));
  if (wakes) {
    armed_ = Armed::kNo;
    lock.unlock();  // whoever is woken polls at once
    if (channel != nullptr) completion_channel()->Push(*this);
  }
  return PushResult::kOk;
}

int CompletionQueue::Poll(int capacity, ibv_wc* wc) {
  int polled = PollNow(capacity, wc);
  if (scheduler_ == nullptr) {
    return polled == 0 && MakesProgress() ? PollNow(capacity, wc) : polled;
  }
  if (polled == 0 && scheduler_->Step()) polled = PollNow(capacity, wc);
  if (polled > 0) {
    scheduler_->trace().Add("CQ %u gives %d completions", number_, polled);
  }
  return polled;
}

bool CompletionQueue::MakesProgress() const {
  if (progress_ == nullptr) return false;
  Progress* const progress = progress_->load(std::memory_order_acquire);
  if (progress == nullptr) return false;
  progress->Poll();
  return true;
}

int CompletionQueue::PollNow(int capacity, ibv_wc* wc) {
  // Pollers mostly find nothing.
  if (count_.load(std::memory_order_acquire) == 0 && !overrun_) return 0;
  const std::lock_guard lock(mutex_);
  const size_t count = count_.load(std::memory_order_relaxed);
  if (count == 0) return overrun_ ? -1 : 0;
  const size_t polled =
      std::min(count, static_cast<size_t>(std::max(capacity, 0)));
  for (size_t i = 0; i < polled; ++i) {
    const Cqe& oldest = ring_[first_];
    wc[i] = oldest.wc;
    if (oldest.slots != nullptr) oldest.slots->Retire(oldest.frees_up_to);
    if (++first_ == ring_.size()) first_ = 0;
  }
  count_.store(count - polled, std::memory_order_relaxed);
  return static_cast<int>(polled);
}

void CompletionQueue::Arm(bool solicited_only) {
  const std::lock_guard lock(mutex_);
  if (!solicited_only) {
    armed_ = Armed::kNext;
  } else if (armed_ == Armed::kNo) {
    armed_ = Armed::kSolicited;
  }
}

void CompletionQueue::AckEvents(unsigned count) {
  if (channel == nullptr) return;
  const std::lock_guard lock(completion_channel()->mutex_);
  unacked_events_ -= count;
  // Under the lock: the CQ may be gone as soon as it is released.
  if (unacked_events_ == 0) acked_.notify_all();
}

int CompletionQueue::WaitForAcks() {
  if (channel == nullptr) return 0;
  std::mutex& channel_mutex = completion_channel()->mutex_;
  if (scheduler_ != nullptr) {
    const int error = scheduler_->Await(
        {"DestroyCq", ObjectKind::kCompletionQueue, number_, [&] {
           const std::lock_guard lock(channel_mutex);
           return unacked_events_ == 0;
         }});
    if (error != 0) return error;
  }
  std::unique_lock lock(channel_mutex);
  if (unread_events_ > 0) {
    unread_events_ = 0;
    completion_channel()->Remove(*this);
  }
  acked_.wait(lock, [this] { return unacked_events_ == 0; });
  return 0;
}

void CompletionQueue::ForgetSlots(const SendQueueSlots& slots) {
  const std::lock_guard lock(mutex_);
  for (Cqe& entry : ring_) {
    if (entry.slots == &slots) entry.slots = nullptr;
  }
}

}  // namespace rpma::emu
