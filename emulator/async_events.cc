// SPDX-License-Identifier: BSD-3-Clause
// The queue of a device's asynchronous events.

#include "emulator/async_events.h"

namespace rpma::emu {

int AsyncEvents::Open() { return event_fd_.Open(); }

void AsyncEvents::Push(const ibv_async_event& event) {
  const std::lock_guard lock(mutex_);
  if (count_ == kCapacity) {
    first_ = (first_ + 1) % kCapacity;
    --count_;
    ++dropped_;
  }
  ring_[(first_ + count_++) % kCapacity] = event;
  event_fd_.Signal();
}

bool AsyncEvents::Pop(ibv_async_event* event, uint32_t* dropped) {
  const std::lock_guard lock(mutex_);
  if (count_ == 0) return false;
  *event = ring_[first_];
  first_ = (first_ + 1) % kCapacity;
  if (--count_ == 0) event_fd_.Clear();
  *dropped = dropped_;
  dropped_ = 0;
  return true;
}

void AsyncEvents::Retract(const void* object) {
  const std::lock_guard lock(mutex_);
  const size_t before = count_;
  count_ = 0;
  for (size_t i = 0; i < before; ++i) {
    const ibv_async_event& event = ring_[(first_ + i) % kCapacity];
    // The members that are pointers share their place in the union.
    if (event.element.qp == object) continue;
    ring_[(first_ + count_++) % kCapacity] = event;
  }
  if (before > 0 && count_ == 0) event_fd_.Clear();
}

}  // namespace rpma::emu
