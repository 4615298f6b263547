// SPDX-License-Identifier: BSD-3-Clause
// One CM identifier: its state, its queue pair and its place in a connection.

#ifndef RPMA_EMULATOR_CM_ID_H_
#define RPMA_EMULATOR_CM_ID_H_

#include <rdma/rdma_cma.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>

#include "emulator/cm_message.h"
#include "emulator/event_channel.h"
#include "emulator/queue_pair.h"
#include "emulator/timer.h"

namespace rpma::emu {

class Device;
class FarLink;

// One end of a connection between two processes. Its active id is numbered in
// its own process.
struct FarKey {
  const FarLink* link = nullptr;
  uint64_t active = 0;
  bool is_active = false;  // the end that the other process has

  friend auto operator<=>(const FarKey&, const FarKey&) = default;
};

// What stands for an id of another process has besides.
struct FarId {
  FarKey key;
  std::shared_ptr<FarLink> link;
  uint64_t number = 0;  // of the id there; 0: not known
  bool iwarp = false;
};

enum class CmState {
  kIdle,
  kBound,
  kListening,
  kAddrResolved,
  kRouteResolved,
  // --- From here on there is, or was, a connection.
  kConnectSent,       // active: REQ sent
  kRequestReceived,   // passive: REQ received
  kAccepted,          // passive: REP sent
  kResponseReceived,  // active: REP received, not yet fetched
  kConnected,
  kDisconnectSent,      // DREQ sent
  kDisconnectReceived,  // DREQ received
  kTimeWait,
  kClosed,     // rejected, unreachable, failed or over
  kRemoved,    // its device was
  kDestroyed,  // or its process has ended
};

// Guarded by the mutex of the connection manager.
class CmId final : public rdma_cm_id,
                   public std::enable_shared_from_this<CmId> {
 public:
  explicit CmId(uint64_t with_number) : rdma_cm_id{}, number(with_number) {
    ps = RDMA_PS_TCP;
    qp_type = IBV_QPT_RC;
  }

  EventChannel* event_channel() const {
    return static_cast<EventChannel*>(channel);
  }
  const uint64_t number;  // of its creation
  CmState state = CmState::kIdle;
  Device* device = nullptr;  // set when `verbs` is
  std::shared_ptr<QueuePair> queue_pair;

  // It stands for one of another process (cm_far.cc): its state is that of the
  // other, as far as messages tell; it has no timer, and its events are
  // dropped.
  std::optional<FarId> far;
  std::shared_ptr<FarQp> far_qp;  // of such an id

  // --- A connection.
  std::weak_ptr<CmId> peer;  // the other end, once it is known
  QpRef remote_qp;           // that of the peer when it told of it
  Device* remote = nullptr;  // the device of the other end
  bool awaits_far = false;   // the other end is of another process
  uint64_t sent_far = 0;     // FarLink::Sent() after its last message
  CmParam sent;  // with its REQ or REP, which may have to be sent again
  // An incoming id that is not accepted: its events are dropped.
  bool drops_events = false;
  // Fetching the response failed: the program saw CONNECT_ERROR and gets no
  // REJECTED.
  bool connect_error = false;
  // What the other end asks of this one, before Accept(); then what both agreed
  // on (rdma_connect(3)).
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t retry_count = 0;
  uint8_t rnr_retry_count = 0;

  bool is_claimed = false;  // its port, among processes

  // --- A listener.
  int backlog = 0;
  int waiting_requests = 0;  // CONNECT_REQUESTs not yet fetched

  // --- Events. Those of an id without a channel are parked.
  CmEvents spare;
  CmEvents parked;
  CmEvents unacked;

  // Of the wait of kConnectSent, kAccepted, kDisconnectSent or kTimeWait.
  std::optional<Timer> timer;
  TimerQueue::TimePoint deadline;
  uint8_t retries = 0;  // of the message whose answer it waits for
  // The peer has it, and said that its answer may take its time (MRA). That
  // takes as long as it takes, unless messages were lost: then the wait ends
  // after the time that an MRA asks for, and the message is sent again.
  bool is_patient = false;
  bool has_lost_messages = false;
  std::optional<size_t> lost_by;  // the rule that took the last message
};

inline QpRef QpOf(const CmId& id) { return {id.queue_pair, id.far_qp}; }

inline CmId& IdOf(rdma_cm_id* id) { return *static_cast<CmId*>(id); }

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_CM_ID_H_
