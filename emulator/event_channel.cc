// SPDX-License-Identifier: BSD-3-Clause
// CM events and the channels that deliver them.

#include "emulator/event_channel.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace rpma::emu {

const char* NameOf(rdma_cm_event_type type) {
  constexpr const char* kNames[] = {
      "ADDR_RESOLVED",   "ADDR_ERROR",       "ROUTE_RESOLVED", "ROUTE_ERROR",
      "CONNECT_REQUEST", "CONNECT_RESPONSE", "CONNECT_ERROR",  "UNREACHABLE",
      "REJECTED",        "ESTABLISHED",      "DISCONNECTED",   "DEVICE_REMOVAL",
      "MULTICAST_JOIN",  "MULTICAST_ERROR",  "ADDR_CHANGE",    "TIMEWAIT_EXIT",
  };
  static_assert(std::size(kNames) == RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "an unknown event";
}

void CmEvent::SetPrivateData(const void* source, uint8_t length,
                             uint8_t field) {
  const uint8_t total = std::max(length, field);
  if (total == 0) return;
  const auto* bytes = static_cast<const uint8_t*>(source);
  const auto end = std::copy_n(bytes, length, data.begin());
  std::fill(end, data.begin() + total, uint8_t{0});
  param.conn.private_data = data.data();
  param.conn.private_data_len = total;
}

int EventChannel::Open() {
  const int error = event_fd_.Open();
  if (error == 0) fd = event_fd_.fd();
  return error;
}

void EventChannel::Push(CmEvents& from, CmEvents::iterator event, bool ahead) {
  unread_.splice(ahead ? unread_.begin() : unread_.end(), from, event);
  event_fd_.Signal();
}

void EventChannel::Take(CmEvents::iterator event, CmEvents& to) {
  to.splice(to.end(), unread_, event);
  if (unread_.empty()) event_fd_.Clear();
}

}  // namespace rpma::emu
