// SPDX-License-Identifier: BSD-3-Clause
// The responder's half of a queue pair whose remote is in another process: what
// comes may be anything that wire::Decode() passes.

#include <cstdio>
#include <cstring>
#include <new>

#include "emulator/queue_pair_impl.h"

namespace rpma::emu {
namespace {

using Outcome = Verdict::Outcome;

Request RequestOf(const wire::RequestBody& body) {
  Request request;
  request.remote_addr = body.remote_addr;
  request.length = body.total;
  request.rkey = body.rkey;
  request.imm_data = body.imm;
  request.operation = static_cast<Operation>(body.operation);
  request.with_imm = (body.op_flags & wire::kWithImm) != 0;
  request.solicited = (body.op_flags & wire::kSolicited) != 0;
  request.persistent = (body.op_flags & wire::kPersistent) != 0;
  request.performed = (body.op_flags & wire::kPerformed) != 0;
  request.outstanding = body.outstanding;
  return request;
}

std::byte* Address(const Request& request) {
  return reinterpret_cast<std::byte*>(request.remote_addr);
}

Piece PieceOf(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

wire::Outcome OutcomeOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return wire::Outcome::kDone;
    case Outcome::kNotReady:
      return wire::Outcome::kNotReady;
    case Outcome::kNoReceive:
      return wire::Outcome::kNoReceive;
    case Outcome::kFailed:
      return wire::Outcome::kFailed;
    case Outcome::kLost:
      return wire::Outcome::kLost;
    case Outcome::kNoAnswer:
    case Outcome::kUnderWay:
    case Outcome::kSent:
      break;
  }
  return wire::Outcome::kNoAnswer;
}

wire::Message ReplyTo(const wire::Message& request) {
  wire::Message reply = wire::NewMessage(wire::Type::kReply);
  reply.head.to = request.head.from;
  reply.head.from = request.head.to;
  reply.reply.seq = request.request.seq;
  return reply;
}

// What a link has no room for, its end makes irrelevant.
void SendReply(FarLink& link, const wire::Message& reply,
               const Piece& payload) {
  (void)link.Send(wire::Lane::kReplies, reply, {&payload, 1});
}

void SendVerdict(const FarRequest& from, const Verdict& verdict,
                 const char* text) {
  wire::Message message = ReplyTo(from.message);
  wire::ReplyBody& reply = message.reply;
  reply.outcome = OutcomeOf(verdict.outcome);
  if (verdict.outcome != Outcome::kDone) {
    reply.cause = static_cast<uint32_t>(verdict.reason.cause);
    reply.limit = verdict.reason.limit;
    reply.rule = static_cast<uint32_t>(verdict.reason.rule);
    reply.injected = verdict.injected;
    reply.by_fault = verdict.reason.by_fault;
  }
  if (verdict.outcome == Outcome::kFailed) {
    reply.status = static_cast<uint8_t>(verdict.status);
  }
  SendReply(from.link, message,
            PieceOf(std::as_bytes(std::span(text, std::strlen(text)))));
}

}  // namespace

void AnswerForNobody(FarLink& link, const wire::Message& request) {
  wire::Message reply = ReplyTo(request);
  reply.reply.outcome = wire::Outcome::kNoAnswer;
  SendReply(link, reply, {});
}

void SendResume(FarLink& link, uint32_t to, uint32_t from) {
  wire::Message message = wire::NewMessage(wire::Type::kResume);
  message.head.to = to;
  message.head.from = from;
  (void)link.Send(wire::Lane::kReplies, message, {});
}

const char* QueuePair::OnRequest(FarLink& link, const wire::Message& message,
                                 std::span<const std::byte> payload) {
  FarRequest from{link, message, payload};
  const char* wrong = nullptr;
  char text[kMaxExplanation] = "";
  Aftermath after;
  std::optional<Verdict> verdict;
  {
    const std::lock_guard lock(impl_->rq_mutex);
    verdict = impl_->ServeFar(from, &wrong, after);
    if (verdict.has_value()) impl_->ExplainFar(from, *verdict, text);
  }
  // Before what comes of a failure: iWARP ends the connection.
  if (verdict.has_value()) SendVerdict(from, *verdict, text);
  after.Run();
  return wrong;
}

