// SPDX-License-Identifier: BSD-3-Clause
//
// From what the user wants to do with memory (RPMA_MR_USAGE_*) to the rights a
// memory region needs for it (MrAccess).

#ifndef RPMA_CORE_MR_USAGE_H_
#define RPMA_CORE_MR_USAGE_H_

#include <librpma.h>

#include <cstdint>

#include "core/transport.h"

namespace rpma {

inline constexpr int kMrUsageFlushTypes =
    RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT;
inline constexpr int kMrUsageAll = 0xFF;

// True if `usage` names at least one use and nothing else.
bool IsValidUsage(int usage);

// The rights that `usage` needs on a device with `caps`:
//   READ_SRC          remote read
//   READ_DST          local write, on iWARP remote write as well, because there
//                     the data of a read arrive like those of a write
//   WRITE_SRC         local write (see NeedsLocalWrite)
//   WRITE_DST         remote write, local write
//   FLUSH_TYPE_*      remote read, for the initiator that flushes by reading;
//                     plus the flush right of its type if the device has
//                     native flush
//   SEND              none
//   RECV              local write
// REQUIRES: IsValidUsage(usage)
uint32_t AccessFor(int usage, const DeviceCaps& caps);

// False if the device only reads such memory. WRITE_SRC then asks for local
// write only because librpma 1.3.0 did, and read-only memory can do without.
bool NeedsLocalWrite(int usage);

}  // namespace rpma

#endif  // RPMA_CORE_MR_USAGE_H_
