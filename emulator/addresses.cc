// SPDX-License-Identifier: BSD-3-Clause
// Internet addresses and the table of their owners.

#include "emulator/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

namespace rpma::emu {
namespace {

bool IsLoopback(const IpAddress& ip) {
  if (ip.family == AF_INET) return ip.bytes[0] == 127;
  return std::memcmp(ip.bytes.data(), &in6addr_loopback, 16) == 0;
}

in_port_t* PortField(sockaddr& address) {
  return address.sa_family == AF_INET
             ? &reinterpret_cast<sockaddr_in&>(address).sin_port
             : &reinterpret_cast<sockaddr_in6&>(address).sin6_port;
}

}  // namespace

IpAddress IpOf(const sockaddr& address) {
  IpAddress ip;
  ip.family = address.sa_family;
  if (address.sa_family == AF_INET) {
    std::memcpy(ip.bytes.data(),
                &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else {
    std::memcpy(ip.bytes.data(),
                &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  }
  return ip;
}

bool IsWildcard(const sockaddr& address) {
  IpAddress wildcard;
  wildcard.family = address.sa_family;
  return IpOf(address) == wildcard;
}

uint16_t PortOf(const sockaddr& address) {
  return ntohs(*PortField(const_cast<sockaddr&>(address)));
}

void SetPort(sockaddr& address, uint16_t port) {
  *PortField(address) = htons(port);
}

std::string ToText(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const IpAddress ip = IpOf(address);
  inet_ntop(ip.family, ip.bytes.data(), text, sizeof(text));
  const std::string port = ":" + std::to_string(PortOf(address));
  return ip.family == AF_INET ? text + port
                              : "[" + std::string(text) + "]" + port;
}

bool IsInternet(const sockaddr* address) {
  return address != nullptr &&
         (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

void CopyAddress(const sockaddr& from, sockaddr_storage* to) {
  *to = {};
  std::memcpy(
      to, &from,
      from.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
}

bool ParseIp(std::string_view text, IpAddress* ip) {
  const std::string terminated(text);
  for (const int family : {AF_INET, AF_INET6}) {
    IpAddress parsed;
    parsed.family = static_cast<sa_family_t>(family);
    if (inet_pton(family, terminated.c_str(), parsed.bytes.data()) == 1) {
      *ip = parsed;
      return true;
    }
  }
  return false;
}

void ToSocketAddress(const IpAddress& ip, sockaddr_storage* address) {
  *address = {};
  address->ss_family = ip.family;
  if (ip.family == AF_INET) {
    std::memcpy(&reinterpret_cast<sockaddr_in*>(address)->sin_addr,
                ip.bytes.data(), 4);
  } else {
    std::memcpy(&reinterpret_cast<sockaddr_in6*>(address)->sin6_addr,
                ip.bytes.data(), 16);
  }
}

int AddressTable::AddHost(Device* device) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return errno;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first,
                                                              &freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr;
       entry = entry->ifa_next) {
    if (!IsInternet(entry->ifa_addr)) continue;
    const IpAddress ip = IpOf(*entry->ifa_addr);
    if (!IsLoopback(ip)) AddOwner(ip, device);
  }
  return 0;
}

Device* AddressTable::Owner(const IpAddress& ip) const {
  const auto owner = owners_.find(ip);
  if (owner != owners_.end()) return owner->second;
  return IsLoopback(ip) ? loopback_ : nullptr;
}

Device* AddressTable::Towards(const IpAddress& ip) const {
  const auto route = routes_.find(ip);
  return route != routes_.end() ? route->second : Owner(ip);
}

IpAddress AddressTable::AnyOf(const Device* device, sa_family_t family) const {
  for (const auto& [ip, owner] : owners_) {
    if (owner == device && ip.family == family) return ip;
  }
  IpAddress wildcard;
  wildcard.family = family;
  return wildcard;
}

}  // namespace rpma::emu
