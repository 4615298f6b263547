// SPDX-License-Identifier: BSD-3-Clause
// The requester's half of a queue pair: executes its send queue.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "emulator/queue_pair_impl.h"

namespace rpma::emu {
namespace {

using Outcome = Verdict::Outcome;

// Another process says when there is a receive, or that it is ready; but that
// message may get lost.
constexpr std::chrono::nanoseconds kMinFarRetry = std::chrono::milliseconds(10);
constexpr uint8_t kForEver = 7;  // as rnr_retry (IBTA 9.7.5.2.8)

ibv_wc_opcode CompletionOpcode(Operation operation) {
  switch (operation) {
    case Operation::kSend:
      return IBV_WC_SEND;
    case Operation::kWrite:
      return IBV_WC_RDMA_WRITE;
    case Operation::kRead:
      return IBV_WC_RDMA_READ;
    case Operation::kAtomicWrite:
      return kWcAtomicWrite;
    case Operation::kFlush:
      return kWcFlush;
  }
  return kPoisonOpcode;
}

}  // namespace

Verdict NotServed(Outcome outcome, const Reason& reason) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.reason = reason;
  return verdict;
}

Verdict LocalFailure(ibv_wc_status status, const Reason& reason) {
  Verdict verdict;
  verdict.outcome = Outcome::kFailed;
  verdict.status = status;
  verdict.reason = reason;
  return verdict;
}

int QueuePair::Impl::CheckMayPost() const {
  switch (state) {
    case IBV_QPS_RTS:
    case IBV_QPS_SQD:
    case IBV_QPS_ERR:
      return 0;
    default:
      return EINVAL;
  }
}

void QueuePair::Impl::Execute(Aftermath& after) {
  for (;;) {
    if (state == IBV_QPS_ERR) return FlushSendQueue(after);
    if (steps != nullptr) return steps->MakeRunnableIfItCanExecute();
    if (wait != Wait::kNothing || !ExecuteNext(after)) return;
  }
}

bool QueuePair::Impl::ExecuteNext(Aftermath& after) {
  Request* const request = NextToExecute();
  if (request == nullptr) return false;
  if (steps != nullptr) steps->Tries(*request);
  const Verdict verdict = Attempt(*request, after);
  if (steps != nullptr) steps->Tried(*request, verdict);
  Settle(*request, verdict, after);
  return true;
}

Request* QueuePair::Impl::NextToExecute() {
  if (late_reads == 0) late_reads_due = false;
  if (late_reads_due) return FirstLateRead();
  if (late_reads > 0 && steps != nullptr && steps->ExecutesLateRead()) {
    return FirstLateRead();
  }
  while (sq.executed() != sq.end()) {
    Request& request = sq[sq.executed()];
    const ibv_qp_state now = state;
    if (now != IBV_QPS_RTS && !(now == IBV_QPS_SQD && request.started)) break;
    const bool stalls =
        request.fence ||
        (request.IsReadLike() && late_reads >= connection.max_rd_atomic);
    if (late_reads > 0 && stalls) {
      late_reads_due = true;
      return FirstLateRead();
    }
    if (request.operation != Operation::kRead || !DefersRead()) {
      return &request;
    }
    DeferRead(request);
    if (late_reads_due) return FirstLateRead();
  }
  return late_reads > 0 && steps != nullptr ? FirstLateRead() : nullptr;
}

bool QueuePair::Impl::DefersRead() const {
  if (profile.reads == ReadOrder::kLate) return true;
  return steps != nullptr && steps->DefersRead();
}

Request* QueuePair::Impl::FirstLateRead() {
  uint32_t number = sq.completed();
  while (!sq[number].late) ++number;
  return &sq[number];
}

void QueuePair::Impl::DeferRead(Request& request) {
  request.started = request.late = true;
  request.outstanding = ++late_reads;
  sq.AdvanceExecuted();
  if (steps != nullptr) return;
  // Nothing may follow that would make it execute.
  if (late_reads == 1 && !ArmTimer(profile.timers.min_rnr)) {
    late_reads_due = true;
  }
}

bool QueuePair::Impl::ArmTimer(std::chrono::nanoseconds hardware_time,
                               Recurrence recurrence) {
  return timer->Arm(device.environment().Scale(hardware_time), recurrence);
}

Verdict QueuePair::Impl::Attempt(Request& request, Aftermath& after) {
  const bool first = !std::exchange(request.started, true);
  if (request.outstanding == 0) request.outstanding = late_reads + 1;
  const bool arrives = HasArrived();
  if (arrives && under_way.answer.has_value()) return *under_way.answer;
  if (!arrives && tries > MaxTries()) return GiveUp();
  Verdict verdict = PinLocal(request);
  if (verdict.outcome != Outcome::kDone) return verdict;
  const bool hold = late_reads > 0 && !late_reads_due;
  verdict = faults.active() && !arrives
                ? TryUnderFaults(request, first, hold, after)
                : Reach(request, hold, after);
  gather.Release();
  return verdict;
}

