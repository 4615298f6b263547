// SPDX-License-Identifier: BSD-3-Clause
// Completion queues and completion channels.

#ifndef RPMA_EMULATOR_COMPLETION_QUEUE_H_
#define RPMA_EMULATOR_COMPLETION_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "emulator/event_fd.h"
#include "emulator/profile.h"
#include "emulator/scheduler.h"

namespace rpma::emu {

class CompletionQueue;
class Device;
class FaultInjector;
class Progress;

// The queue of CQ events that a program waits on. Each CQ stands in it once,
// with the number of its unread events, so pushing never allocates.
class CompletionChannel final : public ibv_comp_channel {
 public:
  // Without `device` no fault acts on its events, and they come by themselves.
  explicit CompletionChannel(ibv_context* context, Device* device = nullptr);

  int Open();  // 0 or an errno of eventfd(2)

  // Blocks until an event is there and hands it out: 0, EAGAIN (O_NONBLOCK),
  // EINTR, EDEADLK (Scheduler::Await). Holds no lock while it sleeps. CQs with
  // unread events take turns. A fault may put an event of a foreign CQ before
  // them.
  int GetEvent(CompletionQueue** cq);

  int cqs() const { return cqs_.load(); }  // CQs that use this channel

  uint32_t number() const { return number_; }  // in traces

 private:
  friend class CompletionQueue;
  void Push(CompletionQueue& cq);
  CompletionQueue* ForeignCq();  // nullptr: no fault wants an event of it
  CompletionQueue* Pop();        // nullptr: there is no event
  Progress* progress() const;    // nullptr: none is to be made
  int Wait();                    // for an event, as GetEvent()
  // The CQ joins the end of the list or leaves it.
  void Append(CompletionQueue& cq);
  void Remove(CompletionQueue& cq);

  Device* const device_;
  Scheduler* const scheduler_;
  const uint32_t number_;

  std::mutex mutex_;
  EventFd event_fd_;
  CompletionQueue* first_ = nullptr;  // guarded by mutex_
  CompletionQueue* last_ = nullptr;
  std::atomic<int> cqs_{0};
};

// How many requests of a send queue, counted from the first one ever posted,
// have given back their slots.
class SendQueueSlots {
 public:
  uint32_t retired() const { return retired_.load(std::memory_order_acquire); }
  void Retire(uint32_t up_to) {
    retired_.store(up_to, std::memory_order_release);
  }

 private:
  std::atomic<uint32_t> retired_{0};
};

// A completion as the device writes it.
struct Cqe {
  ibv_wc wc;
  // Where polling this completion frees send slots; nullptr for a receive or
  // once the QP is gone.
  SendQueueSlots* slots = nullptr;
  uint32_t frees_up_to = 0;
  bool solicited = false;
};

// Threads: all calls, any thread. The lock order is requester SQ, responder
// RQ/SRQ, and then the CQ or its channel.
class CompletionQueue final : public ibv_cq {
 public:
  // `capacity` is what the device made of the size asked for (ibv_cq::cqe).
  // `scheduler` is that of a stepped world. Throws std::bad_alloc.
  CompletionQueue(ibv_context* context, int capacity, CqOverrun on_overrun,
                  CompletionChannel* channel, FaultInjector* faults = nullptr,
                  Scheduler* scheduler = nullptr,
                  const std::atomic<Progress*>* progress = nullptr);
  ~CompletionQueue();

  enum class PushResult {
    kOk,
    kOverrun,  // just now: the caller moves the QP to ERR
    kLost,     // overrun before, or the profile drops silently
  };
  // Who polls may find the completion a little before its event is there.
  // REQUIRES: the lock of a queue pair that uses this CQ is held; so neither
  // the CQ nor its channel is destroyed.
  PushResult Push(const Cqe& cqe);

  // Moves up to `capacity` completions to wc[] in order; frees their send
  // slots. Negative once the queue has overrun and is drained. If there are
  // none, it looks again after the progress or, in a stepped world, the step
  // that it makes.
  int Poll(int capacity, ibv_wc* wc);

  // Arms one event for the next completion (the next solicited or failed one).
  void Arm(bool solicited_only);

  void AckEvents(unsigned count);
  // Blocks until all events that GetEvent() handed out are acknowledged, and
  // retracts unread ones. EDEADLK (Scheduler::Await): nothing has changed.
  // Called by DestroyCq.
  int WaitForAcks();

  // Completions of the QP stay; they no longer free its send slots.
  void ForgetSlots(const SendQueueSlots& slots);

  // Completions were lost, and the profile does not take that lightly.
  bool overrun() const { return overrun_.load(); }

  uint32_t number() const { return number_; }  // in traces

  // QPs that use this CQ (twice, if for both directions).
  std::atomic<uint32_t> users{0};

 private:
  friend class CompletionChannel;

  int PollNow(int capacity, ibv_wc* wc);
  bool MakesProgress() const;  // false: there is nobody to make any with

  CompletionChannel* completion_channel() const {
    return static_cast<CompletionChannel*>(channel);
  }

  const CqOverrun on_overrun_;
  FaultInjector* const faults_;
  Scheduler* const scheduler_;
  const std::atomic<Progress*>* const progress_;
  const uint32_t number_;
  std::atomic<bool> overrun_{false};

  std::mutex mutex_;
  std::vector<Cqe> ring_;  // guarded by mutex_, as all below
  size_t first_ = 0;
  std::atomic<size_t> count_{0};  // changes under mutex_
  enum class Armed { kNo, kSolicited, kNext } armed_ = Armed::kNo;

  // Guarded by the channel's mutex.
  CompletionQueue* next_in_channel_ = nullptr;
  CompletionQueue* previous_in_channel_ = nullptr;
  uint32_t unread_events_ = 0;
  uint32_t unacked_events_ = 0;
  std::condition_variable acked_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_COMPLETION_QUEUE_H_
