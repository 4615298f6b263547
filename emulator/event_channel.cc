// SPDX-License-Identifier: BSD-3-Clause
// CM events and the channels that deliver them.

#include "emulator/event_channel.h"

#include <algorithm>

namespace rpma::emu {

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
