// SPDX-License-Identifier: BSD-3-Clause
// The ports of a fabric and who is bound to them.

#include "emulator/port_table.h"

#include <cerrno>

#include "emulator/addresses.h"
#include "emulator/cm_id.h"
#include "emulator/device.h"

namespace rpma::emu {
namespace {

// Linux's default net.ipv4.ip_local_port_range.
constexpr uint16_t kFirstEphemeral = 32768;
constexpr uint16_t kEphemeralPorts = 60999 - kFirstEphemeral + 1;

bool Overlap(const sockaddr& a, const sockaddr& b) {
  return IsWildcard(a) || IsWildcard(b) || IpOf(a) == IpOf(b);
}

}  // namespace

bool PortTable::IsTaken(const sockaddr& address, uint16_t port) const {
  const auto [first, last] = bound_.equal_range(port);
  for (auto entry = first; entry != last; ++entry) {
    if (Overlap(address, entry->second->route.addr.src_addr)) return true;
  }
  return false;
}

int PortTable::Bind(CmId& id, const sockaddr& address) {
  uint16_t port = PortOf(address);
  if (port != 0 && IsTaken(address, port)) return EADDRINUSE;
  for (int tries = 0; port == 0; ++tries) {
    if (tries == kEphemeralPorts) return EADDRNOTAVAIL;
    const auto candidate =
        static_cast<uint16_t>(kFirstEphemeral + next_ephemeral_);
    next_ephemeral_ =
        static_cast<uint16_t>((next_ephemeral_ + 1) % kEphemeralPorts);
    if (!IsTaken(address, candidate)) port = candidate;
  }
  bound_.emplace(port, &id);
  CopyAddress(address, &id.route.addr.src_storage);
  SetPort(id.route.addr.src_addr, port);
  return 0;
}

void PortTable::Release(CmId& id) {
  if (!IsInternet(&id.route.addr.src_addr)) return;
  const auto [first, last] = bound_.equal_range(PortOf(id.route.addr.src_addr));
  for (auto entry = first; entry != last; ++entry) {
    if (entry->second != &id) continue;
    bound_.erase(entry);
    return;
  }
}

CmId* PortTable::FindListener(const sockaddr& address, bool iwarp) const {
  const auto [first, last] = bound_.equal_range(PortOf(address));
  for (auto entry = first; entry != last; ++entry) {
    CmId* const id = entry->second;
    if (id->state == CmState::kListening &&
        Overlap(address, id->route.addr.src_addr) &&
        (id->device == nullptr || id->device->profile().iwarp == iwarp)) {
      return id;
    }
  }
  return nullptr;
}

}  // namespace rpma::emu
