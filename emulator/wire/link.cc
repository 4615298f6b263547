// SPDX-License-Identifier: BSD-3-Clause
// A link to one other process.

#include "emulator/wire/link.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

namespace rpma::emu::wire {
namespace {

// A peer that handles requests gives back a part of the longest in less.
constexpr auto kPatienceForRoom = std::chrono::microseconds(20);

// The link whose request this thread handles. It has its place in each thread,
// though the library be loaded later: threads allocate nothing for it.
constinit thread_local const Link* answered_link
    [[gnu::tls_model("initial-exec")]] = nullptr;

class Answering {
 public:
  explicit Answering(const Link& link)
      : before_(std::exchange(answered_link, &link)) {}
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  ~Answering() { answered_link = before_; }

 private:
  const Link* const before_;
};

std::string Describe(int error) { return std::strerror(error); }

}  // namespace

void Link::Open(Descriptor socket, Side side) {
  socket_ = std::move(socket);
  side_ = side;
  requests_out_.emplace(memory_.ring(side, Lane::kRequests));
  replies_out_.emplace(memory_.ring(side, Lane::kReplies));
  requests_in_.emplace(memory_.ring(Other(side), Lane::kRequests));
  replies_in_.emplace(memory_.ring(Other(side), Lane::kReplies));
}

std::shared_ptr<Link> Link::Offer(Descriptor socket, const Token& own,
                                  const Token& peer, std::string* why) {
  const std::shared_ptr<Link> link(new Link);
  if (!CheckPeer(socket.get(), &link->pid_, why)) return nullptr;
  Descriptor memory;
  if (const int error = link->memory_.Create(&memory); error != 0) {
    *why = "no memory to share: " + Describe(error);
    return nullptr;
  }
  link->peer_ = peer;
  link->Open(std::move(socket), Side::kConnector);
  // The peer has to wake the drainer even for its first message.
  link->FallAsleep();
  if (const int error = SendHello(link->socket(), own, peer, memory);
      error != 0) {
    const bool is_gone = error == EPIPE || error == ECONNRESET;
    *why = is_gone ? "" : "it hears nothing: " + Describe(error);
    return nullptr;
  }
  return link;
}

Heard Link::Accept(Descriptor* socket, const Token& own,
                   std::shared_ptr<Link>* link, std::string* why) {
  const std::shared_ptr<Link> made(new Link);
  Descriptor memory;
  GoodbyeReason goodbye = GoodbyeReason::kStranger;
  if (!CheckPeer(socket->get(), &made->pid_, why)) {
    SayGoodbye(socket->get(), goodbye);
    return Heard::kRefused;
  }
  const Heard heard =
      ReceiveHello(socket->get(), own, &made->peer_, &memory, &goodbye, why);
  if (heard == Heard::kNothing || heard == Heard::kGone) return heard;
  if (heard == Heard::kHello) {
    const char* const defect = made->memory_.Adopt(memory);
    if (defect == nullptr) {
      made->Open(std::move(*socket), Side::kAcceptor);
      made->FallAsleep();
      *link = made;
      return heard;
    }
    *why = defect;
    goodbye = GoodbyeReason::kResources;
  }
  SayGoodbye(socket->get(), goodbye);
  return Heard::kRefused;
}

size_t Link::SpareRoom(Lane lane, Type type) const {
  if (lane == Lane::kRequests) return type == Type::kCm ? 0 : kRoomForCm;
  const bool is_answer = type == Type::kReply && answered_link == this;
  return is_answer ? 0 : kRoomForAny;
}

bool Link::Send(Lane lane, const Message& message,
                std::span<const Piece> payload) {
  const size_t spare = SpareRoom(lane, message.head.type);
  // In a child of fork(2) the lock may be held by nobody.
  if (is_dead()) return false;
  LaneOut& out = Out(lane);
  const std::lock_guard lock(out.mutex);
  if (is_dead()) return false;
  if (!out.producer.Write(message, payload, spare)) {
    if (out.producer.is_broken()) is_broken_.store(true);
    return false;
  }
  // The peer says that it sleeps and then looks at its rings once more; the
  // record is published before this looks. So one of the two sees the other.
  std::atomic<uint32_t>& asleep = memory_.asleep(Other(side_));
  if (asleep.load() != 0 && asleep.exchange(0) != 0) Wake(socket_.get());
  return true;
}

bool Link::AwaitRoom() {
  const auto deadline = std::chrono::steady_clock::now() + kPatienceForRoom;
  do {
    if (is_dead()) return false;
    LaneOut& out = Out(Lane::kRequests);
    const std::lock_guard lock(out.mutex);
    if (is_dead() || out.producer.is_broken()) return false;
    if (out.producer.HasPeerMoved()) return true;
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

uint64_t Link::Sent() {
  if (is_dead()) return 0;  // as in Send()
  const std::lock_guard lock(requests_out_->mutex);
  return requests_out_->producer.written();
}

bool Link::IsHandled(uint64_t sent) {
  if (is_dead()) return true;
  LaneOut& out = Out(Lane::kRequests);
  const std::lock_guard lock(out.mutex);
  if (is_dead() || out.producer.IsRead(sent)) return true;
  if (out.producer.is_broken()) is_broken_.store(true);
  return false;
}

bool Link::HasRoom(Lane lane, size_t bytes) {
  LaneOut& out = Out(lane);
  const std::lock_guard lock(out.mutex);
  const bool has_room = out.producer.HasRoom(bytes);
  if (out.producer.is_broken()) is_broken_.store(true);
  return has_room;
}

void Link::WantRoom() {
  wants_room_.store(true);
  if (kick_ && !is_dead()) kick_();
}

bool Link::WaitsForRoom() const {
  return waits_to_reply_ || wants_room_.load();
}

void Link::TellOfRoom(FarEnds& ends) {
  if (!wants_room_.load(std::memory_order_relaxed)) return;
  if (!HasRoom(Lane::kRequests, kRoomForAny + kRoomForCm)) return;
  if (wants_room_.exchange(false)) ends.OnRoom(*this);
}

RingConsumer::Found Link::Next(Lane lane, Message* message,
                               std::span<const std::byte>* payload,
                               const char** why) {
  RingConsumer& in = lane == Lane::kRequests ? *requests_in_ : *replies_in_;
  std::span<const std::byte> record;
  const RingConsumer::Found found = in.Peek(&record, why);
  if (found != RingConsumer::Found::kRecord) return found;
  return Decode(record, lane, message, payload, why)
             ? RingConsumer::Found::kRecord
             : RingConsumer::Found::kRubbish;
}

Link::Drained Link::HandleReply(FarEnds& ends, const char** why) {
  Message message;
  std::span<const std::byte> payload;
  switch (Next(Lane::kReplies, &message, &payload, why)) {
    case RingConsumer::Found::kNothing:
      return Drained::kAll;
    case RingConsumer::Found::kRubbish:
      return Drained::kRubbish;
    case RingConsumer::Found::kRecord:
      break;
  }
  *why = ends.OnMessage(*this, message, payload);
  if (*why != nullptr) return Drained::kRubbish;
  replies_in_->Pop();
  return Drained::kLimit;
}

Link::Drained Link::HandleRequest(FarEnds& ends, bool with_cm,
                                  const char** why) {
  Message message;
  std::span<const std::byte> payload;
  switch (Next(Lane::kRequests, &message, &payload, why)) {
    case RingConsumer::Found::kNothing:
      return Drained::kAll;
    case RingConsumer::Found::kRubbish:
      return Drained::kRubbish;
    case RingConsumer::Found::kRecord:
      break;
  }
  if (message.head.type == Type::kCm) {
    if (!with_cm) return Drained::kCm;
    *why = ends.OnMessage(*this, message, payload);
  } else {
    waits_to_reply_ = !is_dead() && !HasRoom(Lane::kReplies, kRoomForAny);
    if (waits_to_reply_) return Drained::kNoRoom;
    const Answering answering(*this);
    *why = ends.OnMessage(*this, message, payload);
  }
  if (*why != nullptr) return Drained::kRubbish;
  requests_in_->Pop();
  return Drained::kLimit;
}

Link::Drained Link::Drain(FarEnds& ends, bool with_cm, size_t limit,
                          size_t* handled, const char** why) {
  TellOfRoom(ends);
  if (is_broken_.load()) {
    *why = "a wrong position in a ring";
    return Drained::kRubbish;
  }
  for (; limit > 0; --limit, ++*handled) {
    const Drained reply = HandleReply(ends, why);
    if (reply == Drained::kLimit) continue;
    if (reply == Drained::kRubbish) return reply;
    const Drained request = HandleRequest(ends, with_cm, why);
    if (request != Drained::kLimit) return request;
  }
  return Drained::kLimit;
}

void Link::FallAsleep() { memory_.asleep(side_).store(1); }

void Link::StayAwake() { memory_.asleep(side_).store(0); }

bool Link::MayHaveMore() const {
  return replies_in_->MayHaveMore() || requests_in_->MayHaveMore();
}

void Link::StopSending() {
  const std::scoped_lock lock(requests_out_->mutex, replies_out_->mutex);
  is_dead_.store(true, std::memory_order_release);
}

void Link::Close(std::optional<GoodbyeReason> goodbye) {
  const std::scoped_lock lock(requests_out_->mutex, replies_out_->mutex);
  is_dead_.store(true, std::memory_order_release);
  if (goodbye) SayGoodbye(socket_.get(), *goodbye);
  socket_.Close();
  memory_.Unmap();
}

void Link::Abandon() {
  is_dead_.store(true, std::memory_order_release);
  socket_.Close();
  memory_.Forget();
}

}  // namespace rpma::emu::wire
