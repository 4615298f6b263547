// SPDX-License-Identifier: BSD-3-Clause

#include "core/cm_event.h"

#include <cerrno>

#include "core/log.h"

namespace rpma {

Rc NextCmEvent(Transport& transport, rdma_event_channel* channel,
               OwnedCmEvent* event) {
  rdma_cm_event* raw_event = nullptr;
  const Errno error = transport.GetCmEvent(channel, &raw_event);
  // The kernel says EAGAIN, librdmacm's own checks ENODATA.
  if (error == Errno{EAGAIN} || error == Errno{ENODATA} ||
      error == Errno{EINTR}) {
    return Rc::kNoEvent;
  }
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "rdma_get_cm_event(fd=%d) failed: %s", channel->fd,
             log::Reason(error));
    return Rc::kProvider;
  }
  *event = OwnedCmEvent(transport, raw_event);
  return Rc::kOk;
}

const char* CmEventName(rdma_cm_event_type type) {
  switch (type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return "RDMA_CM_EVENT_ADDR_RESOLVED";
    case RDMA_CM_EVENT_ADDR_ERROR:
      return "RDMA_CM_EVENT_ADDR_ERROR";
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return "RDMA_CM_EVENT_ROUTE_RESOLVED";
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return "RDMA_CM_EVENT_ROUTE_ERROR";
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      return "RDMA_CM_EVENT_CONNECT_REQUEST";
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return "RDMA_CM_EVENT_CONNECT_RESPONSE";
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return "RDMA_CM_EVENT_CONNECT_ERROR";
    case RDMA_CM_EVENT_UNREACHABLE:
      return "RDMA_CM_EVENT_UNREACHABLE";
    case RDMA_CM_EVENT_REJECTED:
      return "RDMA_CM_EVENT_REJECTED";
    case RDMA_CM_EVENT_ESTABLISHED:
      return "RDMA_CM_EVENT_ESTABLISHED";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "RDMA_CM_EVENT_DISCONNECTED";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "RDMA_CM_EVENT_DEVICE_REMOVAL";
    case RDMA_CM_EVENT_MULTICAST_JOIN:
      return "RDMA_CM_EVENT_MULTICAST_JOIN";
    case RDMA_CM_EVENT_MULTICAST_ERROR:
      return "RDMA_CM_EVENT_MULTICAST_ERROR";
    case RDMA_CM_EVENT_ADDR_CHANGE:
      return "RDMA_CM_EVENT_ADDR_CHANGE";
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return "RDMA_CM_EVENT_TIMEWAIT_EXIT";
    default:
      return "an unknown CM event";
  }
}

}  // namespace rpma
