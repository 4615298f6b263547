// SPDX-License-Identifier: BSD-3-Clause

#include "core/address.h"

#include <netdb.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/log.h"

namespace rpma {
namespace {

// The resolver of libc takes any number and uses its low 16 bits, so numbers
// are checked here and only names are left to it.
bool IsValidService(const char* service) {
  const char first = service[0];
  if (first == '\0') return false;
  if (std::strchr("0123456789+- \t\n\v\f\r", first) == nullptr) return true;
  uint16_t port = 0;
  const char* const end = service + std::strlen(service);
  const auto [rest, error] = std::from_chars(service, end, port);
  return error == std::errc() && rest == end;
}

const char* LookupReason(const Transport& transport, int result) {
  if (result == ENODEV && transport.WhyNoDevice() != nullptr) {
    return transport.WhyNoDevice();
  }
  return result > 0 ? log::Reason(Errno{result}) : gai_strerror(result);
}

}  // namespace

Rc Address::Lookup(Transport& transport, Side side, const char* node,
                   const char* service, Address* out) {
  if (service != nullptr && !IsValidService(service)) {
    RPMA_LOG(ERROR,
             "port \"%s\" is neither a number from 0 to 65535 nor a service "
             "name",
             service);
    return Rc::kInval;
  }
  Address address;
  address.transport_ = &transport;
  address.node_ = node;
  address.service_ = service;
  rdma_addrinfo* info = nullptr;
  const int result =
      transport.GetAddrInfo(node, service, side == Side::kLocal, &info);
  if (result != 0) {
    RPMA_LOG(ERROR, "rdma_getaddrinfo(node=%s, port=%s) failed: %s", node,
             address.service(), LookupReason(transport, result));
    return Rc::kProvider;
  }
  address.info_ = OwnedAddrInfo(transport, info);
  *out = std::move(address);
  return Rc::kOk;
}

Rc Address::Bind(rdma_cm_id* id) const {
  const Errno error = transport_->BindAddr(id, *info_.get());
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "rdma_bind_addr(node=%s, port=%s) failed: %s", node(),
             service(), log::Reason(error));
    return Rc::kProvider;
  }
  return Rc::kOk;
}

Rc Address::Resolve(rdma_cm_id* id, int timeout_ms) const {
  const Errno error = transport_->ResolveAddr(id, *info_.get(), timeout_ms);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR,
             "rdma_resolve_addr(node=%s, port=%s, timeout_ms=%d) failed: %s",
             node(), service(), timeout_ms, log::Reason(error));
    return Rc::kProvider;
  }
  return Rc::kOk;
}

}  // namespace rpma
