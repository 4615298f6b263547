// SPDX-License-Identifier: BSD-3-Clause
// Counting calls, deciding which fail, and handing on the others.

#include "backends/fault/fault_injecting_transport.h"

#include <array>
#include <climits>
#include <mutex>
#include <utility>
#include <vector>

namespace rpma::fault {
namespace {

// It has its place in each thread, though the library be loaded later: threads
// allocate nothing for it, and calls find it at once.
constinit thread_local bool inside_call [[gnu::tls_model("initial-exec")]] =
    false;

// Also undone when the thread is cancelled in a call that blocks.
class InsideCallScope {
 public:
  InsideCallScope() : outer_(std::exchange(inside_call, true)) {}
  InsideCallScope(const InsideCallScope&) = delete;
  InsideCallScope& operator=(const InsideCallScope&) = delete;
  ~InsideCallScope() { inside_call = outer_; }

 private:
  // A call may log, and the program's log function may make calls.
  const bool outer_;
};

// Relaxed, so that a plan does not order what threads do.
constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

}  // namespace

struct FaultInjectingTransport::Verdict {
  Errno error = Errno::kOk;  // kOk: it does not fail
  Outcome outcome = Outcome::kNoEffect;
};

struct FaultInjectingTransport::Plan {
  struct Rule {
    CallFault fault;
    std::atomic<uint64_t> fired = 0;
  };

  explicit Plan(std::span<const CallFault> faults) : rules(faults.size()) {
    for (size_t i = 0; i < faults.size(); ++i) rules[i].fault = faults[i];
  }

  std::vector<Rule> rules;
  std::array<std::atomic<uint64_t>, kCalls> counts{};
  std::atomic<uint64_t> count_of_all = 0;  // that can fail
};

FaultInjectingTransport::FaultInjectingTransport(Transport& inner)
    : inner_(inner), survivors_(inner) {}

FaultInjectingTransport::~FaultInjectingTransport() = default;

std::shared_ptr<FaultInjectingTransport::Plan>
FaultInjectingTransport::MakePlan(std::span<const CallFault> faults) {
  return std::make_shared<Plan>(faults);
}

void FaultInjectingTransport::AdoptPlan(std::shared_ptr<Plan> plan) {
  const std::unique_lock lock(mutex_);
  plan_.swap(plan);
  has_plan_.store(true, kRelaxed);
}

void FaultInjectingTransport::SetPlan(std::span<const CallFault> faults) {
  AdoptPlan(MakePlan(faults));
}

void FaultInjectingTransport::ClearPlan() {
  const std::unique_lock lock(mutex_);
  plan_.reset();
  has_plan_.store(false, kRelaxed);
}

uint64_t FaultInjectingTransport::CountOf(Call call) const {
  const std::shared_lock lock(mutex_);
  if (plan_ == nullptr) return 0;
  return plan_->counts[static_cast<size_t>(call)].load(kRelaxed);
}

uint64_t FaultInjectingTransport::CountOfAll() const {
  const std::shared_lock lock(mutex_);
  return plan_ != nullptr ? plan_->count_of_all.load(kRelaxed) : 0;
}

uint64_t FaultInjectingTransport::FiredBy(size_t fault) const {
  const std::shared_lock lock(mutex_);
  if (plan_ == nullptr || fault >= plan_->rules.size()) return 0;
  return plan_->rules[fault].fired.load(kRelaxed);
}

bool FaultInjectingTransport::InsideCall() { return inside_call; }

FaultInjectingTransport::Verdict FaultInjectingTransport::Count(Call call) {
  const std::shared_lock lock(mutex_);
  if (plan_ == nullptr) return {};
  const uint64_t of_its_name =
      1 + plan_->counts[static_cast<size_t>(call)].fetch_add(1, kRelaxed);
  if (!CanFail(call)) return {};
  const uint64_t of_all = 1 + plan_->count_of_all.fetch_add(1, kRelaxed);
  for (auto& [fault, fired] : plan_->rules) {
    if (fault.call.has_value() && *fault.call != call) continue;
    const uint64_t number = fault.call.has_value() ? of_its_name : of_all;
    if (number < fault.nth || (number > fault.nth && !fault.and_later)) {
      continue;
    }
    fired.fetch_add(1, kRelaxed);
    return {fault.error, fault.outcome};
  }
  return {};
}

template <typename Forward>
Errno FaultInjectingTransport::Run(Call call, Forward forward) {
  if (!has_plan_.load(kRelaxed)) [[likely]] {
    return forward();
  }
  const InsideCallScope inside;
  const Verdict verdict = Count(call);
  return verdict.error == Errno::kOk ? forward() : verdict.error;
}

template <typename Forward>
Errno FaultInjectingTransport::Free(Call call, void* handle, Forward forward) {
  if (!has_plan_.load(kRelaxed) && survivors_.empty()) [[likely]] {
    return forward();
  }
  const InsideCallScope inside;
  const Verdict verdict = Count(call);
  if (verdict.error != Errno::kOk && verdict.outcome != Outcome::kFreed) {
    survivors_.Add(call, handle);
    return verdict.error;
  }
  if (call == Call::kDestroyId) {
    survivors_.FreeThoseOf(static_cast<rdma_cm_id*>(handle));
  }
  survivors_.Remove(call, handle);
  const Errno result = forward();
  if (result != Errno::kOk) survivors_.Add(call, handle);
  return verdict.error != Errno::kOk ? verdict.error : result;
}

template <typename Forward>
void FaultInjectingTransport::RunWithoutFail(Call call, Forward forward) {
  if (!has_plan_.load(kRelaxed)) [[likely]] {
    return forward();
  }
  const InsideCallScope inside;
  static_cast<void>(Count(call));
  forward();
}

Errno FaultInjectingTransport::PostSend(ibv_qp* qp, ibv_send_wr* wr) {
  return Run(Call::kPostSend, [&] { return inner_.PostSend(qp, wr); });
}

Errno FaultInjectingTransport::PostRecv(ibv_qp* qp, ibv_recv_wr* wr) {
  return Run(Call::kPostRecv, [&] { return inner_.PostRecv(qp, wr); });
}

Errno FaultInjectingTransport::PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr) {
  return Run(Call::kPostSrqRecv, [&] { return inner_.PostSrqRecv(srq, wr); });
}