Verdict QueuePair::Impl::Reach(Request& request, bool hold, Aftermath& after) {
  if (far != nullptr) [[unlikely]]
    return ReachFar(request, hold);
  Impl& responder = *remote->impl_;
  const std::lock_guard lock(responder.rq_mutex);
  return responder.Serve(AsCaller(), request, gather.pieces(), hold, after);
}

Caller QueuePair::Impl::AsCaller() const {
  return {.near = &self,
          .far = nullptr,
          .is_patient = is_patient,
          .max_rd_atomic = connection.max_rd_atomic};
}

uint32_t QueuePair::Impl::MaxTries() const {
  return profile.iwarp ? profile.timers.tcp_retries : connection.retry_count;
}

Verdict QueuePair::Impl::GiveUp() const {
  Reason reason = loss;
  reason.cause = Cause::kNoAnswer;
  reason.limit = tries;
  return LocalFailure(
      profile.iwarp ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR, reason);
}

Verdict QueuePair::Impl::PinLocal(const Request& request) {
  if (request.operation == Operation::kFlush || request.length == 0) return {};
  if (request.length > profile.limits.max_msg_sz) {
    return LocalFailure(
        IBV_WC_LOC_LEN_ERR,
        {.cause = Cause::kMessageTooLong, .limit = profile.limits.max_msg_sz});
  }
  if (request.inlined) {
    gather.Add(request.inline_data, request.length);
    return {};
  }
  unsigned rights = 0;
  if (request.operation == Operation::kRead) {
    rights = profile.read_sink_needs_remote_write ? IBV_ACCESS_REMOTE_WRITE
                                                  : IBV_ACCESS_LOCAL_WRITE;
  }
  ibv_sge bad;
  const AccessError error =
      gather.Pin(device.regions(), &pd, {request.sges, request.num_sge},
                 request.length, rights, &bad);
  if (error == AccessError::kNone) return {};
  return LocalFailure(IBV_WC_LOC_PROT_ERR, {.cause = Cause::kLocalAccess,
                                            .access = error,
                                            .key = bad.lkey,
                                            .addr = bad.addr,
                                            .length = bad.length,
                                            .rights = rights});
}

void QueuePair::Impl::Settle(Request& request, const Verdict& verdict,
                             Aftermath& after) {
  if (verdict.outcome == Outcome::kDone) {
    tries = rnr_tries = 0;
    under_way = {};
    return Complete(request, IBV_WC_SUCCESS, Cause::kNone, after);
  }
  if (verdict.outcome == Outcome::kSent) return;  // it says what it waits for
  // Whatever comes of this request, READs posted before it come first.
  if (late_reads > 0 && !late_reads_due) {
    late_reads_due = true;
    return;
  }
  switch (verdict.outcome) {
    case Outcome::kDone:
    case Outcome::kSent:
      return;
    case Outcome::kNotReady:
      if (far == nullptr || ArmFarTimer()) wait = Wait::kNotReady;
      return;
    case Outcome::kNoReceive:
      return AwaitReceive(request, verdict, after);
    case Outcome::kNoAnswer:
      if (profile.iwarp) {
        return Fail(request,
                    LocalFailure(IBV_WC_WR_FLUSH_ERR,
                                 {.cause = Cause::kConnectionEnded}),
                    after);
      }
      return AwaitAnswer(verdict);
    case Outcome::kLost:
    case Outcome::kUnderWay:
      return AwaitAnswer(verdict);
    case Outcome::kFailed:
      return Fail(request, verdict, after);
  }
}

void QueuePair::Impl::AwaitReceive(Request& request, const Verdict& verdict,
                                   Aftermath& after) {
  rnr_naks.fetch_add(1, std::memory_order_relaxed);
  uint32_t limit = connection.rnr_retry;
  if (limit == kForEver && profile.rnr_retry >= 0) {
    limit = static_cast<uint32_t>(profile.rnr_retry);
  }
  if (limit != kForEver && rnr_tries == limit) {
    return Fail(
        request,
        LocalFailure(IBV_WC_RNR_RETRY_EXC_ERR, {.cause = Cause::kNoReceive,
                                                .limit = limit,
                                                .by_fault = verdict.injected,
                                                .rule = verdict.reason.rule}),
        after);
  }
  tries = 0;  // the NAK was an answer
  under_way = {};
  if (limit != kForEver) ++rnr_tries;
  // No receive that is posted ends what a fault does, but time does.
  if (limit != kForEver || verdict.injected) {
    const Recurrence recurrence =
        verdict.injected ? Recurrence::kOnce : Recurrence::kRepeating;
    if (!ArmTimer(profile.timers.min_rnr, recurrence)) {
      return;  // it has "expired"
    }
  } else if (far != nullptr && !ArmFarTimer()) {
    return;
  }
  wait = Wait::kReceive;
}

