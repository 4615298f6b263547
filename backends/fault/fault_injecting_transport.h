// SPDX-License-Identifier: BSD-3-Clause
//
// A Transport that hands every call to another one, except those that a plan
// wants to fail.

#ifndef RPMA_BACKENDS_FAULT_FAULT_INJECTING_TRANSPORT_H_
#define RPMA_BACKENDS_FAULT_FAULT_INJECTING_TRANSPORT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>

#include "backends/fault/call.h"
#include "backends/fault/call_fault.h"
#include "backends/fault/survivors.h"
#include "core/transport.h"

namespace rpma::fault {

// Without a plan a call costs one relaxed load and one indirect call. With one,
// every call is counted; none allocates, throws, or waits for another.
//
// A call that is made to fail does not reach the other Transport, so it has no
// effect and blocks on nothing: objects stay alive, out-parameters untouched,
// completions and events queued. The exception is Outcome::kFreed. A call for
// which several rules are due fails as the first of them says, and only that
// one counts it.
//
// Survivors. What a call that frees could not free, made to fail or failing for
// another reason while there is a plan, is remembered until a later call frees
// it or Reclaim() does. It may be pinned by other survivors, of which the
// caller knows nothing; so a survivor goes before what it would block: an event
// and a queue pair with their id, and an event channel that ids need is a
// survivor as well, though destroying it cannot fail.
//
// Threads. Everything may be called from any thread at any time, replacing the
// plan included. A call that runs meanwhile follows, and is counted by, one of
// the plans, or none if there was none before; a call that starts afterwards
// follows the new one.
class FaultInjectingTransport final : public Transport {
 public:
  // REQUIRES: `inner` outlives this.
  explicit FaultInjectingTransport(Transport& inner);
  ~FaultInjectingTransport() override;

  // Replaces the plan; all counts start at 0. Without any fault calls are only
  // counted. Throws std::bad_alloc, then the old plan stays.
  void SetPlan(std::span<const CallFault> faults);
  // The same in two steps, of which the second does not throw.
  struct Plan;
  static std::shared_ptr<Plan> MakePlan(std::span<const CallFault> faults);
  void AdoptPlan(std::shared_ptr<Plan> plan);
  // Nothing fails or is counted any more, and all counts are 0.
  void ClearPlan();

  // How many calls there were since the plan was set: of one kind, and of all
  // that can fail. Those that were made to fail count, too.
  uint64_t CountOf(Call call) const;
  uint64_t CountOfAll() const;
  // How many calls the fault of this index made fail. 0 if there is none.
  uint64_t FiredBy(size_t fault) const;

  // Destroys the survivors but PDs. False: some are in use by what is none;
  // they stay. REQUIRES: nobody will use them or call for their destruction
  // again.
  bool Reclaim() { return survivors_.Free(Survivors::Scope::kGivenUp); }
  // The same for PDs, too, and for the event channels of surviving ids.
  bool ReclaimAll() { return survivors_.Free(Survivors::Scope::kAll); }

  // Whether the calling thread is inside a call of a FaultInjectingTransport
  // with a plan.
  static bool InsideCall();

  Errno PostSend(ibv_qp* qp, ibv_send_wr* wr) override;
  Errno PostRecv(ibv_qp* qp, ibv_recv_wr* wr) override;
  Errno PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr) override;
  Errno PostFlush(ibv_qp* qp, const FlushWr& wr) override;
  Errno PostAtomicWrite(ibv_qp* qp, const AtomicWriteWr& wr) override;
  int PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) override;

  Errno QueryDevice(ibv_context* context, DeviceCaps* caps) override;
  Errno AllocPd(ibv_context* context, ibv_pd** pd) override;
  Errno DeallocPd(ibv_pd* pd) override;
  Errno RegMr(ibv_pd* pd, void* addr, size_t length, uint32_t access,
              ibv_mr** mr) override;
  Errno DeregMr(ibv_mr* mr) override;
  Errno AdviseMr(ibv_mr* mr, size_t offset, uint32_t length, int advice,
                 uint32_t flags) override;

  Errno CreateCompChannel(ibv_context* context,
                          ibv_comp_channel** channel) override;
  Errno DestroyCompChannel(ibv_comp_channel* channel) override;
  Errno CreateCq(ibv_context* context, int cqe, ibv_comp_channel* channel,
                 ibv_cq** cq) override;
  Errno DestroyCq(ibv_cq* cq) override;
  Errno ReqNotifyCq(ibv_cq* cq) override;
  Errno GetCqEvent(ibv_comp_channel* channel, ibv_cq** cq) override;
  void AckCqEvents(ibv_cq* cq, unsigned count) override;
  Errno CreateSrq(ibv_pd* pd, uint32_t max_wr, ibv_srq** srq) override;
  Errno DestroySrq(ibv_srq* srq) override;

  int GetAddrInfo(const char* node, const char* service, bool passive,
                  rdma_addrinfo** info) override;
  void FreeAddrInfo(rdma_addrinfo* info) override;

  Errno CreateEventChannel(rdma_event_channel** channel) override;
  void DestroyEventChannel(rdma_event_channel* channel) override;
  Errno GetCmEvent(rdma_event_channel* channel, rdma_cm_event** event) override;
  Errno AckCmEvent(rdma_cm_event* event) override;
  Errno CreateId(rdma_event_channel* channel, rdma_cm_id** id) override;
  Errno DestroyId(rdma_cm_id* id) override;
  Errno MigrateId(rdma_cm_id* id, rdma_event_channel* channel) override;
  Errno BindAddr(rdma_cm_id* id, const rdma_addrinfo& info) override;
  Errno Listen(rdma_cm_id* id, int backlog) override;
  Errno ResolveAddr(rdma_cm_id* id, const rdma_addrinfo& info,
                    int timeout_ms) override;
  Errno ResolveRoute(rdma_cm_id* id, int timeout_ms) override;
  Errno Connect(rdma_cm_id* id, rdma_conn_param* param) override;
  Errno Accept(rdma_cm_id* id, rdma_conn_param* param) override;
  Errno Reject(rdma_cm_id* id, const void* private_data,
               uint8_t private_data_len) override;
  Errno Disconnect(rdma_cm_id* id) override;
  Errno CreateQp(rdma_cm_id* id, const QpConfig& config, QpCaps* caps) override;
  Errno DestroyQp(rdma_cm_id* id) override;

 private:
  struct Verdict;  // how a call fails, if it does

  Verdict Count(Call call);
  // Makes the call, which `forward` hands to the other Transport.
  template <typename Forward>
  Errno Run(Call call, Forward forward);
  // The same for a call that frees `handle`.
  template <typename Forward>
  Errno Free(Call call, void* handle, Forward forward);
  template <typename Forward>
  void RunWithoutFail(Call call, Forward forward);

  Transport& inner_;
  std::atomic<bool> has_plan_ = false;  // a hint: mutex_ guards the plan
  mutable std::shared_mutex mutex_;     // held to look at the plan only
  std::shared_ptr<Plan> plan_;
  Survivors survivors_;
};

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_FAULT_INJECTING_TRANSPORT_H_
