// SPDX-License-Identifier: BSD-3-Clause
// What server and client agree on: the layout of the region and the messages
// they exchange by send and receive. Integers are little-endian.
//
//   server  Offer    -> client   where to write
//   client  Commit   -> server   all is written and committed
//   server  Receipt  -> client   what the server finds in its memory
//   server  Offer    -> client   a region that is gone: the fault to show

#ifndef RPMA_TOOLS_QUICKSTART_MESSAGE_H_
#define RPMA_TOOLS_QUICKSTART_MESSAGE_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>

#include "tools/quickstart/digest.h"

namespace rpma::quickstart {

// The region begins with the commit word, the length of the data behind it in
// bytes; 0 until the data is complete and persistent.
constexpr size_t kCommitOffset = 0;
constexpr size_t kDataOffset = RPMA_ATOMIC_WRITE_ALIGNMENT;

// Descriptors are opaque bytes; those of librpma 1 take 21 and 1.
struct Offer {
  uint8_t region_size = 0;  // bytes used in region[]
  uint8_t config_size = 0;  // bytes used in config[]
  uint8_t region[54] = {};  // rpma_mr_get_descriptor()
  uint8_t config[8] = {};   // rpma_peer_cfg_get_descriptor()
};

struct Commit {
  Sha256 source;
};

struct Receipt {
  uint64_t length = 0;
  Sha256 memory;
};

// Either side receives at most this many messages, none longer than this.
constexpr int kMaxMessages = 3;
constexpr size_t kMaxMessageSize = 64;

static_assert(sizeof(Offer) <= kMaxMessageSize);
static_assert(sizeof(Commit) <= kMaxMessageSize);
static_assert(sizeof(Receipt) <= kMaxMessageSize);

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_MESSAGE_H_
