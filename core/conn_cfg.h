// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration of a connection: its queue sizes and options.

#ifndef RPMA_CORE_CONN_CFG_H_
#define RPMA_CORE_CONN_CFG_H_

#include <librpma.h>

#include <cstdint>

#include "core/rc.h"
#include "core/setting.h"

namespace rpma {

class SharedReceiveQueue;

// Sizes are passed to the provider as they are; it may round them up.
struct ConnCfg {
  // Bounds the resolving of the address, and of the route, each. Active side
  // only. Not negative.
  Setting<int> timeout_ms{RPMA_DEFAULT_TIMEOUT_MS};
  Setting<uint32_t> cq_size{10};
  Setting<uint32_t> rcq_size{0};  // 0: receives complete on the CQ
  Setting<uint32_t> sq_size{10};
  Setting<uint32_t> rq_size{10};
  Setting<bool> shared_channel{false};        // CQ and RCQ share their channel
  Setting<SharedReceiveQueue*> srq{nullptr};  // not owned

  // What applies where the user gives no configuration.
  static const ConnCfg& Default();

  // kInval, logged: the receive CQ of an SRQ has a channel of its own, so the
  // connection's cannot be shared.
  Rc Check() const;
};

}  // namespace rpma

#endif  // RPMA_CORE_CONN_CFG_H_
