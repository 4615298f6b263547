// SPDX-License-Identifier: BSD-3-Clause
// The state machine of a queue pair and the entry points of its queues.

#include "emulator/queue_pair.h"

#include <syslog.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "emulator/queue_pair_impl.h"

namespace rpma::emu {

uint32_t QpRef::qp_num() const {
  return near != nullptr ? near->qp_num : far->qp_num();
}

bool QpRef::has_srq() const {
  return near != nullptr ? near->srq != nullptr : far->has_srq();
}

void Aftermath::Failed(QueuePair& qp) { requester_ = qp.shared_from_this(); }

void Aftermath::Refused(QueuePair& qp) { responder_ = qp.shared_from_this(); }

void Aftermath::Overran(Device& device, int cqe, bool by_flush) {
  overruns_[num_overruns_++] = {&device, cqe, by_flush};
}

void Aftermath::TouchedDevices(DeviceEnvironment& environment) {
  unfinished_ = &environment;
}

void Aftermath::RunAll() {
  const QueuePair* const reports =
      requester_ ? requester_.get() : responder_.get();
  if (reports != nullptr) {
    Device& device = reports->impl_->device;
    char explanation[kMaxExplanation];
    reports->Explain(explanation, sizeof(explanation));
    char text[kMaxExplanation + 100];
    std::snprintf(text, sizeof(text), "%s: queue pair 0x%06x failed: %s",
                  device.name().c_str(), reports->qp_num, explanation);
    device.environment().Log(LOG_INFO, text);
  }
  for (const auto& qp : {responder_, requester_}) {
    if (qp == nullptr) continue;
    qp->impl_->Flush();
    qp->impl_->device.environment().QueuePairFailed(qp->qp_num);
  }
  for (int i = 0; i < num_overruns_; ++i) {
    const auto [device, cqe, by_flush] = overruns_[i];
    char text[100];
    std::snprintf(text, sizeof(text),
                  "%s: a completion queue of %d entries has overrun",
                  device->name().c_str(), cqe);
    device->environment().Log(by_flush ? LOG_INFO : LOG_ERR, text);
    device->FailOverrunQps();
  }
  if (unfinished_ != nullptr) unfinished_->FinishDeviceFaults();
}

QueuePair::Impl::Impl(QueuePair& owner, Device& on_device,
                      ProtectionDomain& domain, const QueuePairAttributes& with)
    : self(owner),
      device(on_device),
      faults(on_device.environment().faults()),
      profile(on_device.profile()),
      pd(domain),
      attributes(with),
      sq(with),
      gather(with.max_send_sge),
      rq(with.srq == nullptr ? with.max_recv_wr : 0, with.max_recv_sge),
      scatter(with.srq == nullptr ? with.max_recv_sge
                                  : on_device.profile().limits.max_sge) {
  ++pd.children;
  ++attributes.send_cq->users;
  ++attributes.recv_cq->users;
  if (attributes.srq != nullptr) ++attributes.srq->users;
}

bool QueuePair::Impl::Move(ibv_qp_state from, ibv_qp_state to) {
  const std::scoped_lock lock(sq_mutex, rq_mutex);
  return state.compare_exchange_strong(from, to);
}

void QueuePair::Impl::Flush() {
  Aftermath after;
  {
    const std::lock_guard lock(sq_mutex);
    if (state == IBV_QPS_ERR) FlushSendQueue(after);
  }
  {
    const std::lock_guard lock(rq_mutex);
    if (state == IBV_QPS_ERR) FlushReceiveQueue(after);
  }
  self.ResumeRequester();
  after.Run();
}

void QueuePair::Impl::Reset(bool destroy) {
  QpRef dropped;  // released without a lock
  {
    const std::lock_guard sq_lock(sq_mutex);
    const std::lock_guard rq_lock(rq_mutex);
    dropped = {std::move(remote), std::move(far)};
    destroyed = destroy;
    state = IBV_QPS_RESET;
    connection = {};
    sq.Clear();
    attributes.send_cq->ForgetSlots(sq.slots());
    if (timer.has_value()) timer->Cancel();
    wait = Wait::kNothing;
    tries = rnr_tries = late_reads = 0;
    late_reads_due = false;
    is_patient = true;
    under_way = {};
    flight.active = false;
    rq.Clear();
    arrival = {};
    rnr_answered = false;
    communication_established = last_wqe_reached = false;
    if (SharedReceiveQueue* const srq = attributes.srq) {
      const std::lock_guard srq_lock(srq->mutex_);
      srq->Delist(waiting_in_srq);
    }
  }
  self.ResumeRequester();
}

void QueuePair::Impl::Push(CompletionQueue& cq, const Cqe& cqe,
                           Aftermath& after) {
  const CompletionQueue::PushResult result = cq.Push(cqe);
  if (steps != nullptr) steps->Completed(cq, cqe, result);
  if (result != CompletionQueue::PushResult::kOverrun) return;
  ibv_async_event event{};
  event.element.cq = &cq;
  event.event_type = IBV_EVENT_CQ_ERR;
  device.RaiseAsyncEvent(event);
  after.Overran(device, cq.cqe, cqe.wc.status == IBV_WC_WR_FLUSH_ERR);
}

void QueuePair::Impl::RaiseEvent(ibv_event_type type) {
  ibv_async_event event{};
  event.element.qp = &self;
  event.event_type = type;
  device.RaiseAsyncEvent(event);
}

void QueuePair::Impl::SetExplanation(const char* text) {
  const std::lock_guard lock(explanation_mutex);
  std::snprintf(explanation, sizeof(explanation), "%s", text);
}

void QueuePair::Impl::ExplainFlush() {
  const std::lock_guard lock(explanation_mutex);
  if (explanation[0] != '\0') return;
  std::snprintf(explanation, sizeof(explanation),
                "the request was flushed: the queue pair had been moved to the "
                "error state");
}

template <typename Append>
int QueuePair::Impl::Post(Append append) {
  Aftermath after;
  int error;
  {
    const std::lock_guard lock(sq_mutex);
    error = CheckMayPost();
    const uint32_t first = sq.end();
    if (error == 0) error = append();
    if (steps != nullptr) steps->Posted(first);
    Execute(after);
  }
  after.Run();
  return error;
}

QueuePair::QueuePair(Device& device, ProtectionDomain& domain,
                     const QueuePairAttributes& attributes, uint32_t number)
    : ibv_qp{},
      impl_(std::make_unique<Impl>(*this, device, domain, attributes)) {
  context = device.context();
  pd = &domain;
  send_cq = attributes.send_cq;
  recv_cq = attributes.recv_cq;
  srq = attributes.srq;
  qp_num = number;
  qp_type = IBV_QPT_RC;
}

QueuePair::~QueuePair() = default;

void QueuePair::Complete() {
  DeviceEnvironment& environment = impl_->device.environment();
  impl_->timer.emplace(environment.timers(), [weak = weak_from_this()] {
    if (const auto qp = weak.lock()) qp->impl_->OnTimer();
  });
  if (Scheduler* const scheduler = environment.scheduler()) {
    impl_->steps =
        std::make_unique<QueuePairSteps>(*scheduler, *impl_, weak_from_this());
  }
}

void QueuePair::Destroy() {
  if (impl_->steps != nullptr) impl_->steps->Retire();
  impl_->Reset(/*destroy=*/true);
  --impl_->pd.children;
  --impl_->attributes.send_cq->users;
  --impl_->attributes.recv_cq->users;
  if (impl_->attributes.srq != nullptr) --impl_->attributes.srq->users;
}

int QueuePair::ToInit() {
  return impl_->Move(IBV_QPS_RESET, IBV_QPS_INIT) ? 0 : EINVAL;
}

int QueuePair::ToReadyToReceive(QpRef remote,
                                const ConnectionAttributes& attributes) {
  {
    const std::scoped_lock lock(impl_->sq_mutex, impl_->rq_mutex);
    if (impl_->state != IBV_QPS_INIT || !remote) return EINVAL;
    if (remote.far != nullptr && !impl_->MakeWatch()) return ENOMEM;
    impl_->remote = std::move(remote.near);
    impl_->far = std::move(remote.far);
    impl_->connection = attributes;
    impl_->state = IBV_QPS_RTR;
  }
  ResumeRequester();
  return 0;
}

int QueuePair::ToReadyToSend() {
  return impl_->Move(IBV_QPS_RTR, IBV_QPS_RTS) ? 0 : EINVAL;
}

int QueuePair::ToSendQueueDrained() {
  return impl_->Move(IBV_QPS_RTS, IBV_QPS_SQD) ? 0 : EINVAL;
}

int QueuePair::FromSendQueueDrained() {
  if (!impl_->Move(IBV_QPS_SQD, IBV_QPS_RTS)) return EINVAL;
  Resume();
  return 0;
}

int QueuePair::ToReset() {
  impl_->Reset(/*destroy=*/false);
  return 0;
}

int QueuePair::ToError() {
  {
    const std::scoped_lock lock(impl_->sq_mutex, impl_->rq_mutex);
    if (impl_->state == IBV_QPS_RESET) return EINVAL;
    impl_->state = IBV_QPS_ERR;
  }
  impl_->Flush();
  return 0;
}

void QueuePair::End(const char* why) {
  const ibv_qp_state now = impl_->state;
  if (now != IBV_QPS_RESET && now != IBV_QPS_ERR) impl_->SetExplanation(why);
  (void)ToError();  // EINVAL: it is in RESET
}

void QueuePair::FailIfOverrun() {
  {
    const std::scoped_lock lock(impl_->sq_mutex, impl_->rq_mutex);
    const ibv_qp_state now = impl_->state;
    if (now == IBV_QPS_RESET || now == IBV_QPS_ERR) return;
    if (!impl_->attributes.send_cq->overrun() &&
        !impl_->attributes.recv_cq->overrun()) {
      return;
    }
    impl_->state = IBV_QPS_ERR;
    impl_->RaiseEvent(IBV_EVENT_QP_FATAL);
    impl_->SetExplanation("a completion queue of the queue pair has overrun");
  }
  impl_->Flush();
  impl_->device.environment().QueuePairFailed(qp_num);
}

ibv_qp_state QueuePair::State() const { return impl_->state; }

int QueuePair::PostSend(ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  const int error = impl_->Post([&] {
    for (; wr != nullptr; wr = wr->next) {
      const int refused = impl_->sq.Append(*wr, impl_->profile);
      if (refused != 0) return refused;
    }
    return 0;
  });
  if (error != 0) *bad_wr = wr;
  return error;
}

int QueuePair::PostFlush(const FlushRequest& request) {
  return impl_->Post([&] { return impl_->sq.Append(request, impl_->profile); });
}

int QueuePair::PostAtomicWrite(const AtomicWriteRequest& request) {
  return impl_->Post([&] { return impl_->sq.Append(request, impl_->profile); });
}

int QueuePair::PostRecv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Aftermath after;
  int error = 0;
  bool wakes;
  {
    const std::lock_guard lock(impl_->rq_mutex);
    if (impl_->state == IBV_QPS_RESET || srq != nullptr) error = EINVAL;
    for (; error == 0 && wr != nullptr; wr = wr->next) {
      error = impl_->rq.Append(*wr);
      if (error != 0) break;
      if (impl_->steps != nullptr) impl_->steps->PostedReceive();
    }
    if (impl_->state == IBV_QPS_ERR) impl_->FlushReceiveQueue(after);
    wakes = !impl_->rq.empty() && impl_->HasWaitingRequester();
  }
  if (wakes) ResumeRequester();
  after.Run();
  if (error != 0) *bad_wr = wr;
  return error;
}

