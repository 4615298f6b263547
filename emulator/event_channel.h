// SPDX-License-Identifier: BSD-3-Clause
// CM events and the channels that deliver them.

#ifndef RPMA_EMULATOR_EVENT_CHANNEL_H_
#define RPMA_EMULATOR_EVENT_CHANNEL_H_

#include <rdma/rdma_cma.h>

#include <array>
#include <cstdint>
#include <list>
#include <optional>

#include "emulator/event_fd.h"
#include "emulator/timer.h"

namespace rpma::emu {

class CmId;
struct CmEvent;

// "ESTABLISHED", ...
const char* NameOf(rdma_cm_event_type type);

// An event stays in one list node from the moment it is set aside for its id
// until it is acknowledged; on the way it is spliced from list to list, which
// does not allocate.
using CmEvents = std::list<CmEvent>;

struct CmEvent final : rdma_cm_event {
  CmEvent() : rdma_cm_event{} {}

  // The private data, `length` bytes and then zeros up to `field`.
  void SetPrivateData(const void* data, uint8_t length, uint8_t field);

  // Whose destruction waits for the acknowledgement: `listen_id` of a
  // CONNECT_REQUEST, else `id`.
  CmId* account = nullptr;
  CmEvents::iterator self;
  // --- Faults.
  std::optional<rdma_cm_event_type> shown_as;
  TimerQueue::TimePoint due;      // of a late one
  std::array<uint8_t, 255> data;  // rdma_conn_param's length has 8 bits
};

// Guarded by the mutex of the connection manager, except event_fd() for waits.
class EventChannel final : public rdma_event_channel {
 public:
  EventChannel() : rdma_event_channel{.fd = -1} {}

  int Open();  // 0 or an errno of eventfd(2)

  // Moves an event of `from` to the end of the unread events or, `ahead` of
  // them, to their begin.
  void Push(CmEvents& from, CmEvents::iterator event, bool ahead);
  // Moves an unread event to the end of `to`.
  void Take(CmEvents::iterator event, CmEvents& to);

  CmEvents& unread() { return unread_; }
  const EventFd& event_fd() const { return event_fd_; }

  uint32_t ids = 0;     // that use this channel
  uint32_t number = 0;  // in traces

 private:
  EventFd event_fd_;
  CmEvents unread_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_EVENT_CHANNEL_H_
