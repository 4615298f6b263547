// SPDX-License-Identifier: BSD-3-Clause
// Opens devices, maps and registers memory.

#include "tools/quickstart/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "tools/quickstart/failure.h"
#include "tools/quickstart/network.h"
#include "tools/quickstart/options.h"

namespace rpma::quickstart {

PeerPtr OpenPeer(const std::string& address, rpma_util_ibv_context_type type) {
  const std::string which =
      type == RPMA_UTIL_IBV_CONTEXT_LOCAL
          ? Text("the RDMA device of this host with the address '", address,
                 "'")
          : Text("the RDMA device that leads to '", address, "'");
  ibv_context* device = nullptr;
  Check(rpma_utils_get_ibv_context(address.c_str(), type, &device),
        Text("find ", which), IsEmulated() ? "" : kWithoutDevice);
  rpma_peer* peer = nullptr;
  Check(rpma_peer_new(device, &peer), Text("use ", which));
  return PeerPtr(peer);
}

Memory::Pages::Pages(size_t bytes) : size(bytes) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw Failure(Text("cannot map ", bytes, " bytes of memory: ",
                       strerror(errno), "; use a smaller region or file"));
  }
  data = static_cast<uint8_t*>(mapped);
}

Memory::Pages::~Pages() { munmap(data, size); }

Memory::Memory(rpma_peer* peer, size_t size, int usage) : pages_(size) {
  rpma_mr_local* region = nullptr;
  Check(rpma_mr_reg(peer, pages_.data, size, usage, &region),
        Text("register ", size, " bytes of memory"));
  region_.reset(region);
}

}  // namespace rpma::quickstart