Errno FaultInjectingTransport::PostFlush(ibv_qp* qp, const FlushWr& wr) {
  return Run(Call::kPostFlush, [&] { return inner_.PostFlush(qp, wr); });
}

Errno FaultInjectingTransport::PostAtomicWrite(ibv_qp* qp,
                                               const AtomicWriteWr& wr) {
  return Run(Call::kPostAtomicWrite,
             [&] { return inner_.PostAtomicWrite(qp, wr); });
}

int FaultInjectingTransport::PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) {
  if (!has_plan_.load(kRelaxed)) [[likely]] {
    return inner_.PollCq(cq, capacity, wc);
  }
  const InsideCallScope inside;
  const Verdict verdict = Count(Call::kPollCq);
  if (verdict.error == Errno::kOk) return inner_.PollCq(cq, capacity, wc);
  if (verdict.outcome == Outcome::kExcess && capacity < INT_MAX) {
    return capacity + 1;
  }
  return verdict.error == Errno::kNoCause ? -1
                                          : -static_cast<int>(verdict.error);
}

Errno FaultInjectingTransport::QueryDevice(ibv_context* context,
                                           DeviceCaps* caps) {
  return Run(Call::kQueryDevice,
             [&] { return inner_.QueryDevice(context, caps); });
}

Errno FaultInjectingTransport::AllocPd(ibv_context* context, ibv_pd** pd) {
  return Run(Call::kAllocPd, [&] { return inner_.AllocPd(context, pd); });
}

Errno FaultInjectingTransport::DeallocPd(ibv_pd* pd) {
  return Free(Call::kDeallocPd, pd, [&] { return inner_.DeallocPd(pd); });
}

Errno FaultInjectingTransport::RegMr(ibv_pd* pd, void* addr, size_t length,
                                     uint32_t access, ibv_mr** mr) {
  return Run(Call::kRegMr,
             [&] { return inner_.RegMr(pd, addr, length, access, mr); });
}

Errno FaultInjectingTransport::DeregMr(ibv_mr* mr) {
  return Free(Call::kDeregMr, mr, [&] { return inner_.DeregMr(mr); });
}

Errno FaultInjectingTransport::AdviseMr(ibv_mr* mr, size_t offset,
                                        uint32_t length, int advice,
                                        uint32_t flags) {
  return Run(Call::kAdviseMr, [&] {
    return inner_.AdviseMr(mr, offset, length, advice, flags);
  });
}

Errno FaultInjectingTransport::CreateCompChannel(ibv_context* context,
                                                 ibv_comp_channel** channel) {
  return Run(Call::kCreateCompChannel,
             [&] { return inner_.CreateCompChannel(context, channel); });
}

Errno FaultInjectingTransport::DestroyCompChannel(ibv_comp_channel* channel) {
  return Free(Call::kDestroyCompChannel, channel,
              [&] { return inner_.DestroyCompChannel(channel); });
}

Errno FaultInjectingTransport::CreateCq(ibv_context* context, int cqe,
                                        ibv_comp_channel* channel,
                                        ibv_cq** cq) {
  return Run(Call::kCreateCq,
             [&] { return inner_.CreateCq(context, cqe, channel, cq); });
}

Errno FaultInjectingTransport::DestroyCq(ibv_cq* cq) {
  return Free(Call::kDestroyCq, cq, [&] { return inner_.DestroyCq(cq); });
}

Errno FaultInjectingTransport::ReqNotifyCq(ibv_cq* cq) {
  return Run(Call::kReqNotifyCq, [&] { return inner_.ReqNotifyCq(cq); });
}

Errno FaultInjectingTransport::GetCqEvent(ibv_comp_channel* channel,
                                          ibv_cq** cq) {
  return Run(Call::kGetCqEvent, [&] { return inner_.GetCqEvent(channel, cq); });
}

