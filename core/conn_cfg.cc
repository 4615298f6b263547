// SPDX-License-Identifier: BSD-3-Clause

#include "core/conn_cfg.h"

#include "core/log.h"
#include "core/shared_receive_queue.h"

namespace rpma {

const ConnCfg& ConnCfg::Default() {
  static constinit const ConnCfg cfg;
  return cfg;
}

Rc ConnCfg::Check() const {
  SharedReceiveQueue* const queue = srq.get();
  if (shared_channel.get() && queue != nullptr && queue->rcq() != nullptr) {
    RPMA_LOG(ERROR,
             "a connection with a shared completion channel cannot use a "
             "shared receive queue that has a receive CQ of its own");
    return Rc::kInval;
  }
  return Rc::kOk;
}

}  // namespace rpma
