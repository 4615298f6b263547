// SPDX-License-Identifier: BSD-3-Clause

#include "core/conn_event.h"

namespace rpma {

rpma_conn_event ConnEventFrom(rdma_cm_event_type type) {
  switch (type) {
    case RDMA_CM_EVENT_ESTABLISHED:
      return RPMA_CONN_ESTABLISHED;
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return RPMA_CONN_LOST;
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return RPMA_CONN_CLOSED;
    case RDMA_CM_EVENT_REJECTED:
      return RPMA_CONN_REJECTED;
    case RDMA_CM_EVENT_UNREACHABLE:
      return RPMA_CONN_UNREACHABLE;
    default:
      return RPMA_CONN_UNDEFINED;
  }
}

const char* ConnEventName(int event) {
  switch (event) {
    case RPMA_CONN_UNDEFINED:
      return "Undefined connection event";
    case RPMA_CONN_ESTABLISHED:
      return "Connection established";
    case RPMA_CONN_CLOSED:
      return "Connection closed";
    case RPMA_CONN_LOST:
      return "Connection lost";
    case RPMA_CONN_REJECTED:
      return "Connection rejected";
    case RPMA_CONN_UNREACHABLE:
      return "Connection unreachable";
    default:
      return "Unsupported connection event";
  }
}

}  // namespace rpma
