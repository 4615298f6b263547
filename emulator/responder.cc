// SPDX-License-Identifier: BSD-3-Clause
// The responder's half of a queue pair: serves the requests of its remote.

#include "emulator/queue_pair_impl.h"

namespace rpma::emu {
namespace {

using Outcome = Verdict::Outcome;

ibv_event_type EventOfRefusal(ibv_wc_status at_requester) {
  switch (at_requester) {
    case IBV_WC_REM_ACCESS_ERR:
      return IBV_EVENT_QP_ACCESS_ERR;
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
      return IBV_EVENT_QP_FATAL;
    default:
      return IBV_EVENT_QP_REQ_ERR;
  }
}

std::byte* Address(const Request& request) {
  return reinterpret_cast<std::byte*>(request.remote_addr);
}

}  // namespace

Verdict Refusal(ibv_wc_status status, const Reason& reason) {
  Verdict verdict = LocalFailure(status, reason);
  verdict.refused = true;
  return verdict;
}

Verdict::Outcome QueuePair::Impl::Admit(const Caller& caller) {
  switch (state) {
    case IBV_QPS_INIT:
      if (!caller.is_patient) return Outcome::kNoAnswer;
      LetWait(caller);
      return Outcome::kNotReady;
    case IBV_QPS_RTR:
      if (!communication_established) RaiseEvent(IBV_EVENT_COMM_EST);
      communication_established = true;
      break;
    case IBV_QPS_RTS:
    case IBV_QPS_SQD:
      break;
    default:
      return Outcome::kNoAnswer;
  }
  const bool is_remote =
      caller.near != nullptr
          ? remote.get() == caller.near
          : far != nullptr &&
                far->Is(caller.far->link, caller.far->message.head.from);
  return is_remote ? Outcome::kDone : Outcome::kNoAnswer;
}

void QueuePair::Impl::LetWait(const Caller& caller) {
  if (caller.near != nullptr) {
    waiting_requester = caller.near->weak_from_this();
  } else {
    waiting_far = {caller.far->link.weak_from_this(),
                   caller.far->message.head.from};
  }
}

Verdict QueuePair::Impl::Serve(const Caller& caller, const Request& request,
                               std::span<const Piece> local, bool hold,
                               Aftermath& after) {
  const Outcome admitted = Admit(caller);
  if (admitted != Outcome::kDone) return NotServed(admitted);
  // Its number says that it came before: it is acknowledged again, and only a
  // READ is executed again (IBTA 9.7.5.1.2).
  if (request.performed && request.operation != Operation::kRead) return {};
  const Verdict verdict = Perform(caller, request, local, hold, after);
  if (verdict.outcome == Outcome::kFailed && !hold) {
    Refuse(request, verdict, after);
  }
  return verdict;
}

Verdict QueuePair::Impl::CheckReads(const Caller& caller,
                                    const Request& request) const {
  // A requester that may start none must not have sent it; and what it could
  // have kept back is an invalid request here.
  if (request.outstanding <= connection.max_dest_rd_atomic &&
      caller.max_rd_atomic > 0) {
    return {};
  }
  return Refusal(
      IBV_WC_REM_INV_REQ_ERR,
      {.cause = Cause::kTooManyReads, .limit = connection.max_dest_rd_atomic});
}

Verdict QueuePair::Impl::Perform(const Caller& caller, const Request& request,
                                 std::span<const Piece> local, bool hold,
                                 Aftermath& after) {
  if (request.IsReadLike()) {
    const Verdict verdict = CheckReads(caller, request);
    if (verdict.outcome != Outcome::kDone) return verdict;
  }
  switch (request.operation) {
    case Operation::kSend:
      return PerformSend(caller, request, local, hold, after);
    case Operation::kWrite:
      return PerformWrite(caller, request, local, hold, after);
    case Operation::kRead:
      return PerformRead(request, local);
    case Operation::kAtomicWrite:
      return PerformAtomicWrite(request);
    case Operation::kFlush:
      return PerformFlush(request);
  }
  return {};
}

Verdict QueuePair::Impl::AccessRegion(const Request& request, unsigned rights,
                                      MrPin* pin) {
  const AccessError error = device.regions().Access(
      request.rkey, &pd, request.remote_addr, request.length, rights, pin);
  if (error == AccessError::kNone) return {};
  return Refusal(IBV_WC_REM_ACCESS_ERR, {.cause = Cause::kRemoteAccess,
                                         .access = error,
                                         .key = request.rkey,
                                         .addr = request.remote_addr,
                                         .length = request.length,
                                         .rights = rights});
}

Verdict QueuePair::Impl::PerformWrite(const Caller& caller,
                                      const Request& request,
                                      std::span<const Piece> local, bool hold,
                                      Aftermath& after) {
  MrPin pin;
  Verdict verdict = AccessRegion(request, IBV_ACCESS_REMOTE_WRITE, &pin);
  if (verdict.outcome != Outcome::kDone) return verdict;
  const Piece target{Address(request) + request.skip,
                     request.length - request.skip};
  if (!request.with_imm) {
    Transfer({&target, 1}, local);
    return {};
  }
  uint64_t receive;
  {
    std::unique_lock<std::mutex> srq_lock;
    const ReceiveQueue& receives = Receives(&srq_lock);
    if (receives.empty()) return NoReceive(caller);
    verdict = FailReceiveByFault(receives.front(), hold);
    if (verdict.outcome == Outcome::kFailed && hold) return verdict;
    receive = receives.front().wr_id;
    PopReceive();
  }
  if (verdict.outcome == Outcome::kFailed) return verdict;
  Transfer({&target, 1}, local);
  CompleteReceive(caller, receive, request, after);
  return {};
}

Verdict QueuePair::Impl::PerformRead(const Request& request,
                                     std::span<const Piece> local) {
  MrPin pin;
  Verdict verdict = AccessRegion(request, IBV_ACCESS_REMOTE_READ, &pin);
  if (verdict.outcome != Outcome::kDone) return verdict;
  const Piece source{Address(request), request.length};
  Transfer(local, {&source, 1});
  return {};
}

Verdict QueuePair::Impl::PerformAtomicWrite(const Request& request) {
  if (request.remote_addr % sizeof(uint64_t) != 0) {
    return Refusal(IBV_WC_REM_INV_REQ_ERR, {.cause = Cause::kMisaligned});
  }
  MrPin pin;
  Verdict verdict = AccessRegion(request, IBV_ACCESS_REMOTE_WRITE, &pin);
  if (verdict.outcome != Outcome::kDone) return verdict;
  TransferAtomic(Address(request), request.inline_data);
  return {};
}

Verdict QueuePair::Impl::PerformFlush(const Request& request) {
  MrPin pin;
  return AccessRegion(
      request, request.persistent ? kAccessFlushPersistent : kAccessFlushGlobal,
      &pin);
}

Verdict QueuePair::Impl::PerformSend(const Caller& caller,
                                     const Request& request,
                                     std::span<const Piece> local, bool hold,
                                     Aftermath& after) {
  std::unique_lock<std::mutex> srq_lock;
  const ReceiveQueue& receives = Receives(&srq_lock);
  if (receives.empty()) return NoReceive(caller);
  const uint64_t wr_id = receives.front().wr_id;
  Verdict verdict = FailReceiveByFault(receives.front(), hold);
  if (verdict.outcome == Outcome::kDone) {
    verdict = PinReceive(request, receives.front());
  }
  if (verdict.outcome == Outcome::kFailed && hold) return verdict;
  PopReceive();
  if (srq_lock.owns_lock()) srq_lock.unlock();
  if (verdict.outcome == Outcome::kFailed) return verdict;

  Transfer(scatter.pieces(), local);
  scatter.Release();
  CompleteReceive(caller, wr_id, request, after);
  return {};
}

Verdict QueuePair::Impl::PinReceive(const Request& request,
                                    const Receive& receive) {
  Verdict verdict;
  if (request.length > receive.length) {
    verdict = Refusal(IBV_WC_REM_INV_REQ_ERR, {.cause = Cause::kReceiveTooShort,
                                               .limit = receive.length});
    verdict.receive_status = IBV_WC_LOC_LEN_ERR;
  } else {
    const ibv_pd* const receive_pd =
        attributes.srq == nullptr ? &pd : attributes.srq->pd;
    ibv_sge bad;
    const AccessError error =
        scatter.Pin(device.regions(), receive_pd, receive.sges, request.length,
                    IBV_ACCESS_LOCAL_WRITE, &bad);
    if (error == AccessError::kNone) return verdict;
    verdict = Refusal(IBV_WC_REM_OP_ERR, {.cause = Cause::kReceiveAccess,
                                          .access = error,
                                          .key = bad.lkey,
                                          .addr = bad.addr,
                                          .length = bad.length,
                                          .rights = IBV_ACCESS_LOCAL_WRITE});
    verdict.receive_status = profile.receive_access_status;
  }
  verdict.has_receive = true;
  verdict.receive_wr_id = receive.wr_id;
  return verdict;
}

Verdict QueuePair::Impl::NoReceive(const Caller& caller) {
  if (profile.iwarp) {
    return Refusal(IBV_WC_WR_FLUSH_ERR, {.cause = Cause::kNoReceive});
  }
  LetWait(caller);
  if (attributes.srq != nullptr) attributes.srq->Enlist(waiting_in_srq, self);
  return NotServed(Outcome::kNoReceive);
}

Verdict QueuePair::Impl::FailReceiveByFault(const Receive& receive, bool hold) {
  if (!faults.active()) return {};
  const std::optional<Injection> injection = faults.OnReceive(device, hold);
  if (!injection.has_value()) return {};
  Verdict verdict =
      Refusal(IBV_WC_REM_OP_ERR, {.cause = Cause::kInjectedReceive,
                                  .by_fault = true,
                                  .rule = injection->rule,
                                  .status = injection->status});
  verdict.has_receive = true;
  verdict.receive_wr_id = receive.wr_id;
  verdict.receive_status = injection->status;
  return verdict;
}

void QueuePair::Impl::RefuseByFault(const Request& request, Verdict& verdict,
                                    Aftermath& after) {
  const bool fails_a_receive = request.operation == Operation::kSend &&
                               (verdict.status == IBV_WC_REM_OP_ERR ||
                                verdict.status == IBV_WC_REM_INV_REQ_ERR);
  if (fails_a_receive) {
    std::unique_lock<std::mutex> srq_lock;
    const ReceiveQueue& receives = Receives(&srq_lock);
    if (!receives.empty()) {
      verdict.has_receive = true;
      verdict.receive_wr_id = receives.front().wr_id;
      verdict.receive_status = verdict.status == IBV_WC_REM_OP_ERR
                                   ? profile.receive_access_status
                                   : IBV_WC_LOC_LEN_ERR;
      PopReceive();
    }
  }
  Refuse(request, verdict, after);
}

void QueuePair::Impl::Refuse(const Request& request, const Verdict& verdict,
                             Aftermath& after) {
  state = IBV_QPS_ERR;
  // Before the completion: whoever finds it may ask.
  char text[kMaxExplanation];
  WriteExplanation(request, verdict.reason, device.regions(), text);
  SetExplanation(text);
  after.Refused(self);
  if (verdict.has_receive) {
    FailReceive(verdict.receive_wr_id, verdict.receive_status,
                verdict.reason.cause, after);
  } else {
    RaiseEvent(EventOfRefusal(verdict.status));
  }
}

void QueuePair::Impl::FailReceive(uint64_t wr_id, ibv_wc_status status,
                                  Cause cause, Aftermath& after) {
  Cqe cqe{.wc = MakeCompletion(wr_id, status, self.qp_num)};
  cqe.wc.vendor_err = static_cast<uint32_t>(cause);
  Push(*attributes.recv_cq, cqe, after);
}

void QueuePair::Impl::CompleteReceive(const Caller& caller, uint64_t wr_id,
                                      const Request& request,
                                      Aftermath& after) {
  // What the program does once it knows of the message, as to disconnect, must
  // not come before the answer.
  if (caller.far != nullptr) Acknowledge(*caller.far);
  Cqe cqe{.wc = MakeCompletion(wr_id, IBV_WC_SUCCESS, self.qp_num),
          .solicited = request.solicited};
  cqe.wc.opcode = request.operation == Operation::kSend
                      ? IBV_WC_RECV
                      : IBV_WC_RECV_RDMA_WITH_IMM;
  cqe.wc.byte_len = static_cast<uint32_t>(request.length);
  cqe.wc.wc_flags = 0;
  if (request.with_imm) {
    cqe.wc.wc_flags = IBV_WC_WITH_IMM;
    cqe.wc.imm_data = request.imm_data;
  }
  Push(*attributes.recv_cq, cqe, after);
}

void QueuePair::Impl::FlushReceiveQueue(Aftermath& after) {
  if (!rq.empty()) ExplainFlush();
  while (!rq.empty()) {
    FailReceive(rq.front().wr_id, IBV_WC_WR_FLUSH_ERR, Cause::kFlushed, after);
    rq.Pop();
  }
  if (attributes.srq == nullptr || last_wqe_reached) return;
  last_wqe_reached = true;
  RaiseEvent(IBV_EVENT_QP_LAST_WQE_REACHED);
}

ReceiveQueue& QueuePair::Impl::Receives(
    std::unique_lock<std::mutex>* srq_lock) {
  SharedReceiveQueue* const srq = attributes.srq;
  if (srq == nullptr) return rq;
  *srq_lock = std::unique_lock(srq->mutex_);
  return srq->receives_;
}

void QueuePair::Impl::PopReceive() {
  if (steps != nullptr) {
    const SharedReceiveQueue* const srq = attributes.srq;
    steps->TakesReceive((srq == nullptr ? rq : srq->receives_).front_number());
  }
  if (attributes.srq == nullptr) {
    rq.Pop();
  } else {
    attributes.srq->PopReceive();
  }
}

}  // namespace rpma::emu