bool QueuePair::Impl::ArmFarTimer() {
  const std::chrono::nanoseconds scaled =
      device.environment().Scale(profile.timers.min_rnr);
  return timer->Arm(std::max(scaled, kMinFarRetry), Recurrence::kRepeating);
}

void QueuePair::Impl::AwaitAnswer(const Verdict& verdict) {
  std::chrono::nanoseconds time = profile.iwarp
                                      ? TcpTimeout(profile.timers, tries)
                                      : profile.timers.ack_timeout;
  if (under_way.time_left.count() > 0) {
    time = std::min(time, under_way.time_left);
    under_way.waiting = time;
  }
  ++tries;
  loss = verdict.reason;
  if (ArmTimer(time)) wait = Wait::kAnswer;
}

void QueuePair::Impl::OnTimer() {
  Aftermath after;
  {
    const std::lock_guard lock(sq_mutex);
    if (late_reads > 0) late_reads_due = true;
    const bool is_over = wait == Wait::kReceive || wait == Wait::kAnswer ||
                         (wait == Wait::kNotReady && far != nullptr);
    if (is_over) wait = Wait::kNothing;
    Execute(after);
  }
  after.Run();
}

void QueuePair::Impl::Fail(Request& request, const Verdict& verdict,
                           Aftermath& after) {
  ExplainFailure(request, verdict);

  ibv_wc_status status = verdict.status;
  if (verdict.refused && profile.iwarp && !verdict.injected) {
    // RFC 5040: no acknowledgement tells the requester; the end of the
    // connection does, and finds only what waits for a response unfinished.
    status = request.IsReadLike() ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
  }
  state = IBV_QPS_ERR;
  after.Failed(self);
  Complete(request, status, verdict.reason.cause, after);
  FlushSendQueue(after);
}

void QueuePair::Impl::ExplainFailure(const Request& request,
                                     const Verdict& verdict) {
  if (verdict.told != nullptr) return SetExplanation(verdict.told);
  const MrTable& regions = verdict.refused && remote != nullptr
                               ? remote->impl_->device.regions()
                               : device.regions();
  char text[kMaxExplanation];
  WriteExplanation(request, verdict.reason, regions, text);
  SetExplanation(text);
}

void QueuePair::Impl::Complete(Request& request, ibv_wc_status status,
                               Cause cause, Aftermath& after) {
  request.done = true;
  request.status = status;
  if (request.late) {
    request.late = false;
    if (--late_reads == 0) timer->Cancel();
  } else {
    sq.AdvanceExecuted();
  }
  // Completions keep the posting order: a late READ holds back later ones. If
  // it fails they are flushed, whatever they have done at the responder.
  while (sq.completed() != sq.executed() && sq[sq.completed()].done) {
    const Request& oldest = sq[sq.completed()];
    sq.AdvanceCompleted();
    PushSendCompletion(oldest, sq.completed(), cause, after);
    if (oldest.status != IBV_WC_SUCCESS) return;
  }
}

void QueuePair::Impl::FlushSendQueue(Aftermath& after) {
  timer->Cancel();
  wait = Wait::kNothing;
  late_reads = tries = rnr_tries = 0;
  late_reads_due = false;
  under_way = {};
  flight.active = false;
  if (sq.completed() != sq.end()) ExplainFlush();
  while (sq.executed() != sq.end()) sq.AdvanceExecuted();
  while (sq.completed() != sq.end()) {
    Request& request = sq[sq.completed()];
    request.status = IBV_WC_WR_FLUSH_ERR;
    sq.AdvanceCompleted();
    PushSendCompletion(request, sq.completed(), Cause::kFlushed, after);
  }
}

void QueuePair::Impl::PushSendCompletion(const Request& request,
                                         uint32_t number, Cause cause,
                                         Aftermath& after) {
  const bool success = request.status == IBV_WC_SUCCESS;
  if (success && !request.signaled) return;
  Cqe cqe{.wc = MakeCompletion(request.wr_id, request.status, self.qp_num),
          .slots = &sq.slots(),
          .frees_up_to = number};
  if (success) {
    cqe.wc.opcode = CompletionOpcode(request.operation);
    cqe.wc.wc_flags = 0;
    if (request.operation == Operation::kRead) {
      cqe.wc.byte_len = static_cast<uint32_t>(request.length);
    }
  } else {
    cqe.wc.vendor_err = static_cast<uint32_t>(cause);
  }
  Push(*attributes.send_cq, cqe, after);
}

}  // namespace rpma::emu
