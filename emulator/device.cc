// SPDX-License-Identifier: BSD-3-Clause
// An emulated RDMA device: makes, counts and limits its objects.

#include "emulator/device.h"

#include <endian.h>
#include <syslog.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "emulator/async_events.h"
#include "emulator/device_context.h"
#include "emulator/far_qp.h"
#include "emulator/user_pages.h"

namespace rpma::emu {
namespace {

constexpr uint32_t kQpNumbers = 0xffff;  // of one device: 1 to this

constexpr unsigned kKnownAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
    IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB |
    IBV_ACCESS_OPTIONAL_RANGE | kAccessFlushGlobal | kAccessFlushPersistent;

// Counts an object on behalf of its maker, up to a limit.
class Count {
 public:
  bool Take(uint32_t limit) {
    if (value_.fetch_add(1) < limit) return true;
    GiveBack();
    return false;
  }
  void GiveBack() { value_.fetch_sub(1); }
  uint32_t value() const { return value_.load(); }

 private:
  std::atomic<uint32_t> value_{0};
};

int OpenEvents(AsyncEvents& events) {
  if (const int error = events.Open(); error != 0) {
    throw std::system_error(error, std::generic_category(), "eventfd");
  }
  return events.fd();
}

}  // namespace

struct Device::Impl {
  Impl(Device& self, std::string with_name, const Profile& with,
       uint32_t with_index, DeviceEnvironment& in)
      : name(std::move(with_name)),
        profile(with),
        index(with_index),
        environment(in),
        regions(profile.limits.max_mr),
        context(self, name, profile, OpenEvents(events)),
        health(self, in),
        foreign_cq(context.context(), 1, profile.cq_overrun, nullptr) {}

  // A number that no live QP has. REQUIRES: qps_mutex is held.
  uint32_t NextQpNumber() {
    do {
      last_qp = last_qp % kQpNumbers + 1;
    } while (qps.contains(index << kDeviceShift | last_qp));
    return index << kDeviceShift | last_qp;
  }

  int CheckRange(const ibv_pd* pd, int advice, const ibv_sge& range);
  // False, and a log line: it would exceed memlock_limit.
  bool Lock(uint64_t bytes);

  const std::string name;
  const Profile profile;
  const uint32_t index;
  DeviceEnvironment& environment;
  MrTable regions;
  AsyncEvents events;
  DeviceContext context;
  DeviceHealth health;
  CompletionQueue foreign_cq;

  std::atomic<uint64_t> locked{0};  // bytes
  Count pds;
  Count mrs;
  Count comp_channels;
  Count cqs;
  Count srqs;

