// SPDX-License-Identifier: BSD-3-Clause
// Internet addresses: which device owns one, through which device one is
// reached, and their text.

#ifndef RPMA_EMULATOR_ADDRESSES_H_
#define RPMA_EMULATOR_ADDRESSES_H_

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rpma::emu {

class Device;

// An IPv4 or IPv6 address without a port. The scope of a link-local address is
// not part of it.
struct IpAddress {
  sa_family_t family = AF_UNSPEC;
  std::array<uint8_t, 16> bytes{};  // IPv4: the first four

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// REQUIRES, for these: the family is AF_INET or AF_INET6.
IpAddress IpOf(const sockaddr& address);
bool IsWildcard(const sockaddr& address);  // 0.0.0.0 or ::
uint16_t PortOf(const sockaddr& address);  // in host order
void SetPort(sockaddr& address, uint16_t port);
std::string ToText(const sockaddr& address);  // "127.0.0.1:7204", "[::1]:7204"

bool IsInternet(const sockaddr* address);  // not nullptr, AF_INET or AF_INET6
void CopyAddress(const sockaddr& from, sockaddr_storage* to);

// False: `text` is not a numeric IPv4 or IPv6 address.
bool ParseIp(std::string_view text, IpAddress* ip);

// Which device owns which address. Calls throw std::bad_alloc only.
//
// Threads: none of its own locks; the fabric guards it.
class AddressTable {
 public:
  // Gives every address of this host but loopback to `device`. Returns 0 or the
  // errno of getifaddrs(3).
  int AddHost(Device* device);
  // Gives 127.0.0.0/8 and ::1 to `device`.
  void AddLoopback(Device* device) { loopback_ = device; }
  // An address owned or routed before is from now on as given here.
  void AddOwner(const IpAddress& ip, Device* device) { owners_[ip] = device; }
  void AddRoute(const IpAddress& ip, Device* device) { routes_[ip] = device; }

  Device* Owner(const IpAddress& ip) const;  // nullptr: no device
  // The device of the route to `ip` or else its owner; nullptr: neither.
  Device* Towards(const IpAddress& ip) const;
  // An address of `device` of this family; the wildcard if it has none.
  IpAddress AnyOf(const Device* device, sa_family_t family) const;

 private:
  std::map<IpAddress, Device*> owners_;
  std::map<IpAddress, Device*> routes_;
  Device* loopback_ = nullptr;
};

// Makes a socket address of `ip` with port 0.
void ToSocketAddress(const IpAddress& ip, sockaddr_storage* address);

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_ADDRESSES_H_
