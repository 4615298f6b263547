// SPDX-License-Identifier: BSD-3-Clause
//
// Events of the connection manager.

#ifndef RPMA_CORE_CM_EVENT_H_
#define RPMA_CORE_CM_EVENT_H_

#include "core/owned.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// [blocks] until `channel` has an event, and takes it. kNoEvent, not logged:
// the channel is non-blocking and empty, or a signal handler ran. kProvider:
// the call failed.
Rc NextCmEvent(Transport& transport, rdma_event_channel* channel,
               OwnedCmEvent* event);

// "RDMA_CM_EVENT_..." for the log.
const char* CmEventName(rdma_cm_event_type type);

}  // namespace rpma

#endif  // RPMA_CORE_CM_EVENT_H_
