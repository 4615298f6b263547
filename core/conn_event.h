// SPDX-License-Identifier: BSD-3-Clause
//
// What events of the connection manager mean to a connection.

#ifndef RPMA_CORE_CONN_EVENT_H_
#define RPMA_CORE_CONN_EVENT_H_

#include <librpma.h>

#include "core/transport.h"

namespace rpma {

// RPMA_CONN_UNDEFINED: none that an established or connecting id should get.
// The end of the time-wait state is a second RPMA_CONN_CLOSED.
rpma_conn_event ConnEventFrom(rdma_cm_event_type type);

// A phrase for an rpma_conn_event, or for any other number.
const char* ConnEventName(int event);

}  // namespace rpma

#endif  // RPMA_CORE_CONN_EVENT_H_
