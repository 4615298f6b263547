// SPDX-License-Identifier: BSD-3-Clause
// The ports that the fabrics of a folder are bound to.

#include "emulator/wire/claims.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "emulator/no_cancellation.h"
#include "emulator/wire/descriptor.h"

namespace rpma::emu::wire {
namespace {

constexpr std::string_view kAny = "@any";

const sockaddr_in6& AsIn6(const sockaddr& address) {
  return reinterpret_cast<const sockaddr_in6&>(address);
}

std::string PortOf(const sockaddr& address) {
  const auto& in = reinterpret_cast<const sockaddr_in&>(address);
  static_assert(offsetof(sockaddr_in, sin_port) ==
                offsetof(sockaddr_in6, sin6_port));
  return std::to_string(ntohs(in.sin_port));
}

// The 4 bytes of an IPv4 address, also of one within IPv6; else nullptr.
const void* Ipv4Of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  }
  const in6_addr& ip = AsIn6(address).sin6_addr;
  return IN6_IS_ADDR_V4MAPPED(&ip) ? &ip.s6_addr[12] : nullptr;
}

// "PORT@IP" or "PORT@any".
std::string NameOf(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN];
  const void* const ipv4 = Ipv4Of(address);
  inet_ntop(ipv4 != nullptr ? AF_INET : AF_INET6,
            ipv4 != nullptr ? ipv4 : &AsIn6(address).sin6_addr, text,
            sizeof(text));
  const std::string_view ip(text);
  const bool is_any = ip == "0.0.0.0" || ip == "::";
  const std::string port = PortOf(address);
  return is_any ? port + std::string(kAny) : port + "@" + std::string(ip);
}

bool Overlap(const std::string& a, const std::string& b) {
  const std::string_view port(a.data(), a.find('@') + 1);
  return a == b ||
         (b.starts_with(port) && (a.ends_with(kAny) || b.ends_with(kAny)));
}

}  // namespace

int Claims::Claim(const sockaddr& address, std::string* why) const {
  const NoCancellation none;
  const std::string name = NameOf(address);
  const Folder::Lock lock = folder_.Acquire(patience_);
  int error = lock.error();
  if (lock.is_held()) {
    if (IsTaken(lock, name)) return EADDRINUSE;
    error = Write(name);
    if (error == 0) return 0;
  }
  *why = folder_.path() + ": port " + PortOf(address) +
         " cannot be claimed: " + std::strerror(error);
  if (error == EAGAIN && lock.holder() != 0) {
    *why += ", as process " + std::to_string(lock.holder()) +
            " holds the lock of the folder";
  }
  return error;
}

bool Claims::IsTaken(const Folder::Lock& lock,
                     const std::string& wanted) const {
  std::vector<std::string> overlapping;
  folder_.ForEach([&](const std::string& name) {
    if (name.find('@') != name.npos && Overlap(wanted, name)) {
      overlapping.push_back(name);
    }
  });
  for (const std::string& name : overlapping) {
    const std::optional<Token> token = folder_.ReadToken(name);
    if (token == own_) continue;
    if (token && folder_.IsAlive(lock, *token)) return true;
    if (token) {
      folder_.Remove(*token);
    } else if (faccessat(folder_.fd(), name.c_str(), F_OK, 0) == 0) {
      return true;  // nobody can tell whose it is: descriptors are short
    }
  }
  return false;
}

int Claims::Write(const std::string& name) const {
  const std::string draft = ".tmp-" + std::string(own_.text());
  Descriptor file(openat(folder_.fd(), draft.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                         0600));
  if (!file.is_open()) return errno;
  const std::string_view text = own_.text();
  const ssize_t written = write(file.get(), text.data(), text.size());
  int error = written < 0 ? errno : 0;
  if (error == 0 && written != static_cast<ssize_t>(text.size()))
    error = ENOSPC;
  if (error == 0 &&
      renameat(folder_.fd(), draft.c_str(), folder_.fd(), name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) unlinkat(folder_.fd(), draft.c_str(), 0);
  return error;
}

void Claims::Release(const sockaddr& address) const {
  const NoCancellation none;
  // Without the lock: nobody else touches what a living fabric claimed.
  const std::string name = NameOf(address);
  if (folder_.ReadToken(name) == own_) {
    unlinkat(folder_.fd(), name.c_str(), 0);
  }
}

std::optional<Token> Claims::Find(const sockaddr& address) const {
  const NoCancellation none;
  std::optional<Token> token = folder_.ReadToken(NameOf(address));
  if (!token) token = folder_.ReadToken(PortOf(address) + std::string(kAny));
  return token == own_ ? std::nullopt : token;
}

void Claims::Forget(const Token& token) const {
  const Folder::Lock lock = folder_.Acquire(patience_);
  if (lock.is_held() && !folder_.IsAlive(lock, token)) folder_.Remove(token);
}

}  // namespace rpma::emu::wire
