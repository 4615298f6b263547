// SPDX-License-Identifier: BSD-3-Clause
// The connection manager's ids: their making, addresses, channels, queue pairs
// and end.

#include <sys/syslog.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

#include "emulator/addresses.h"
#include "emulator/cm_impl.h"
#include "emulator/device.h"
#include "emulator/fabric.h"

namespace rpma::emu {
namespace {

// Of an id at once, besides those that a call sets aside itself: the outcome of
// connecting (a response may be followed by a rejection), DISCONNECTED,
// TIMEWAIT_EXIT and DEVICE_REMOVAL.
constexpr int kEventsOfAnId = 5;

EventChannel* ChannelOf(rdma_event_channel* channel) {
  return static_cast<EventChannel*>(channel);
}

void SetDevice(CmId& id, Device* device) {
  id.device = device;
  id.verbs = device->context();
  id.port_num = 1;
}

}  // namespace

int WrongState(const CmId& id) {
  return id.state == CmState::kRemoved ? EIO : EINVAL;
}

std::shared_ptr<CmId> ConnectionManager::Impl::NewId(EventChannel* channel) {
  auto id = std::make_shared<CmId>(++last_number);
  for (int i = 0; i < kEventsOfAnId; ++i) id->spare.emplace_back();
  id->timer.emplace(fabric.timers(),
                    [cm = weak_from_this(), weak_id = std::weak_ptr<CmId>(id)] {
                      const auto manager = cm.lock();
                      const auto timed = weak_id.lock();
                      if (manager == nullptr || timed == nullptr) return;
                      Lock lock(manager->mutex);
                      // An expiry that was under way when the timer was armed
                      // anew or cancelled is none.
                      if (manager->fabric.timers().Now() < timed->deadline)
                        return;
                      manager->Expire(lock, *timed);
                      manager->Deliver(lock);
                    });
  AddMessageNodes();
  ids.emplace(id->number, id);
  Attach(*id, channel);
  return id;
}

void ConnectionManager::Impl::Attach(CmId& id, EventChannel* channel) {
  CmEvents moving = TakeUnread(id);
  if (id.channel != nullptr) --id.event_channel()->ids;
  id.channel = channel;
  if (channel == nullptr) {
    id.parked.swap(moving);
    return;
  }
  ++channel->ids;
  while (!moving.empty()) {
    channel->Push(moving, moving.begin(), /*ahead=*/false);
  }
}

int ConnectionManager::Impl::Bind(CmId& id, const sockaddr& address) {
  Device* device = nullptr;
  if (!IsWildcard(address)) {
    device = fabric.DeviceOwning(address);
    if (device == nullptr) return ENODEV;
  }
  const int error = ports.Bind(id, address);
  if (error != 0) return error;
  if (device != nullptr) SetDevice(id, device);
  id.state = CmState::kBound;
  return 0;
}

int ConnectionManager::Impl::BindAndClaim(Lock& lock, CmId& id,
                                          const sockaddr& address) {
  // The ports that are free here may not be free elsewhere.
  for (int tries = 0; tries < UINT16_MAX; ++tries) {
    int error = Bind(id, address);
    if (error != 0) return error;
    error = Claim(lock, id);
    if (error == 0 || id.state != CmState::kBound) return error;
    ports.Release(id);
    id.route.addr.src_storage = {};
    id.device = nullptr;
    id.verbs = nullptr;
    id.port_num = 0;
    id.state = CmState::kIdle;
    if (error != EADDRINUSE || PortOf(address) != 0) return error;
  }
  return EADDRNOTAVAIL;
}

int ConnectionManager::Impl::Resolve(CmId& id, const sockaddr* source,
                                     const sockaddr& destination) {
  if (id.state == CmState::kBound) source = &id.route.addr.src_addr;
  if (source != nullptr && source->sa_family != destination.sa_family) {
    return EINVAL;
  }
  sockaddr_storage chosen;
  Device* device = fabric.DeviceTowards(destination, &chosen);
  if (device == nullptr) return ENODEV;
  if (id.state == CmState::kIdle) {
    const bool choose = source == nullptr || IsWildcard(*source);
    if (choose && source != nullptr) {
      SetPort(reinterpret_cast<sockaddr&>(chosen), PortOf(*source));
    }
    const int error =
        Bind(id, choose ? reinterpret_cast<sockaddr&>(chosen) : *source);
    if (error != 0) return error;
  }
  if (id.device == nullptr) SetDevice(id, device);
  CopyAddress(destination, &id.route.addr.dst_storage);
  id.state = CmState::kAddrResolved;
  return 0;
}

int ConnectionManager::Impl::Own(CmId& id,
                                 const std::shared_ptr<QueuePair>& qp) try {
  ids_by_qp.emplace(qp->qp_num, &id);
  id.queue_pair = qp;
  id.qp = qp.get();
  id.pd = qp->pd;
  id.send_cq = qp->send_cq;
  id.recv_cq = qp->recv_cq;
  id.srq = qp->srq;
  if (steps != nullptr) steps->GotQueuePair(id);
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

void ConnectionManager::Impl::Forget(CmId& id) {
  if (id.event_channel() != nullptr) --id.event_channel()->ids;
  const std::shared_ptr<CmId> peer = id.peer.lock();
  ids.erase(id.number);
  TrimMessageNodes();
  DropIfUnused(peer);
}

ConnectionManager::ConnectionManager(Fabric& fabric)
    : impl_(std::make_shared<Impl>(fabric)) {
  impl_->network_timer.emplace(fabric.timers(),
                               [weak = impl_->weak_from_this()] {
                                 if (const auto cm = weak.lock())
                                   cm->OnNetworkTimer();
                               });
  if (Scheduler* const scheduler = fabric.scheduler()) {
    impl_->steps =
        std::make_unique<CmSteps>(*scheduler, *impl_, impl_->weak_from_this());
  }
}

ConnectionManager::~ConnectionManager() = default;

int ConnectionManager::CreateEventChannel(rdma_event_channel** channel) try {
  auto made = std::make_unique<EventChannel>();
  const int error = made->Open();
  if (error != 0) return error;
  const std::lock_guard lock(impl_->mutex);
  ++impl_->channels;
  made->number = NumberOf(impl_->fabric.scheduler(), ObjectKind::kEventChannel);
  *channel = made.release();
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

void ConnectionManager::DestroyEventChannel(rdma_event_channel* handle) {
  std::unique_ptr<EventChannel> channel(ChannelOf(handle));
  {
    const std::lock_guard lock(impl_->mutex);
    if (channel->ids == 0) {
      --impl_->channels;
      return;
    }
  }
  channel.release();
  impl_->fabric.Log(LOG_ERR,
                    "an event channel that CM ids still use is not destroyed");
}

int ConnectionManager::CreateId(rdma_event_channel* channel,
                                rdma_cm_id** id) try {
  const std::lock_guard lock(impl_->mutex);
  *id = impl_->NewId(ChannelOf(channel)).get();
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int ConnectionManager::DestroyId(rdma_cm_id* handle) {
  const std::shared_ptr<CmId> id = IdOf(handle).shared_from_this();
  Impl::Lock lock(impl_->mutex);
  impl_->EndId(lock, id);
  impl_->Deliver(lock);
  if (id->queue_pair != nullptr) impl_->ids_by_qp.erase(id->queue_pair->qp_num);
  const int error = impl_->WaitForAcks(lock, *id, "DestroyId");
  if (error != 0) return error;
  impl_->Forget(*id);
  lock.unlock();
  if (id->queue_pair != nullptr) {
    impl_->fabric.Log(LOG_WARNING,
                      "a CM id was destroyed before its queue pair, which "
                      "nothing can destroy any more");
  }
  return 0;
}

int ConnectionManager::MigrateId(rdma_cm_id* handle,
                                 rdma_event_channel* channel) {
  CmId& id = IdOf(handle);
  std::unique_lock lock(impl_->mutex);
  EventChannel* const before = id.event_channel();
  impl_->Attach(id, ChannelOf(channel));
  const int error = impl_->WaitForAcks(lock, id, "MigrateId");
  if (error != 0) impl_->Attach(id, before);
  return error;
}

int ConnectionManager::BindAddr(rdma_cm_id* handle,
                                const sockaddr* address) try {
  CmId& id = IdOf(handle);
  if (!IsInternet(address)) return EAFNOSUPPORT;
  Impl::Lock lock(impl_->mutex);
  return id.state == CmState::kIdle ? impl_->BindAndClaim(lock, id, *address)
                                    : WrongState(id);
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int ConnectionManager::Listen(rdma_cm_id* handle, int backlog) {
  constexpr int kMaxBacklog = 1024;  // kernel: max_backlog of ucma.c
  CmId& id = IdOf(handle);
  const std::lock_guard lock(impl_->mutex);
  if (id.state != CmState::kBound) return WrongState(id);
  id.backlog = backlog > 0 && backlog < kMaxBacklog ? backlog : kMaxBacklog;
  id.state = CmState::kListening;
  return 0;
}

int ConnectionManager::ResolveAddr(rdma_cm_id* handle, const sockaddr* source,
                                   const sockaddr* destination) try {
  CmId& id = IdOf(handle);
  if (!IsInternet(destination) || (source != nullptr && !IsInternet(source))) {
    return EAFNOSUPPORT;
  }
  const std::lock_guard lock(impl_->mutex);
  if (id.state != CmState::kIdle && id.state != CmState::kBound) {
    return WrongState(id);
  }
  if (id.channel == nullptr) {
    return impl_->Resolve(id, source, *destination);
  }
  id.spare.emplace_back();
  const int error = impl_->Resolve(id, source, *destination);
  impl_->Post(
      id, error == 0 ? RDMA_CM_EVENT_ADDR_RESOLVED : RDMA_CM_EVENT_ADDR_ERROR,
      -error);
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int ConnectionManager::ResolveRoute(rdma_cm_id* handle) try {
  CmId& id = IdOf(handle);
  const std::lock_guard lock(impl_->mutex);
  if (id.state != CmState::kAddrResolved) return WrongState(id);
  if (id.channel != nullptr) {
    id.spare.emplace_back();
    impl_->Post(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
  }
  id.state = CmState::kRouteResolved;
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int ConnectionManager::CreateQp(rdma_cm_id* handle, ibv_pd* pd,
                                const QueuePairAttributes& attributes) {
  CmId& id = IdOf(handle);
  {
    const std::lock_guard lock(impl_->mutex);
    if (id.state == CmState::kDestroyed || id.device == nullptr ||
        pd == nullptr || pd->context != id.verbs || id.queue_pair != nullptr) {
      return EINVAL;
    }
  }
  std::shared_ptr<QueuePair> qp;
  int error =
      id.device->CreateQp(static_cast<ProtectionDomain*>(pd), attributes, &qp);
  if (error != 0) return error;
  error = qp->ToInit();
  if (error == 0) {
    const std::lock_guard lock(impl_->mutex);
    error = impl_->Own(id, qp);
  }
  if (error != 0) id.device->DestroyQp(qp.get());
  return error;
}

int ConnectionManager::DestroyQp(rdma_cm_id* handle) {
  CmId& id = IdOf(handle);
  std::shared_ptr<QueuePair> qp;
  {
    const std::lock_guard lock(impl_->mutex);
    qp = id.queue_pair;
  }
  if (qp == nullptr) return EINVAL;
  const uint32_t qp_num = qp->qp_num;
  const int error = id.device->DestroyQp(qp.get());
  if (error != 0) return error;
  const std::lock_guard lock(impl_->mutex);
  impl_->ids_by_qp.erase(qp_num);
  id.queue_pair = nullptr;
  id.qp = nullptr;
  return 0;
}

ConnectionManager::Census ConnectionManager::TakeCensus() const {
  const std::lock_guard lock(impl_->mutex);
  return {.ids = static_cast<uint32_t>(impl_->ids.size()),
          .event_channels = impl_->channels,
          .unacked_events = impl_->unacked_events,
          .far_ids = static_cast<uint32_t>(impl_->far_ids.size())};
}

}  // namespace rpma::emu