void FaultInjectingTransport::AckCqEvents(ibv_cq* cq, unsigned count) {
  RunWithoutFail(Call::kAckCqEvents, [&] { inner_.AckCqEvents(cq, count); });
}

Errno FaultInjectingTransport::CreateSrq(ibv_pd* pd, uint32_t max_wr,
                                         ibv_srq** srq) {
  return Run(Call::kCreateSrq,
             [&] { return inner_.CreateSrq(pd, max_wr, srq); });
}

Errno FaultInjectingTransport::DestroySrq(ibv_srq* srq) {
  return Free(Call::kDestroySrq, srq, [&] { return inner_.DestroySrq(srq); });
}

int FaultInjectingTransport::GetAddrInfo(const char* node, const char* service,
                                         bool passive, rdma_addrinfo** info) {
  return static_cast<int>(Run(Call::kGetAddrInfo, [&] {
    return static_cast<Errno>(inner_.GetAddrInfo(node, service, passive, info));
  }));
}

void FaultInjectingTransport::FreeAddrInfo(rdma_addrinfo* info) {
  RunWithoutFail(Call::kFreeAddrInfo, [&] { inner_.FreeAddrInfo(info); });
}

Errno FaultInjectingTransport::CreateEventChannel(
    rdma_event_channel** channel) {
  return Run(Call::kCreateEventChannel,
             [&] { return inner_.CreateEventChannel(channel); });
}

void FaultInjectingTransport::DestroyEventChannel(rdma_event_channel* channel) {
  RunWithoutFail(Call::kDestroyEventChannel, [&] {
    if (survivors_.Need(channel)) return;
    inner_.DestroyEventChannel(channel);
  });
}

Errno FaultInjectingTransport::GetCmEvent(rdma_event_channel* channel,
                                          rdma_cm_event** event) {
  return Run(Call::kGetCmEvent,
             [&] { return inner_.GetCmEvent(channel, event); });
}

Errno FaultInjectingTransport::AckCmEvent(rdma_cm_event* event) {
  return Free(Call::kAckCmEvent, event,
              [&] { return inner_.AckCmEvent(event); });
}

Errno FaultInjectingTransport::CreateId(rdma_event_channel* channel,
                                        rdma_cm_id** id) {
  return Run(Call::kCreateId, [&] { return inner_.CreateId(channel, id); });
}

Errno FaultInjectingTransport::DestroyId(rdma_cm_id* id) {
  return Free(Call::kDestroyId, id, [&] { return inner_.DestroyId(id); });
}

Errno FaultInjectingTransport::MigrateId(rdma_cm_id* id,
                                         rdma_event_channel* channel) {
  return Run(Call::kMigrateId, [&] { return inner_.MigrateId(id, channel); });
}

Errno FaultInjectingTransport::BindAddr(rdma_cm_id* id,
                                        const rdma_addrinfo& info) {
  return Run(Call::kBindAddr, [&] { return inner_.BindAddr(id, info); });
}

Errno FaultInjectingTransport::Listen(rdma_cm_id* id, int backlog) {
  return Run(Call::kListen, [&] { return inner_.Listen(id, backlog); });
}

Errno FaultInjectingTransport::ResolveAddr(rdma_cm_id* id,
                                           const rdma_addrinfo& info,
                                           int timeout_ms) {
  return Run(Call::kResolveAddr,
             [&] { return inner_.ResolveAddr(id, info, timeout_ms); });
}

Errno FaultInjectingTransport::ResolveRoute(rdma_cm_id* id, int timeout_ms) {
  return Run(Call::kResolveRoute,
             [&] { return inner_.ResolveRoute(id, timeout_ms); });
}

Errno FaultInjectingTransport::Connect(rdma_cm_id* id, rdma_conn_param* param) {
  return Run(Call::kConnect, [&] { return inner_.Connect(id, param); });
}

Errno FaultInjectingTransport::Accept(rdma_cm_id* id, rdma_conn_param* param) {
  return Run(Call::kAccept, [&] { return inner_.Accept(id, param); });
}

Errno FaultInjectingTransport::Reject(rdma_cm_id* id, const void* private_data,
                                      uint8_t private_data_len) {
  return Run(Call::kReject,
             [&] { return inner_.Reject(id, private_data, private_data_len); });
}

Errno FaultInjectingTransport::Disconnect(rdma_cm_id* id) {
  return Run(Call::kDisconnect, [&] { return inner_.Disconnect(id); });
}

Errno FaultInjectingTransport::CreateQp(rdma_cm_id* id, const QpConfig& config,
                                        QpCaps* caps) {
  return Run(Call::kCreateQp,
             [&] { return inner_.CreateQp(id, config, caps); });
}

Errno FaultInjectingTransport::DestroyQp(rdma_cm_id* id) {
  return Free(Call::kDestroyQp, id, [&] { return inner_.DestroyQp(id); });
}

}  // namespace rpma::fault
