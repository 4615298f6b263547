// SPDX-License-Identifier: BSD-3-Clause
// The requester's half of a queue pair whose remote is in another process:
// requests travel as messages, one at a time, and replies end them.

#include <algorithm>
#include <cctype>
#include <cstring>
#include <new>

#include "emulator/queue_pair_impl.h"

namespace rpma::emu {
namespace {

using Outcome = Verdict::Outcome;

// A process that is stopped, or not scheduled, is silent. Scaled timeouts alone
// would be too short for a busy machine.
constexpr std::chrono::nanoseconds kMinSilence = std::chrono::milliseconds(250);
// Of a READ, that may be asked for at a time.
constexpr uint64_t kReadWindow = 4 * uint64_t{wire::kMaxPart};

// Bytes that travel.
uint64_t Extent(const Request& request) {
  return request.operation == Operation::kFlush ? 0 : request.length;
}

uint32_t PartAt(const Request& request, uint64_t skip) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(Extent(request) - skip, wire::kMaxPart));
}

uint8_t OpFlags(const Request& request) {
  return static_cast<uint8_t>((request.with_imm ? wire::kWithImm : 0) |
                              (request.solicited ? wire::kSolicited : 0) |
                              (request.persistent ? wire::kPersistent : 0) |
                              (request.performed ? wire::kPerformed : 0));
}

Outcome OutcomeOf(wire::Outcome outcome) {
  switch (outcome) {
    case wire::Outcome::kDone:
      return Outcome::kDone;
    case wire::Outcome::kNotReady:
      return Outcome::kNotReady;
    case wire::Outcome::kNoReceive:
      return Outcome::kNoReceive;
    case wire::Outcome::kNoAnswer:
      return Outcome::kNoAnswer;
    case wire::Outcome::kLost:
      return Outcome::kLost;
    case wire::Outcome::kFailed:
      break;
  }
  return Outcome::kFailed;
}

}  // namespace

Verdict QueuePair::Impl::ReachFar(Request& request, bool hold, uint8_t flags,
                                  const std::optional<Injection>& injection) {
  if (far->link().is_dead()) return NotServed(Outcome::kNoAnswer);
  flight.active = true;
  flight.hold = hold;
  flight.flags = static_cast<uint8_t>(flags | (hold ? wire::kHold : 0) |
                                      (is_patient ? wire::kPatient : 0));
  ++flight.seq;
  flight.request = &request;
  flight.sent = flight.received = 0;
  flight.injection = injection;
  if (!SendParts()) {
    flight.active = false;
    return NotServed(Outcome::kNoAnswer);
  }
  Watch();
  return NotServed(Outcome::kSent);
}

// Whoever calls holds the queue pair, and may be the thread that serves all
// links: OnRoom() sends the rest of what is longer.
bool QueuePair::Impl::SendParts() {
  constexpr int kMostWaits = 64;
  int waits = 0;
  const Request& request = *flight.request;
  FarLink& link = far->link();
  const bool has_data = request.operation != Operation::kRead &&
                        request.operation != Operation::kFlush;
  do {
    const wire::Message message = NextPart();
    const uint32_t part = message.request.part;
    const std::span<const Piece> payload =
        has_data ? gather.Slice(flight.sent, part) : std::span<const Piece>();
    while (!link.Send(wire::Lane::kRequests, message, payload)) {
      if (link.is_dead()) return false;
      if (waits++ < kMostWaits && link.AwaitRoom()) continue;
      wait = Wait::kRoom;
      link.WantRoom();
      return true;
    }
    flight.sent += part;
  } while (flight.sent < Extent(request) &&
           (has_data || flight.sent - flight.received < kReadWindow));
  wait = Wait::kFar;
  return true;
}

wire::Message QueuePair::Impl::NextPart() const {
  const Request& request = *flight.request;
  const uint32_t part = PartAt(request, flight.sent);
  const bool is_last = flight.sent + part == Extent(request);
  const bool is_refused = (flight.flags & wire::kRefuse) != 0;
  wire::Message message = wire::NewMessage(wire::Type::kRequest);
  message.head.flags =
      static_cast<uint8_t>(flight.flags | (is_last ? wire::kLast : 0));
  message.head.to = far->qp_num();
  message.head.from = self.qp_num;
  message.request = {
      .seq = flight.seq,
      .rkey = request.rkey,
      .remote_addr = request.remote_addr,
      .total = request.length,
      .skip = flight.sent,
      .part = part,
      .imm = request.with_imm ? request.imm_data : 0,
      .outstanding = is_refused ? static_cast<uint32_t>(flight.injection->rule)
                                : request.outstanding,
      .operation = static_cast<wire::Operation>(request.operation),
      .op_flags = OpFlags(request),
      .status = is_refused ? static_cast<uint8_t>(flight.injection->status)
                           : uint8_t{0},
      .max_rd_atomic = connection.max_rd_atomic};
  return message;
}

// --- Replies

bool QueuePair::Impl::IsAnsweredBy(const FarLink& link,
                                   const wire::Message& message) const {
  // Answers to requests that were given up, or flushed, come late.
  return flight.active && far->Is(link, message.head.from) &&
         flight.seq == message.reply.seq;
}

const char* QueuePair::OnReply(const FarLink& link,
                               const wire::Message& message,
                               std::span<const std::byte> payload) {
  Aftermath after;
  const char* wrong = nullptr;
  {
    const std::lock_guard lock(impl_->sq_mutex);
    if (impl_->IsAnsweredBy(link, message)) {
      wrong = impl_->TakeReply(message.reply, payload, after);
    }
  }
  after.Run();
  return wrong;
}