void QueuePair::Impl::Acknowledge(FarRequest& from) {
  SendVerdict(from, {}, "");
  from.is_answered = true;
}

void QueuePair::Impl::ExplainFar(const FarRequest& from, const Verdict& verdict,
                                 char (&text)[kMaxExplanation]) {
  const Reason& reason = verdict.reason;
  if (reason.device != nullptr) {
    std::snprintf(text, sizeof(text), "%s %s", reason.device, reason.trouble);
  }
  if (verdict.outcome != Outcome::kFailed || from.Has(wire::kHold)) return;
  // Not what Explain() says: the requester may have failed meanwhile.
  WriteExplanation(RequestOf(from.message.request), reason, device.regions(),
                   text);
}

std::optional<Verdict> QueuePair::Impl::ServeFar(FarRequest& from,
                                                 const char** wrong,
                                                 Aftermath& after) {
  const wire::RequestBody& body = from.message.request;
  Request request = RequestOf(body);
  const Caller caller{.near = nullptr,
                      .far = &from,
                      .is_patient = from.Has(wire::kPatient),
                      .max_rd_atomic = body.max_rd_atomic};
  alignas(8) std::byte word[sizeof(uint64_t)];
  if (request.operation == Operation::kAtomicWrite) {
    std::memcpy(word, from.payload.data(), sizeof(word));
    request.inline_data = word;
  }
  const bool goes_on = body.skip > 0 && request.operation != Operation::kRead;
  if (!goes_on) {
    arrival = {};
  } else if (!arrival.open || arrival.seq != body.seq) {
    return std::nullopt;  // of a message that failed before
  } else if (arrival.operation != request.operation ||
             arrival.total != body.total) {
    *wrong = "a message that changes";
    return std::nullopt;
  } else if (arrival.received != body.skip) {
    *wrong = "a part out of order";
    return std::nullopt;
  }
  std::optional<Verdict> verdict = MeetFaults(from, request, caller, after);
  if (verdict.has_value()) {
    arrival = {};
  } else if (request.operation == Operation::kRead) {
    verdict = ServeFarRead(from, request, caller, after);
  } else if (goes_on || !from.Has(wire::kLast)) {
    verdict = ServePart(from, request, caller, after);
  } else {
    const Piece data = PieceOf(from.payload);
    verdict = Serve(caller, request, {&data, 1}, from.Has(wire::kHold), after);
  }
  if (verdict.has_value() && request.NeedsReceive()) {
    rnr_answered = verdict->outcome == Outcome::kNoReceive;
  }
  if (from.is_answered) return std::nullopt;
  return verdict;
}

std::optional<Verdict> QueuePair::Impl::MeetFaults(const FarRequest& from,
                                                   const Request& request,
                                                   const Caller& caller,
                                                   Aftermath& after) {
  if (faults.active() && device.health().IsSilent()) {
    return NotServed(Outcome::kLost, {.device = device.name().c_str(),
                                      .trouble = device.health().Trouble()});
  }
  const bool may_meet_rnr = faults.active() && !profile.iwarp &&
                            request.NeedsReceive() && !request.performed &&
                            from.Has(wire::kLast);
  if (!from.Has(wire::kRefuse) && !may_meet_rnr) return std::nullopt;
  const Outcome admitted = Admit(caller);
  if (admitted != Outcome::kDone) return NotServed(admitted);
  if (from.Has(wire::kRefuse)) return RefuseFar(from, request, after);
  const std::optional<Injection> rnr =
      faults.OnArrival(device, !rnr_answered, from.Has(wire::kHold));
  if (!rnr.has_value()) return std::nullopt;
  if (rnr->held) return NotServed(Outcome::kNoAnswer);
  Verdict verdict =
      NotServed(Outcome::kNoReceive, {.by_fault = true, .rule = rnr->rule});
  verdict.injected = true;
  return verdict;
}

