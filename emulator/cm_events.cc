// SPDX-License-Identifier: BSD-3-Clause
// The connection manager's events: queued, fetched, acknowledged, dropped.

#include <cassert>
#include <cerrno>
#include <iterator>

#include "emulator/cm_impl.h"
#include "emulator/fabric.h"

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
  if (EventChannel* const channel = id.event_channel()) {
    channel->Push(id.spare, event.self);
  } else {
    id.parked.splice(id.parked.end(), id.spare, event.self);
  }
  return &event;
}

CmEvent* ConnectionManager::Impl::Fetch(EventChannel& channel) {
  if (channel.unread().empty()) return nullptr;
  CmEvent& event = channel.unread().front();
  channel.Take(event.self, event.account->unacked);
  ++unacked_events;
  if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    --event.account->waiting_requests;
    Attach(IdOf(event.id), &channel);
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

void ConnectionManager::Impl::WaitForAcks(std::unique_lock<std::mutex>& lock,
                                          CmId& id) {
  acknowledged.wait(lock, [&id] { return id.unacked.empty(); });
}

int ConnectionManager::GetEvent(rdma_event_channel* handle,
                                rdma_cm_event** event) {
  EventChannel& channel = *static_cast<EventChannel*>(handle);
  for (;;) {
    CmEvent* fetched = nullptr;
    {
      const std::lock_guard lock(impl_->mutex);
      fetched = impl_->Fetch(channel);
    }
    if (fetched == nullptr) {
      const int error = channel.Wait();
      if (error == EAGAIN) return impl_->fabric.empty_channel_errno();
      if (error != 0) return error;
    } else if (impl_->Process(*fetched)) {
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
