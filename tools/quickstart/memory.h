// SPDX-License-Identifier: BSD-3-Clause
// Devices opened as peers, and memory registered with them.

#ifndef RPMA_TOOLS_QUICKSTART_MEMORY_H_
#define RPMA_TOOLS_QUICKSTART_MEMORY_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/quickstart/library.h"

namespace rpma::quickstart {

// The device that owns `address` (LOCAL) or leads to it (REMOTE).
PeerPtr OpenPeer(const std::string& address, rpma_util_ibv_context_type type);

// Zeroed anonymous pages, registered. A server with persistent memory would map
// a file on a DAX file system here (pmem_map_file(3)) and change nothing else.
class Memory {
 public:
  // `usage` is a set of RPMA_MR_USAGE_*. `peer` must outlive the object.
  Memory(rpma_peer* peer, size_t size, int usage);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint8_t* data() const { return pages_.data; }
  size_t size() const { return pages_.size; }
  rpma_mr_local* region() const { return region_.get(); }

 private:
  struct Pages {
    explicit Pages(size_t bytes);
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages();
    size_t size;
    uint8_t* data;
  };

  Pages pages_;
  MrLocalPtr region_;
};

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_MEMORY_H_