  mutable std::mutex qps_mutex;
  std::map<uint32_t, std::shared_ptr<QueuePair>> qps;  // by number; guarded
  uint32_t last_qp = 0;
};

Device::Device(std::string name, const Profile& profile, uint32_t index,
               DeviceEnvironment& environment)
    : impl_(std::make_unique<Impl>(*this, std::move(name), profile, index,
                                   environment)) {}

Device::~Device() = default;

ibv_context* Device::context() { return impl_->context.context(); }

Device* Device::Of(ibv_context* context) {
  return DeviceContext::DeviceOf(context);
}

const std::string& Device::name() const { return impl_->name; }

uint64_t Device::guid() const {
  // Locally administered, so it is nobody's.
  return htobe64(0x0200'00ff'fe00'0001 + impl_->index);
}

const Profile& Device::profile() const { return impl_->profile; }

DeviceEnvironment& Device::environment() { return impl_->environment; }

DeviceHealth& Device::health() { return impl_->health; }

const DeviceHealth& Device::health() const { return impl_->health; }

MrTable& Device::regions() { return impl_->regions; }

CompletionQueue& Device::foreign_cq() { return impl_->foreign_cq; }

int Device::AllocPd(ProtectionDomain** pd) {
  if (impl_->health.IsRemoved()) return EIO;
  if (!impl_->pds.Take(impl_->profile.limits.max_pd)) return ENOMEM;
  auto* const made = new (std::nothrow) ProtectionDomain{};
  if (made == nullptr) {
    impl_->pds.GiveBack();
    return ENOMEM;
  }
  made->context = context();
  *pd = made;
  return 0;
}

int Device::DeallocPd(ProtectionDomain* pd) {
  if (pd->children != 0) return EBUSY;
  delete pd;
  impl_->pds.GiveBack();
  return 0;
}

int Device::RegMr(ProtectionDomain* pd, void* addr, size_t length,
                  unsigned access, MemoryRegion** mr) {
  if (impl_->health.IsRemoved()) return EIO;
  const Profile& profile = impl_->profile;
  const auto start = reinterpret_cast<uintptr_t>(addr);
  const bool writes_remotely =
      (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  if (length == 0 || start + length < start || (access & ~kKnownAccess) != 0 ||
      (writes_remotely && (access & IBV_ACCESS_LOCAL_WRITE) == 0)) {
    return EINVAL;
  }
  const unsigned flush = kAccessFlushGlobal | kAccessFlushPersistent;
  if (((access & IBV_ACCESS_ON_DEMAND) && !profile.on_demand_paging) ||
      ((access & flush) && !profile.native_flush)) {
    return EOPNOTSUPP;
  }
  const bool pins = (access & IBV_ACCESS_ON_DEMAND) == 0;
  if (pins && !profile.pinning) return EOPNOTSUPP;
  if (length > profile.limits.max_mr_size) return ENOMEM;
  std::unique_ptr<MemoryRegion> made(new (std::nothrow) MemoryRegion{});
  if (made == nullptr) return ENOMEM;
  if (pins) made->locked = PagesAround(start, length);
  if (!impl_->Lock(made->locked)) return ENOMEM;
  const bool writable = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  if (pins && !CanBePinned(start, length, writable)) {
    impl_->locked -= made->locked;
    return EFAULT;
  }
  made->context = context();
  made->pd = pd;
  made->addr = addr;
  made->length = length;
  made->access = access;
  made->number = NumberOf(scheduler(), ObjectKind::kMemoryRegion);
  if (const int error = impl_->regions.Insert(*made)) {
    impl_->locked -= made->locked;
    return error;
  }
  impl_->mrs.Take(UINT32_MAX);
  ++pd->children;
  *mr = made.release();
  return 0;
}

int Device::DeregMr(MemoryRegion* mr) {
  impl_->regions.Remove(*mr);
  impl_->locked -= mr->locked;
  --static_cast<ProtectionDomain*>(mr->pd)->children;
  delete mr;
  impl_->mrs.GiveBack();
  return 0;
}

bool Device::Impl::Lock(uint64_t bytes) {
  const uint64_t before = locked.fetch_add(bytes);
  if (before <= profile.memlock_limit &&
      bytes <= profile.memlock_limit - before) {
    return true;
  }
  locked -= bytes;
  char text[200];
  std::snprintf(text, sizeof(text),
                "%s: the locked-memory limit is %" PRIu64
                " KiB (memlock_limit), of which %" PRIu64
                " KiB are in use; %" PRIu64 " KiB more are not locked",
                name.c_str(), profile.memlock_limit / 1024, before / 1024,
                bytes / 1024);
  environment.Log(LOG_WARNING, text);
  return false;
}

int Device::Impl::CheckRange(const ibv_pd* pd, int advice,
                             const ibv_sge& range) {
  const KeyFacts facts = regions.Facts(range.lkey);
  if (facts.registered && !(facts.access & IBV_ACCESS_ON_DEMAND)) return EINVAL;
  const unsigned rights = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
                              ? IBV_ACCESS_LOCAL_WRITE
                              : 0;
  MrPin pin;
  switch (
      regions.Access(range.lkey, pd, range.addr, range.length, rights, &pin)) {
    case AccessError::kNone:
      return 0;
    case AccessError::kOtherDomain:
    case AccessError::kMissingRight:
      return EPERM;
    default:
      return EFAULT;
  }
}

int Device::AdviseMr(ProtectionDomain* pd, int advice, uint32_t flags,
                     const ibv_sge* sges, uint32_t num_sge) {
  if (impl_->health.IsRemoved()) return EIO;
  if (!impl_->profile.advise_mr) return EOPNOTSUPP;
  if (advice < IBV_ADVISE_MR_ADVICE_PREFETCH ||
      advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
    return ENOTSUP;
  }
  if (num_sge == 0 || (flags & ~uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0) {
    return EINVAL;
  }
  for (uint32_t i = 0; i < num_sge; ++i) {
    if (const int error = impl_->CheckRange(pd, advice, sges[i])) return error;
  }
  return 0;
}

int Device::CreateCompChannel(CompletionChannel** channel) {
  if (impl_->health.IsRemoved()) return EIO;
  std::unique_ptr<CompletionChannel> made(
      new (std::nothrow) CompletionChannel(context(), this));
  if (made == nullptr) return ENOMEM;
  if (const int error = made->Open()) return error;
  impl_->comp_channels.Take(UINT32_MAX);
  *channel = made.release();
  return 0;
}

int Device::DestroyCompChannel(CompletionChannel* channel) {
  if (channel->cqs() != 0) return EBUSY;
  delete channel;
  impl_->comp_channels.GiveBack();
  return 0;
}

int Device::CreateCq(int cqe, CompletionChannel* channel,
                     CompletionQueue** cq) {
  if (impl_->health.IsRemoved()) return EIO;
  const Profile& profile = impl_->profile;
  if (cqe < 1 || static_cast<uint32_t>(cqe) > profile.limits.max_cqe) {
    return EINVAL;
  }
  if (profile.cq_rounding == CqRounding::kPowerOfTwoMinusOne) {
    cqe = static_cast<int>(std::bit_ceil(static_cast<uint32_t>(cqe) + 1) - 1);
  }
  if (!impl_->cqs.Take(profile.limits.max_cq)) return ENOMEM;
  try {
    *cq = new CompletionQueue(context(), cqe, profile.cq_overrun, channel,
                              &impl_->environment.faults(), scheduler(),
                              &impl_->environment.progress());
  } catch (const std::bad_alloc&) {
    impl_->cqs.GiveBack();
    return ENOMEM;
  }
  return 0;
}

int Device::DestroyCq(CompletionQueue* cq) {
  if (cq->users != 0) return EBUSY;
  if (const int error = cq->WaitForAcks()) return error;
  impl_->events.Retract(cq);
  delete cq;
  impl_->cqs.GiveBack();
  return 0;
}

int Device::CreateSrq(ProtectionDomain* pd, uint32_t max_wr, uint32_t max_sge,
                      uint32_t srq_limit, SharedReceiveQueue** srq) {
  if (impl_->health.IsRemoved()) return EIO;
  const DeviceLimits& limits = impl_->profile.limits;
  if (max_wr == 0 || max_wr > limits.max_srq_wr || max_sge == 0 ||
      max_sge > limits.max_sge || srq_limit > max_wr) {
    return EINVAL;
  }
  if (!impl_->srqs.Take(limits.max_srq)) return ENOMEM;
  try {
    *srq = new SharedReceiveQueue(*this, *pd, max_wr, max_sge, srq_limit);
  } catch (const std::bad_alloc&) {
    impl_->srqs.GiveBack();
    return ENOMEM;
  }
  ++pd->children;
  return 0;
}

int Device::DestroySrq(SharedReceiveQueue* srq) {
  if (srq->users != 0) return EBUSY;
  impl_->events.Retract(srq);
  --static_cast<ProtectionDomain*>(srq->pd)->children;
  delete srq;
  impl_->srqs.GiveBack();
  return 0;
}

int Device::CreateQp(ProtectionDomain* pd,
                     const QueuePairAttributes& attributes,
                     std::shared_ptr<QueuePair>* qp) {
  if (impl_->health.IsRemoved()) return EIO;
  const DeviceLimits& limits = impl_->profile.limits;
  const auto ours = [this](const auto* object) {
    return object == nullptr || object->context == context();
  };
  if (pd == nullptr || attributes.send_cq == nullptr ||
      attributes.recv_cq == nullptr || !ours(pd) || !ours(attributes.send_cq) ||
      !ours(attributes.recv_cq) || !ours(attributes.srq) ||
      attributes.max_send_wr > limits.max_qp_wr ||
      attributes.max_recv_wr > limits.max_qp_wr ||
      attributes.max_send_sge > limits.max_sge ||
      attributes.max_recv_sge > limits.max_sge ||
      attributes.max_inline_data > limits.max_inline_data) {
    return EINVAL;
  }
  try {
    const std::lock_guard lock(impl_->qps_mutex);
    if (impl_->qps.size() >= std::min(limits.max_qp, kQpNumbers)) return ENOMEM;
    const uint32_t number = impl_->NextQpNumber();
    auto& place = impl_->qps[number];
    try {
      place = std::make_shared<QueuePair>(*this, *pd, attributes, number);
      place->Complete();
    } catch (const std::bad_alloc&) {
      if (place != nullptr) place->Destroy();
      impl_->qps.erase(number);
      throw;
    }
    *qp = place;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  return 0;
}

int Device::DestroyQp(QueuePair* qp) {
  qp->Destroy();
  impl_->events.Retract(qp);
  std::shared_ptr<QueuePair> last;  // released without the lock
  const std::lock_guard lock(impl_->qps_mutex);
  const auto found = impl_->qps.find(qp->qp_num);
  last = std::move(found->second);
  impl_->qps.erase(found);
  return 0;
}

std::shared_ptr<QueuePair> Device::FindQp(uint32_t qp_num) {
  const std::lock_guard lock(impl_->qps_mutex);
  const auto found = impl_->qps.find(qp_num);
  return found == impl_->qps.end() ? nullptr : found->second;
}

const char* Device::OnData(FarLink& link, const wire::Message& message,
                           std::span<const std::byte> payload) {
  const std::shared_ptr<QueuePair> qp = FindQp(message.head.to);
  switch (message.head.type) {
    case wire::Type::kRequest:
      if (qp != nullptr) return qp->OnRequest(link, message, payload);
      AnswerForNobody(link, message);
      return nullptr;
    case wire::Type::kReply:
      return qp != nullptr ? qp->OnReply(link, message, payload) : nullptr;
    default:
      if (qp != nullptr) qp->Resume();
      return nullptr;
  }
}

void Device::OnRoom(const FarLink& link) {
  ForEachQp([&link](QueuePair& qp) { qp.OnRoom(link); });
}

void Device::OnEnd(const FarLink& link) {
  ForEachQp([&link](QueuePair& qp) { qp.OnEnd(link); });
}

void Device::RaiseAsyncEvent(const ibv_async_event& event) {
  impl_->events.Push(event);
  if (scheduler() == nullptr) return;
  scheduler()->NoteEvent();
  scheduler()->trace().Add("device %u raises async event %d", impl_->index,
                           event.event_type);
}

int Device::GetAsyncEvent(ibv_async_event* event) {
  uint32_t dropped;
  bool is_there = impl_->events.Pop(event, &dropped);
  if (!is_there && scheduler() != nullptr && scheduler()->Step()) {
    is_there = impl_->events.Pop(event, &dropped);
  }
  if (!is_there) return EAGAIN;
  if (dropped > 0) {
    char text[100];
    std::snprintf(text, sizeof(text), "%s: %u async events were dropped",
                  name().c_str(), dropped);
    environment().Log(LOG_WARNING, text);
  }
  return 0;
}

template <typename Work>
void Device::ForEachQp(Work work) {
  uint32_t done = 0;
  for (;;) {
    std::shared_ptr<QueuePair> qp;
    {
      const std::lock_guard lock(impl_->qps_mutex);
      const auto next = impl_->qps.upper_bound(done);
      if (next == impl_->qps.end()) return;
      qp = next->second;
    }
    done = qp->qp_num;
    work(*qp);
  }
}

void Device::FailOverrunQps() {
  ForEachQp([](QueuePair& qp) { qp.FailIfOverrun(); });
}

void Device::EndQps(const char* why) {
  ForEachQp([why](QueuePair& qp) { qp.End(why); });
}

ObjectCensus Device::Census() const {
  const std::lock_guard lock(impl_->qps_mutex);
  return {.pds = impl_->pds.value(),
          .mrs = impl_->mrs.value(),
          .comp_channels = impl_->comp_channels.value(),
          .cqs = impl_->cqs.value(),
          .srqs = impl_->srqs.value(),
          .qps = static_cast<uint32_t>(impl_->qps.size())};
}

}  // namespace rpma::emu
