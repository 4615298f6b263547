// SPDX-License-Identifier: BSD-3-Clause
// A link to one other process: four rings in shared memory, and a socket which
// wakes and which tells that the process is gone.

#ifndef RPMA_EMULATOR_WIRE_LINK_H_
#define RPMA_EMULATOR_WIRE_LINK_H_

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "emulator/far_link.h"
#include "emulator/wire/descriptor.h"
#include "emulator/wire/handshake.h"
#include "emulator/wire/message.h"
#include "emulator/wire/ring.h"
#include "emulator/wire/shared_memory.h"
#include "emulator/wire/token.h"

namespace rpma::emu::wire {

// Room in the lane of requests that only messages of the CM may use.
inline constexpr size_t kRoomForCm = 64 * 1024;
static_assert(kRoomForAny + kRoomForCm < kRingBytes);

// Threads: the calls of FarLink from any; all others are for one at a time, the
// drainer.
class Link final : public FarLink {
 public:
  // The connector's end, over a socket that is connected and does not block.
  // nullptr: *why says in a clause why there is no link; nothing, if the peer
  // has just ended.
  static std::shared_ptr<Link> Offer(Descriptor socket, const Token& own,
                                     const Token& peer, std::string* why);
  // The acceptor's end, which the socket's Hello opens. kNothing: it has not
  // come yet, and *socket stays; kRefused: the peer is told, and *why says why;
  // kGone: there is nobody to tell.
  static Heard Accept(Descriptor* socket, const Token& own,
                      std::shared_ptr<Link>* link, std::string* why);
  ~Link() override = default;

  bool Send(Lane lane, const Message& message,
            std::span<const Piece> payload) override;
  bool AwaitRoom() override;
  uint64_t Sent() override;
  bool IsHandled(uint64_t sent) override;
  bool is_dead() const override {
    return is_dead_.load(std::memory_order_acquire);
  }
  void WantRoom() override;

  // Who has the drainer look: WantRoom() calls it, from any thread, while the
  // link lives. REQUIRES: nobody else uses the link yet.
  void set_kick(std::function<void()> kick) { kick_ = std::move(kick); }

  pid_t pid() const { return pid_; }
  const Token& peer() const { return peer_; }
  int socket() const { return socket_.get(); }

  enum class Drained {
    kAll,      // nothing is left
    kLimit,    // more may be left
    kCm,       // the next one is a message of the CM, which `with_cm` takes
    kNoRoom,   // the next one is a request, whose reply has no room
    kRubbish,  // *why says what the peer sent
  };
  // Hands at most `limit` messages to `ends`: all replies, then one request,
  // again and again; adds their number to *handled. Tells `ends` that there is
  // room, if that is wanted. REQUIRES: the link is not closed.
  Drained Drain(FarEnds& ends, bool with_cm, size_t limit, size_t* handled,
                const char** why);
  // Whether somebody waits for the peer to make room: it does not tell.
  bool WaitsForRoom() const;

  // From now on the peer wakes this side through the socket, once, if it writes
  // a record. REQUIRES: the caller looks at MayHaveMore() before it sleeps.
  void FallAsleep();
  void StayAwake();
  bool MayHaveMore() const;

  // The peer is gone: from now on the link is dead, and what it still has is
  // for Drain(), whose replies are lost.
  void StopSending();
  // Ends the link, telling the peer why if there is something to tell. The
  // memory and the descriptors are given back at once.
  void Close(std::optional<GoodbyeReason> goodbye);
  // In a child of fork(2), which has neither the memory nor a part in the link:
  // gives the descriptors back. The locks may be held by threads that are gone.
  void Abandon();

 private:
  struct LaneOut {
    explicit LaneOut(RingMemory memory) : producer(memory) {}
    std::mutex mutex;
    RingProducer producer;  // guarded by mutex
  };

  Link() = default;
  // REQUIRES: memory_ is mapped.
  void Open(Descriptor socket, Side side);
  LaneOut& Out(Lane lane) {
    return lane == Lane::kRequests ? *requests_out_ : *replies_out_;
  }
  size_t SpareRoom(Lane lane, Type type) const;
  bool HasRoom(Lane lane, size_t bytes);
  void TellOfRoom(FarEnds& ends);
  // The next message of the lane. kRecord: it is in the last two.
  RingConsumer::Found Next(Lane lane, Message* message,
                           std::span<const std::byte>* payload,
                           const char** why);
  // Both handle one message; kLimit: one was handled.
  Drained HandleReply(FarEnds& ends, const char** why);
  Drained HandleRequest(FarEnds& ends, bool with_cm, const char** why);

  pid_t pid_ = 0;
  Token peer_;
  Descriptor socket_;  // changes under both locks
  Side side_ = Side::kConnector;
  std::atomic<bool> is_dead_ = false;  // changes under both locks
  std::atomic<bool> wants_room_ = false;
  std::atomic<bool> is_broken_ = false;  // a producer is
  bool waits_to_reply_ = false;
  std::function<void()> kick_;
  SharedMemory memory_;
  std::optional<LaneOut> requests_out_;
  std::optional<LaneOut> replies_out_;
  std::optional<RingConsumer> requests_in_;
  std::optional<RingConsumer> replies_in_;
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_LINK_H_
