// SPDX-License-Identifier: BSD-3-Clause
// Tries of requests while faults are set: they are lost, late, doubled, or end
// as a fault wants it.

#include <algorithm>
#include <utility>

#include "emulator/queue_pair_impl.h"

namespace rpma::emu {
namespace {

using Outcome = Verdict::Outcome;

FaultSite SiteOf(const Request& request) {
  switch (request.operation) {
    case Operation::kSend:
      return FaultSite::kSend;
    case Operation::kWrite:
      return FaultSite::kWrite;
    case Operation::kRead:
      return FaultSite::kRead;
    case Operation::kAtomicWrite:
      return FaultSite::kAtomicWrite;
    case Operation::kFlush:
      return FaultSite::kFlush;
  }
  return FaultSite::kAnyRequest;
}

// Statuses of which the responder's NAK tells.
bool IsFoundByResponder(ibv_wc_status status) {
  return status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ACCESS_ERR ||
         status == IBV_WC_REM_OP_ERR || status == IBV_WC_REM_ABORT_ERR;
}

Verdict FailureBy(const Injection& injection) {
  Verdict verdict =
      LocalFailure(injection.status, {.cause = Cause::kInjected,
                                      .by_fault = true,
                                      .rule = injection.rule,
                                      .status = injection.status});
  verdict.injected = true;
  verdict.refused = IsFoundByResponder(injection.status);
  return verdict;
}

Verdict TakenBy(const Injection& injection, Outcome outcome = Outcome::kLost) {
  return NotServed(outcome, {.by_fault = true, .rule = injection.rule});
}

}  // namespace

Verdict QueuePair::Impl::TryUnderFaults(Request& request, bool first, bool hold,
                                        Aftermath& after) {
  // A responder in another process asks the faults of that.
  const Device* const responder =
      remote != nullptr ? &remote->impl_->device : nullptr;
  const bool needs_receive =
      remote != nullptr && !profile.iwarp && request.NeedsReceive();
  const std::optional<Injection> injection =
      faults.OnTry({.site = SiteOf(request),
                    .requester = &device,
                    .responder = responder,
                    .first = first,
                    .needs_receive = needs_receive},
                   hold);
  if (faults.unfinished()) after.TouchedDevices(device.environment());
  // Settle() executes the late READs first.
  if (injection.has_value() && injection->held) {
    return NotServed(Outcome::kNoAnswer);
  }
  if (injection.has_value() && injection->action == FaultAction::kComplete) {
    return CompleteByFault(*injection, request, after);
  }
  for (const Device* const end : {&std::as_const(device), responder}) {
    if (end == nullptr || !end->health().IsSilent()) continue;
    return NotServed(Outcome::kLost, {.device = end->name().c_str(),
                                      .trouble = end->health().Trouble()});
  }
  if (!injection.has_value()) return Reach(request, hold, after);
  return ApplyToTry(*injection, request, after);
}

Verdict QueuePair::Impl::ApplyToTry(const Injection& injection,
                                    Request& request, Aftermath& after) {
  switch (injection.action) {
    case FaultAction::kDrop:
      if (!injection.response) return TakenBy(injection);
      break;
    case FaultAction::kDelay:
      if (!injection.response) return PutUnderWay(injection);
      break;
    case FaultAction::kRnr:
      return AnswerRnrByFault(injection, request);
    default:
      break;
  }
  if (far != nullptr) return ReachFar(request, /*hold=*/false, 0, injection);
  const Verdict answer = Reach(request, /*hold=*/false, after);
  // The second copy finds that the first one came; TCP drops it before.
  if (injection.action == FaultAction::kDuplicate && !injection.response &&
      !profile.iwarp && answer.outcome == Outcome::kDone) {
    request.performed = true;
    (void)Reach(request, /*hold=*/false, after);
  }
  return JudgeAnswer(injection, request, answer);
}

Verdict QueuePair::Impl::JudgeAnswer(const Injection& injection,
                                     Request& request, const Verdict& answer) {
  switch (injection.action) {
    case FaultAction::kDrop:
      return LoseAnswer(injection, request, answer);
    case FaultAction::kDelay:
      return DelayAnswer(injection, request, answer);
    case FaultAction::kComplete:
      return FailureBy(injection);
    default:
      return answer;
  }
}

Verdict QueuePair::Impl::CompleteByFault(const Injection& injection,
                                         Request& request, Aftermath& after) {
  Verdict verdict = FailureBy(injection);
  if (!verdict.refused) return verdict;
  if (far != nullptr) {
    return ReachFar(request, /*hold=*/false, wire::kRefuse, injection);
  }
  Impl& responder = *remote->impl_;
  const std::lock_guard lock(responder.rq_mutex);
  if (responder.Admit(AsCaller()) == Outcome::kDone) {
    responder.RefuseByFault(request, verdict, after);
  }
  return verdict;
}

Verdict QueuePair::Impl::AnswerRnrByFault(const Injection& injection,
                                          const Request& request) {
  Impl& responder = *remote->impl_;
  const std::lock_guard lock(responder.rq_mutex);
  const Outcome admitted = responder.Admit(AsCaller());
  if (admitted != Outcome::kDone) return NotServed(admitted);
  if (request.performed) return {};
  Verdict verdict = TakenBy(injection, Outcome::kNoReceive);
  verdict.injected = true;
  return verdict;
}

Verdict QueuePair::Impl::LoseAnswer(const Injection& injection,
                                    Request& request, const Verdict& answer) {
  switch (answer.outcome) {
    case Outcome::kDone:
      // There is no answer but TCP's acknowledgement, and a later one tells as
      // much.
      if (profile.iwarp && !request.IsReadLike()) return answer;
      request.performed = true;
      return TakenBy(injection);
    case Outcome::kFailed:
    case Outcome::kNoReceive:
      return TakenBy(injection);
    default:
      return answer;
  }
}

Verdict QueuePair::Impl::DelayAnswer(const Injection& injection,
                                     Request& request, const Verdict& answer) {
  if (answer.outcome != Outcome::kDone && answer.outcome != Outcome::kFailed) {
    return answer;  // there is none, or one that makes it wait anyway
  }
  request.performed = answer.outcome == Outcome::kDone;
  under_way.answer = answer;
  return PutUnderWay(injection);
}

Verdict QueuePair::Impl::PutUnderWay(const Injection& injection) {
  std::chrono::nanoseconds& left = under_way.time_left;
  left = left.count() == 0 ? injection.time : std::min(left, injection.time);
  return TakenBy(injection, Outcome::kUnderWay);
}

bool QueuePair::Impl::HasArrived() {
  std::chrono::nanoseconds& left = under_way.time_left;
  if (left.count() == 0) return false;
  left -= std::exchange(under_way.waiting, std::chrono::nanoseconds(0));
  return left.count() == 0;
}

}  // namespace rpma::emu
