// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration of a shared receive queue.

#ifndef RPMA_CORE_SRQ_CFG_H_
#define RPMA_CORE_SRQ_CFG_H_

#include <cstdint>

#include "core/setting.h"

namespace rpma {

// Sizes are passed to the provider as they are; it may round them up. The
// defaults are those of the manual page rpma_srq_cfg_new(3).
struct SrqCfg {
  Setting<uint32_t> rq_size{100};
  Setting<uint32_t> rcq_size{100};  // 0: no receive CQ of its own
};

}  // namespace rpma

#endif  // RPMA_CORE_SRQ_CFG_H_
