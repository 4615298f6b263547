// SPDX-License-Identifier: BSD-3-Clause

#include "core/mr_usage.h"

namespace rpma {

bool IsValidUsage(int usage) {
  return usage != 0 && (usage & ~kMrUsageAll) == 0;
}

uint32_t AccessFor(int usage, const DeviceCaps& caps) {
  uint32_t access = 0;
  if (usage & (RPMA_MR_USAGE_READ_SRC | kMrUsageFlushTypes)) {
    access |= kMrRemoteRead;
  }
  if (usage & RPMA_MR_USAGE_WRITE_DST) access |= kMrRemoteWrite;
  if (NeedsLocalWrite(usage) || (usage & RPMA_MR_USAGE_WRITE_SRC)) {
    access |= kMrLocalWrite;
  }
  if ((usage & RPMA_MR_USAGE_READ_DST) && caps.iwarp) access |= kMrRemoteWrite;
  if (caps.native_flush) {
    if (usage & RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY) {
      access |= kMrFlushVisibility;
    }
    if (usage & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT) {
      access |= kMrFlushPersistence;
    }
  }
  return access;
}

bool NeedsLocalWrite(int usage) {
  return (usage & (RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_DST |
                   RPMA_MR_USAGE_RECV)) != 0;
}

}  // namespace rpma