void QueuePair::Resume() {
  Aftermath after;
  {
    const std::lock_guard lock(impl_->sq_mutex);
    if (impl_->wait == Impl::Wait::kNotReady ||
        impl_->wait == Impl::Wait::kReceive) {
      impl_->wait = Impl::Wait::kNothing;
    }
    impl_->Execute(after);
  }
  after.Run();
}

void QueuePair::EndPatience() {
  {
    const std::lock_guard lock(impl_->sq_mutex);
    impl_->is_patient = false;
  }
  Resume();
}

void QueuePair::ResumeRequester() {
  std::shared_ptr<QueuePair> requester;
  std::shared_ptr<FarLink> link;
  uint32_t far_requester;
  {
    const std::lock_guard lock(impl_->rq_mutex);
    requester = std::exchange(impl_->waiting_requester, {}).lock();
    link = std::exchange(impl_->waiting_far.link, {}).lock();
    far_requester = impl_->waiting_far.qp_num;
  }
  if (requester != nullptr) requester->Resume();
  if (link != nullptr) SendResume(*link, far_requester, qp_num);
}

void QueuePair::Explain(char* text, size_t size) const {
  if (size == 0) return;
  const std::lock_guard lock(impl_->explanation_mutex);
  const size_t length = std::min(std::strlen(impl_->explanation), size - 1);
  std::memcpy(text, impl_->explanation, length);
  text[length] = '\0';
}

uint64_t QueuePair::rnr_naks_received() const { return impl_->rnr_naks; }

uint32_t QueuePair::number() const {
  return impl_->steps == nullptr ? 0 : impl_->steps->number();
}

}  // namespace rpma::emu
