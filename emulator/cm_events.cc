// SPDX-License-Identifier: BSD-3-Clause
// The connection manager's events: queued, fetched, acknowledged, dropped.

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <iterator>

#include "emulator/cm_impl.h"
#include "emulator/fabric.h"
#include "emulator/far_link.h"

namespace rpma::emu {

CmEvent* ConnectionManager::Impl::Post(CmId& id, rdma_cm_event_type type,
                                       int status, ConsumerData data,
                                       uint8_t field) {
  if (id.state == CmState::kDestroyed || id.drops_events) return nullptr;
  assert(!id.spare.empty());
  CmEvent& event = id.spare.front();
  event.self = id.spare.begin();
  event.account = &id;
  event.id = &id;
  event.event = type;
  event.status = status;
  event.SetPrivateData(data.data, data.length, field);
  if (steps != nullptr) steps->Posted(event);
  if (fabric.faults().active()) {
    QueueUnderFaults(id.spare, event);
  } else {
    QueueEvent(id.spare, event.self, /*ahead=*/false);
  }
  return &event;
}

void ConnectionManager::Impl::QueueEvent(CmEvents& from,
                                         CmEvents::iterator event, bool ahead) {
  CmId& id = *event->account;
  if (EventChannel* const channel = id.event_channel()) {
    channel->Push(from, event, ahead);
  } else {
    id.parked.splice(ahead ? id.parked.begin() : id.parked.end(), from, event);
  }
}

void ConnectionManager::Impl::QueueUnderFaults(CmEvents& from, CmEvent& event) {
  // The program sees the response as what comes of it.
  const std::optional<Injection> injection = fabric.faults().OnCmEvent(
      event.event == RDMA_CM_EVENT_CONNECT_RESPONSE ? RDMA_CM_EVENT_ESTABLISHED
                                                    : event.event);
  if (injection.has_value()) {
    if (injection->action == FaultAction::kShowEventAs) {
      event.shown_as = injection->as;
    } else if (injection->action == FaultAction::kDelayEvent) {
      return DelayEvent(from, event, fabric.Scale(injection->time));
    }
  }
  QueueEvent(
      from, event.self,
      injection.has_value() && injection->action == FaultAction::kEventAhead);
}

void ConnectionManager::Impl::DelayEvent(CmEvents& from, CmEvent& event,
                                         std::chrono::nanoseconds time) {
  event.due = fabric.timers().Now() + time;
  const auto behind = std::ranges::find_if(
      late_events, [&](const CmEvent& e) { return e.due > event.due; });
  late_events.splice(behind, from, event.self);
  // Without a timer the time counts as passed.
  if (!ArmNetworkTimer()) QueueEvent(late_events, event.self, /*ahead=*/false);
}

CmEvent* ConnectionManager::Impl::Fetch(EventChannel& channel) {
  if (channel.unread().empty()) return nullptr;
  CmEvent& event = channel.unread().front();
  channel.Take(event.self, event.account->unacked);
  ++unacked_events;
  if (steps != nullptr) steps->Fetched(channel, event);
  if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    --event.account->waiting_requests;
    CmId& request = IdOf(event.id);
    if (event.shown_as.has_value()) {
      // The program gets no id that it would have to destroy.
      SendReject(request, kRejConsumerDefined);
      Forget(request);
      event.id = event.account;
      event.listen_id = nullptr;
    } else {
      Attach(request, &channel);
    }
  }
  return &event;
}

bool ConnectionManager::Impl::Process(CmEvent& event) {
  CmId& id = IdOf(event.id);
  if (event.event == RDMA_CM_EVENT_CONNECT_RESPONSE) {
    event.status = -FinishConnect(id);
    event.event = event.status == 0 ? RDMA_CM_EVENT_ESTABLISHED
                                    : RDMA_CM_EVENT_CONNECT_ERROR;
  } else if (event.event == RDMA_CM_EVENT_REJECTED) {
    std::shared_ptr<QueuePair> qp;
    {
      const std::lock_guard lock(mutex);
      if (id.connect_error) return false;
      qp = id.queue_pair;
    }
    if (qp != nullptr) qp->ToError();
  }
  return true;
}

void ConnectionManager::Impl::Acknowledge(CmEvent& event) {
  event.account->unacked.erase(event.self);
  --unacked_events;
  acknowledged.notify_all();
}

CmEvents ConnectionManager::Impl::TakeUnread(CmId& id) {
  CmEvents taken;
  EventChannel* const channel = id.event_channel();
  if (channel == nullptr) {
    taken.swap(id.parked);
    return taken;
  }
  for (auto event = channel->unread().begin();
       event != channel->unread().end();) {
    const auto next = std::next(event);
    if (event->account == &id) channel->Take(event, taken);
    event = next;
  }
  return taken;
}

CmEvents ConnectionManager::Impl::TakeAllUnread(CmId& id) {
  CmEvents taken = TakeUnread(id);
  for (auto event = late_events.begin(); event != late_events.end();) {
    const auto next = std::next(event);
    if (event->account == &id) {
      taken.splice(taken.end(), late_events, event);
    }
    event = next;
  }
  return taken;
}

int ConnectionManager::Impl::WaitForEvent(EventChannel& channel) {
  if (steps == nullptr) {
    return channel.event_fd().Wait(
        fabric.progress().load(std::memory_order_acquire));
  }
  return channel.event_fd().WaitStepping(
      steps->scheduler(), {"GetCmEvent", ObjectKind::kEventChannel,
                           channel.number, [&channel, this] {
                             const std::lock_guard lock(mutex);
                             return !channel.unread().empty();
                           }});
}

int ConnectionManager::Impl::WaitForAcks(Lock& lock, CmId& id,
                                         const char* call) {
  const auto is_over = [&id] { return id.unacked.empty(); };
  if (steps == nullptr) {
    acknowledged.wait(lock, is_over);
    return 0;
  }
  lock.unlock();
  const int error = steps->scheduler().Await(
      {call, ObjectKind::kCmId, static_cast<uint32_t>(id.number),
       [this, is_over] {
         const std::lock_guard relock(mutex);
         return is_over();
       }});
  lock.lock();
  return error;
}

int ConnectionManager::GetEvent(rdma_event_channel* handle,
                                rdma_cm_event** event) {
  EventChannel& channel = *static_cast<EventChannel*>(handle);
  for (;;) {
    CmEvent* fetched = nullptr;
    {
      Impl::Lock lock(impl_->mutex);
      fetched = impl_->Fetch(channel);
      impl_->Deliver(lock);
    }
    if (fetched == nullptr) {
      const int error = impl_->WaitForEvent(channel);
      if (error == EAGAIN) return impl_->fabric.empty_channel_errno();
      if (error != 0) return error;
    } else if (impl_->Process(*fetched)) {
      if (fetched->shown_as.has_value()) fetched->event = *fetched->shown_as;
      *event = fetched;
      return 0;
    } else {
      AckEvent(fetched);
    }
  }
}

int ConnectionManager::AckEvent(rdma_cm_event* event) {
  if (event == nullptr) return EINVAL;
  const std::lock_guard lock(impl_->mutex);
  impl_->Acknowledge(*static_cast<CmEvent*>(event));
  return 0;
}

}  // namespace rpma::emu
