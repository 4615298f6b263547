// SPDX-License-Identifier: BSD-3-Clause
//
// A completion queue, with a completion channel of its own or a shared one.

#ifndef RPMA_CORE_COMPLETION_QUEUE_H_
#define RPMA_CORE_COMPLETION_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/owned.h"
#include "core/peer.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// [blocks] until a CQ of `channel` raises an event; the caller acknowledges it.
// kNoCompletion: there was none to be had. Not logged if the channel is
// non-blocking and empty, or a signal handler ran; else ERROR. kProvider,
// logged: there can be none, as an emulated world in deadlock says (EDEADLK).
Rc NextCqEvent(Transport& transport, ibv_comp_channel* channel, ibv_cq** cq);

// Creates a completion channel on the peer's device. kProvider: the call
// failed.
Rc CreateCompChannel(const Peer& peer, OwnedCompChannel* out);

// Wait() and Poll() may run in any number of threads at once.
class CompletionQueue {
 public:
  // Only before anyone uses it.
  CompletionQueue(CompletionQueue&& other) noexcept
      : transport_(other.transport_),
        channel_(other.channel_),
        own_channel_(std::move(other.own_channel_)),
        cq_(std::move(other.cq_)) {}

  // Creates a CQ for at least `size` completions and arms it. It raises its
  // events on `shared`, if given, which outlives it; else on a channel of its
  // own. kProvider: a call failed.
  static Rc Create(const Peer& peer, uint32_t size, ibv_comp_channel* shared,
                   std::optional<CompletionQueue>* out);

  // Destroys the CQ and its own channel. Both are tried, once; kProvider: one
  // of the calls failed.
  Rc Close();

  // [blocks] until the CQ raises an event, then arms it for the next. Poll it
  // until it is empty; it may be so from the start. kSharedChannel: events of
  // other CQs arrive on the channel too, use Connection::Wait().
  // kNoCompletion: see NextCqEvent(). kProvider: see there, or the CQ could not
  // be armed again; then the next call does that first, and does not block, as
  // nothing has been said of what the queue holds.
  Rc Wait();

  // Moves up to `capacity` completions to `wc`, and their number to `got`
  // unless that is nullptr. kNoCompletion: there are none. kProvider: the CQ
  // failed. kUnknown: the provider returned more than asked for.
  Rc Poll(int capacity, ibv_wc* wc, int* got) {
    const int count = transport_->PollCq(cq_.get(), capacity, wc);
    if (count == 0) return Rc::kNoCompletion;
    if (count < 0 || count > capacity) [[unlikely]] {
      return PollFailed(count, capacity);
    }
    if (got != nullptr) *got = count;
    return Rc::kOk;
  }

  // Asks for an event for the next completion. kProvider: the call failed.
  Rc Arm();
  // Whether Arm() failed: no event may ever tell of what the queue holds.
  bool unarmed() const { return unarmed_.load(std::memory_order_relaxed); }

  int fd() const { return channel_->fd; }
  ibv_cq* get() const { return cq_.get(); }

 private:
  explicit CompletionQueue(Transport& transport) : transport_(&transport) {}

  [[gnu::cold]] Rc PollFailed(int count, int capacity) const;

  Transport* transport_;
  ibv_comp_channel* channel_ = nullptr;
  OwnedCompChannel own_channel_;  // outlives the CQ
  OwnedCq cq_;
  std::atomic<bool> unarmed_ = false;
};

}  // namespace rpma

#endif  // RPMA_CORE_COMPLETION_QUEUE_H_