const char* QueuePair::Impl::TakeReply(const wire::ReplyBody& reply,
                                       std::span<const std::byte> payload,
                                       Aftermath& after) {
  Request& request = *flight.request;
  Verdict verdict;
  if (reply.outcome != wire::Outcome::kDone) {
    if (reply.cause > static_cast<uint32_t>(Cause::kInjectedReceive)) {
      return "an unknown cause";
    }
    verdict = VerdictOf(reply, payload);
  } else {
    const uint32_t expected = request.operation == Operation::kRead
                                  ? PartAt(request, flight.received)
                                  : 0;
    if (reply.skip != flight.received || reply.part != expected) {
      return "a part out of order";
    }
    if (expected > 0) verdict = StoreRead(payload);
    const bool is_over = verdict.outcome != Outcome::kDone ||
                         flight.received == Extent(request) || expected == 0;
    if (!is_over) {
      // If the link is dead, its end is near.
      if (flight.sent < Extent(request) && wait == Wait::kFar) SendParts();
      return nullptr;
    }
  }
  if (flight.injection.has_value()) {
    verdict = JudgeAnswer(*flight.injection, request, verdict);
  }
  EndFlight(verdict, after);
  return nullptr;
}

Verdict QueuePair::Impl::StoreRead(std::span<const std::byte> part) {
  const Verdict verdict = PinLocal(*flight.request);
  if (verdict.outcome != Outcome::kDone) return verdict;
  const Piece source{const_cast<std::byte*>(part.data()), part.size()};
  Transfer(gather.Slice(flight.received, part.size()), {&source, 1});
  gather.Release();
  flight.received += part.size();
  return verdict;
}

Verdict QueuePair::Impl::VerdictOf(const wire::ReplyBody& reply,
                                   std::span<const std::byte> text) {
  const size_t length = std::min(text.size(), kMaxExplanation - 1);
  std::memcpy(flight.text, text.data(), length);
  std::replace_if(
      flight.text, flight.text + length,
      [](unsigned char c) { return std::isprint(c) == 0; }, '?');
  flight.text[length] = '\0';

  Verdict verdict;
  verdict.outcome = OutcomeOf(reply.outcome);
  verdict.injected = reply.injected != 0;
  verdict.reason = {.cause = static_cast<Cause>(reply.cause),
                    .limit = reply.limit,
                    .by_fault = reply.by_fault != 0,
                    .rule = reply.rule};
  if (verdict.outcome == Outcome::kFailed) {
    verdict.status = static_cast<ibv_wc_status>(reply.status);
    verdict.refused = true;
    verdict.told = flight.text;
  } else if (char* const space = std::strchr(flight.text, ' ')) {
    *space = '\0';  // a device and its trouble
    verdict.reason.device = flight.text;
    verdict.reason.trouble = space + 1;
  }
  return verdict;
}

void QueuePair::Impl::EndFlight(const Verdict& verdict, Aftermath& after) {
  flight.active = false;
  wait = Wait::kNothing;
  if (flight.hold && verdict.outcome != Outcome::kDone) {
    late_reads_due = true;  // it has had no effect, and will be sent again
  } else {
    Settle(*flight.request, verdict, after);
  }
  Execute(after);
}

// --- Room, and the end of the link

void QueuePair::OnRoom(const FarLink& link) {
  Aftermath after;
  {
    const std::lock_guard lock(impl_->sq_mutex);
    if (impl_->wait != Impl::Wait::kRoom || &impl_->far->link() != &link) {
      return;
    }
    const Verdict verdict = impl_->PinLocal(*impl_->flight.request);
    if (verdict.outcome == Outcome::kDone) {
      impl_->SendParts();
      impl_->gather.Release();
    } else {
      impl_->EndFlight(verdict, after);
    }
  }
  after.Run();
}

void QueuePair::OnEnd(const FarLink& link) {
  Aftermath after;
  {
    const std::lock_guard lock(impl_->sq_mutex);
    if (impl_->far == nullptr || &impl_->far->link() != &link) return;
    if (impl_->flight.active) {
      impl_->EndFlight(NotServed(Outcome::kNoAnswer), after);
    }
  }
  after.Run();
  Resume();
}

// --- Silence

bool QueuePair::Impl::MakeWatch() {
  if (flight.watch.has_value()) return true;
  try {
    flight.watch.emplace(device.environment().timers(),
                         [weak = self.weak_from_this()] {
                           if (const auto qp = weak.lock()) {
                             qp->impl_->OnSilence();
                           }
                         });
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// Arming a timer for each request would cost more than the request.
void QueuePair::Impl::Watch() {
  if (flight.is_watched) return;
  const std::chrono::nanoseconds scaled =
      device.environment().Scale(profile.timers.ack_timeout);
  flight.is_watched = flight.watch->Arm(std::max(scaled, kMinSilence));
  flight.watched_seq = flight.seq;
  flight.watched_bytes = flight.sent + flight.received;
}

void QueuePair::Impl::OnSilence() {
  Aftermath after;
  {
    const std::lock_guard lock(sq_mutex);
    flight.is_watched = false;
    if (!flight.active) return;
    if (flight.seq == flight.watched_seq) {
      const bool moved = flight.sent + flight.received != flight.watched_bytes;
      tries = moved ? 0 : tries + 1;
      loss = {};
    }
    if (tries > MaxTries()) EndFlight(GiveUp(), after);
    if (flight.active) Watch();
  }
  after.Run();
}

}  // namespace rpma::emu
