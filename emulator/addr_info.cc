// SPDX-License-Identifier: BSD-3-Clause
// Turns a list of struct addrinfo into one of struct rdma_addrinfo.

#include "emulator/addr_info.h"

#include <netdb.h>
#include <strings.h>

#include <cerrno>
#include <memory>
#include <new>
#include <utility>

#include "emulator/addresses.h"

namespace rpma::emu {
namespace {

// One entry and the address it points at, in one piece.
struct Entry final : rdma_addrinfo {
  sockaddr_storage address{};
};

struct FreeList {
  void operator()(Entry* first) const { FreeAddrInfo(first); }
};
using List = std::unique_ptr<Entry, FreeList>;

List MakeEntry(const addrinfo& from, bool passive) {
  List entry(new Entry{});
  entry->ai_flags = passive ? RAI_PASSIVE : 0;
  entry->ai_family = from.ai_family;
  entry->ai_qp_type = IBV_QPT_RC;
  entry->ai_port_space = RDMA_PS_TCP;
  CopyAddress(*from.ai_addr, &entry->address);
  auto* address = reinterpret_cast<sockaddr*>(&entry->address);
  (passive ? entry->ai_src_len : entry->ai_dst_len) = from.ai_addrlen;
  (passive ? entry->ai_src_addr : entry->ai_dst_addr) = address;
  return entry;
}

List Convert(const addrinfo* from, bool passive) {
  List first;
  rdma_addrinfo* last = nullptr;
  for (; from != nullptr; from = from->ai_next) {
    if (!IsInternet(from->ai_addr)) continue;
    List entry = MakeEntry(*from, passive);
    rdma_addrinfo* const made = entry.get();
    if (last == nullptr) {
      first = std::move(entry);
    } else {
      last->ai_next = entry.release();
    }
    last = made;
  }
  return first;
}

// A host may know no names, as a minimal container does; this one means the
// loopback addresses everywhere (RFC 6761, section 6.3), which is what
// getaddrinfo(3) gives without a node.
int Resolve(const char* node, const char* service, const addrinfo& hints,
            addrinfo** found) {
  const int error = getaddrinfo(node, service, &hints, found);
  if (error != EAI_NONAME && error != EAI_AGAIN) return error;
  if (node == nullptr || strcasecmp(node, "localhost") != 0) return error;
  addrinfo loopback = hints;
  loopback.ai_flags &= ~AI_PASSIVE;
  return getaddrinfo(nullptr, service != nullptr ? service : "0", &loopback,
                     found);
}

}  // namespace

int LookUpAddrInfo(const char* node, const char* service, bool passive,
                   rdma_addrinfo** info) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  if (passive) hints.ai_flags |= AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = Resolve(node, service, hints, &found);
  if (error == EAI_SYSTEM) return errno;
  if (error != 0) return error;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 &freeaddrinfo);
  try {
    List list = Convert(found, passive);
    if (list == nullptr) return EAI_NONAME;
    *info = list.release();
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

void FreeAddrInfo(rdma_addrinfo* info) {
  while (info != nullptr) {
    const std::unique_ptr<Entry> entry(static_cast<Entry*>(info));
    info = entry->ai_next;
  }
}

}  // namespace rpma::emu
