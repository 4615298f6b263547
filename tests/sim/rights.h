// SPDX-License-Identifier: BSD-3-Clause
// What a device may do with a region, as its usage says.

#ifndef RPMA_TESTS_SIM_RIGHTS_H_
#define RPMA_TESTS_SIM_RIGHTS_H_

#include <librpma.h>

#include "tests/sim/end.h"
#include "tests/sim/objects.h"

namespace rpma::sim {

inline bool AllowsLocalWrite(const Region& region) {
  return (region.usage & (RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_DST |
                          RPMA_MR_USAGE_RECV | RPMA_MR_USAGE_WRITE_SRC)) != 0;
}

inline bool AllowsRemoteRead(const Region& region) {
  return (region.usage &
          (RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
           RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT)) != 0;
}

inline bool AllowsRemoteWrite(const Rules& rules, const Region& region) {
  return (region.usage & RPMA_MR_USAGE_WRITE_DST) != 0 ||
         (rules.is_iwarp && (region.usage & RPMA_MR_USAGE_READ_DST) != 0);
}

// An iWARP READ is a write of the other side.
inline bool AllowsReadInto(const Rules& rules, const Region& region) {
  return rules.is_iwarp ? AllowsRemoteWrite(rules, region)
                        : AllowsLocalWrite(region);
}

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_RIGHTS_H_