Verdict QueuePair::Impl::RefuseFar(const FarRequest& from,
                                   const Request& request, Aftermath& after) {
  const wire::RequestBody& body = from.message.request;
  const auto status = static_cast<ibv_wc_status>(body.status);
  Verdict verdict = Refusal(status, {.cause = Cause::kInjected,
                                     .by_fault = true,
                                     .rule = body.outstanding,
                                     .status = status});
  verdict.injected = true;
  RefuseByFault(request, verdict, after);
  return verdict;
}

std::optional<Verdict> QueuePair::Impl::ServeFarRead(const FarRequest& from,
                                                     const Request& request,
                                                     const Caller& caller,
                                                     Aftermath& after) {
  const Outcome admitted = Admit(caller);
  if (admitted != Outcome::kDone) return NotServed(admitted);
  MrPin pin;
  Verdict verdict = CheckReads(caller, request);
  if (verdict.outcome == Outcome::kDone) {
    verdict = AccessRegion(request, IBV_ACCESS_REMOTE_READ, &pin);
  }
  if (verdict.outcome != Outcome::kDone) {
    if (!from.Has(wire::kHold)) Refuse(request, verdict, after);
    return verdict;
  }
  const wire::RequestBody& body = from.message.request;
  wire::Message reply = ReplyTo(from.message);
  reply.reply.skip = body.skip;
  reply.reply.part = body.part;
  SendReply(from.link, reply, {Address(request) + body.skip, body.part});
  return std::nullopt;
}

std::optional<Verdict> QueuePair::Impl::ServePart(const FarRequest& from,
                                                  Request& request,
                                                  const Caller& caller,
                                                  Aftermath& after) {
  const wire::RequestBody& body = from.message.request;
  const bool hold = from.Has(wire::kHold);
  const bool is_last = from.Has(wire::kLast);
  arrival.open = true;
  arrival.operation = request.operation;
  arrival.seq = body.seq;
  arrival.total = body.total;
  Verdict verdict = NotServed(Admit(caller));
  if (verdict.outcome == Outcome::kDone) {
    if (request.operation == Operation::kSend) {
      verdict = CollectPart(from, request);
    } else if (!is_last && !request.performed) {
      verdict = StorePart(from, request);
    }
    if (verdict.outcome == Outcome::kFailed && !hold) {
      Refuse(request, verdict, after);
    }
  }
  arrival.received += body.part;
  if (verdict.outcome == Outcome::kDone) {
    if (!is_last) return std::nullopt;
    Piece data = PieceOf(from.payload);
    if (request.operation == Operation::kSend) {
      data = {arrival.bytes.get(), request.length};
    } else {
      request.skip = body.skip;
    }
    verdict = Serve(caller, request, {&data, 1}, hold, after);
  }
  arrival = {};
  return verdict;
}

Verdict QueuePair::Impl::CollectPart(const FarRequest& from,
                                     const Request& request) {
  const wire::RequestBody& body = from.message.request;
  if (body.skip == 0) {
    const uint64_t limit = profile.limits.max_msg_sz;
    if (request.length > limit) {
      return Refusal(IBV_WC_REM_INV_REQ_ERR,
                     {.cause = Cause::kMessageTooLong, .limit = limit});
    }
    arrival.bytes.reset(new (std::nothrow) std::byte[request.length]);
    if (arrival.bytes == nullptr) {
      return NotServed(Outcome::kLost, {.device = device.name().c_str(),
                                        .trouble = "had no memory for it"});
    }
  }
  Transfer(arrival.bytes.get() + body.skip, from.payload.data(), body.part);
  return {};
}

Verdict QueuePair::Impl::StorePart(const FarRequest& from,
                                   const Request& request) {
  const wire::RequestBody& body = from.message.request;
  MrPin pin;
  const Verdict verdict = AccessRegion(request, IBV_ACCESS_REMOTE_WRITE, &pin);
  if (verdict.outcome == Outcome::kDone) {
    Transfer(Address(request) + body.skip, from.payload.data(), body.part);
  }
  return verdict;
}

}  // namespace rpma::emu
