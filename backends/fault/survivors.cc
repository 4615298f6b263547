// SPDX-License-Identifier: BSD-3-Clause
// Remembering what survived, and destroying it in an order that works.

#include "backends/fault/survivors.h"

namespace rpma::fault {
namespace {

// Nothing is used by what comes later: queue pairs use queues, and so on.
constexpr Call kOrder[] = {
    Call::kAckCmEvent, Call::kDestroyQp,           Call::kDestroyId,
    Call::kDestroyCq,  Call::kDestroyCompChannel,  Call::kDestroySrq,
    Call::kDeregMr,    Call::kDestroyEventChannel, Call::kDeallocPd,
};

const rdma_cm_id* AccountOf(const rdma_cm_event& event) {
  return event.event == RDMA_CM_EVENT_CONNECT_REQUEST ? event.listen_id
                                                      : event.id;
}

}  // namespace

template <typename Fits>
size_t Survivors::Find(Fits fits) const {
  size_t i = 0;
  while (i < count_ && !fits(survivors_[i])) ++i;
  return i;
}

template <typename Fits>
bool Survivors::Take(Fits fits, Survivor* survivor) {
  const std::lock_guard lock(mutex_);
  const size_t found = Find(fits);
  if (found == count_) return false;
  *survivor = survivors_[found];
  survivors_[found] = survivors_[--count_];
  return true;
}

void Survivors::Add(Call call, void* handle) {
  if (handle == nullptr) return;
  Survivor added = {call, handle};
  if (call == Call::kAckCmEvent) {
    added.event_of = AccountOf(*static_cast<const rdma_cm_event*>(handle));
  }
  const std::lock_guard lock(mutex_);
  const size_t found = Find([&](const Survivor& each) {
    return each.call == call && each.handle == handle;
  });
  if (found == count_ && count_ < kMost) survivors_[count_++] = added;
}

void Survivors::Remove(Call call, const void* handle) {
  Survivor removed;
  Take(
      [&](const Survivor& each) {
        return each.call == call && each.handle == handle;
      },
      &removed);
}

void Survivors::FreeThoseOf(const rdma_cm_id* id) {
  const auto belongs = [id](const Survivor& each) {
    return each.call == Call::kDestroyQp ? each.handle == id
                                         : each.event_of == id;
  };
  Survivor survivor;
  while (Take(belongs, &survivor)) (void)Destroy(survivor);
}

bool Survivors::Need(rdma_event_channel* channel) {
  {
    const std::lock_guard lock(mutex_);
    const size_t found = Find([channel](const Survivor& each) {
      return each.call == Call::kDestroyId &&
             static_cast<const rdma_cm_id*>(each.handle)->channel == channel;
    });
    if (found == count_) return false;
  }
  Add(Call::kDestroyEventChannel, channel);
  return true;
}

bool Survivors::Free(Scope scope) {
  std::array<Survivor, kMost> in_use;
  size_t count_in_use = 0;
  for (const Call call : kOrder) {
    if (call == Call::kDeallocPd && scope == Scope::kGivenUp) continue;
    Survivor survivor;
    while (Take([call](const Survivor& each) { return each.call == call; },
                &survivor)) {
      if (call == Call::kDestroyId && scope == Scope::kAll) {
        Add(Call::kDestroyEventChannel,
            static_cast<const rdma_cm_id*>(survivor.handle)->channel);
      }
      if (Destroy(survivor) == Errno::kOk) continue;
      in_use[count_in_use++] = survivor;
    }
  }
  for (size_t i = 0; i < count_in_use; ++i) {
    Add(in_use[i].call, in_use[i].handle);
  }
  return count_in_use == 0;
}

Errno Survivors::Destroy(const Survivor& survivor) {
  void* const handle = survivor.handle;
  switch (survivor.call) {
    case Call::kAckCmEvent:
      return transport_.AckCmEvent(static_cast<rdma_cm_event*>(handle));
    case Call::kDestroyQp:
      return transport_.DestroyQp(static_cast<rdma_cm_id*>(handle));
    case Call::kDestroyId:
      return transport_.DestroyId(static_cast<rdma_cm_id*>(handle));
    case Call::kDestroyCq:
      return transport_.DestroyCq(static_cast<ibv_cq*>(handle));
    case Call::kDestroyCompChannel:
      return transport_.DestroyCompChannel(
          static_cast<ibv_comp_channel*>(handle));
    case Call::kDestroySrq:
      return transport_.DestroySrq(static_cast<ibv_srq*>(handle));
    case Call::kDeregMr:
      return transport_.DeregMr(static_cast<ibv_mr*>(handle));
    case Call::kDeallocPd:
      return transport_.DeallocPd(static_cast<ibv_pd*>(handle));
    default:
      transport_.DestroyEventChannel(static_cast<rdma_event_channel*>(handle));
      return Errno::kOk;
  }
}

}  // namespace rpma::fault
