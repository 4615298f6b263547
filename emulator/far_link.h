// SPDX-License-Identifier: BSD-3-Clause
// The seam between a fabric and the processes that it has connections to.

#ifndef RPMA_EMULATOR_FAR_LINK_H_
#define RPMA_EMULATOR_FAR_LINK_H_

#include <sys/socket.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "emulator/transfer.h"
#include "emulator/wire/message.h"

namespace rpma::emu {

// A way to another process, shared by all connections to it.
//
// Threads: every call is safe from any thread, under any lock of the emulator;
// the locks of a link are leaves.
class FarLink : public std::enable_shared_from_this<FarLink> {
 public:
  using Lane = wire::Lane;

  FarLink() = default;
  FarLink(const FarLink&) = delete;
  FarLink& operator=(const FarLink&) = delete;
  virtual ~FarLink() = default;

  // Copies the message, whose head.size it sets, and the payload. False: there
  // is no room, or the link is dead; nothing is sent. Does not allocate.
  //
  // The thread that handles a request has room for its reply: one kReply,
  // whatever its size, unless the link is dead. Data leaves room for messages
  // of the CM, and kResume leaves room for replies.
  // REQUIRES: the message is one that wire::Decode() passes in this lane.
  virtual bool Send(Lane lane, const wire::Message& message,
                    std::span<const Piece> payload) = 0;
  // Data found no room in lane kRequests. Waits, for microseconds, while the
  // peer is about to make some. False: it is not.
  virtual bool AwaitRoom() = 0;
  // Nor did AwaitRoom() see any made: FarEnds::OnRoom() is called once, when
  // there is room for the largest record, which may be now.
  virtual void WantRoom() = 0;
  // How much was sent in lane kRequests so far, in units of its own; and
  // whether the peer has handled that much.
  virtual uint64_t Sent() = 0;
  virtual bool IsHandled(uint64_t sent) = 0;
  // Nothing comes and nothing goes any more.
  virtual bool is_dead() const = 0;
};

// What is at this end of the links. The caller holds no lock of the emulator,
// and there is one call at a time per fabric. No call may throw.
class FarEnds {
 public:
  virtual ~FarEnds() = default;

  // Handles a message that wire::Decode() passed. The payload is valid until
  // the return; the peer may change its bytes meanwhile. nullptr, or why the
  // message cannot come from an intact peer: the link is closed for it.
  virtual const char* OnMessage(FarLink& link, const wire::Message& message,
                                std::span<const std::byte> payload) = 0;
  virtual void OnRoom(FarLink& link) = 0;
  // The peer exited, was killed or sent rubbish: the last call for this link,
  // which is dead.
  virtual void OnEnd(FarLink& link) = 0;
};

// Which process listens where. Calls may block for a while; the caller holds no
// lock of the emulator.
class FarPorts {
 public:
  enum class Found {
    kLink,      // *link leads to the process that listens there
    kNobody,    // no other process does
    kNoAnswer,  // one does, and does not answer
  };

  virtual ~FarPorts() = default;

  // REQUIRES, for these: an IPv4 or IPv6 address. In Find() it is not the
  // wildcard.
  virtual Found Find(const sockaddr& address,
                     std::shared_ptr<FarLink>* link) = 0;
  // Other processes find this one at `address`, which has a port. 0, or
  // EADDRINUSE, or an errno of what keeps the ports.
  virtual int Claim(const sockaddr& address) = 0;
  virtual void Release(const sockaddr& address) = 0;
};

// What those call who find a queue empty. The caller holds no lock of the
// emulator. There is none as long as there are no links.
class Progress {
 public:
  virtual ~Progress() = default;

  // Handles data that came. Does not block, besides for microseconds in
  // FarLink::AwaitRoom(), nor allocate, besides what the aftermath of a failed
  // request does; messages of the CM are left to another thread. Cheap if
  // nothing came.
  virtual void Poll() = 0;
  // Waits until the descriptor is readable, asleep in ppoll(2), a cancellation
  // point. With `found`, which says whether what the caller waits for is there,
  // polls for it before that, for 50 microseconds, and again when something has
  // come; one thread at a time does so. 0, or an errno of ppoll(2); a signal
  // handler that runs meanwhile ends it (EINTR).
  virtual int Wait(int fd, const std::function<bool()>* found) = 0;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_FAR_LINK_H_
