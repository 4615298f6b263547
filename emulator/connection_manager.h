// SPDX-License-Identifier: BSD-3-Clause
// The connection manager of a fabric: CM identifiers, their events, ports, and
// the messages between two ends (REQ, REP, RTU, REJ, DREQ, DREP).

#ifndef RPMA_EMULATOR_CONNECTION_MANAGER_H_
#define RPMA_EMULATOR_CONNECTION_MANAGER_H_

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>

#include "emulator/queue_pair.h"

namespace rpma::emu {

class EventChannel;  // extends rdma_event_channel
class CmId;          // extends rdma_cm_id
class Fabric;

// The calls of librdmacm, as their pages describe them; what they do in detail
// is the kernel's drivers/infiniband/core/cma.c and ucma.c. Results are 0 or an
// errno; on failure no out-parameter is written. No call throws.
//
// Threads: all calls, any thread, except two calls on one id at a time. One
// lock for all of it, never held while a call blocks and never taken by a
// transfer: it comes before every lock of the data path.
class ConnectionManager {
 public:
  explicit ConnectionManager(Fabric& fabric);
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;
  ~ConnectionManager();

  int CreateEventChannel(rdma_event_channel** channel);
  // REQUIRES: no id uses it. Unread events are dropped.
  void DestroyEventChannel(rdma_event_channel* channel);

  // Blocks (EAGAIN or the fabric's empty_channel_errno with O_NONBLOCK; EINTR).
  // Fetching CONNECT_RESPONSE moves the QP to RTS and sends RTU, and shows the
  // program ESTABLISHED; fetching REJECTED moves the QP to ERR.
  int GetEvent(rdma_event_channel* channel, rdma_cm_event** event);
  int AckEvent(rdma_cm_event* event);

  int CreateId(rdma_event_channel* channel, rdma_cm_id** id);
  int DestroyId(rdma_cm_id* id);  // EBUSY: its QP lives. Blocks on unacked events
  int MigrateId(rdma_cm_id* id, rdma_event_channel* channel);

  int BindAddr(rdma_cm_id* id, const sockaddr* address);
  int Listen(rdma_cm_id* id, int backlog);
  int ResolveAddr(rdma_cm_id* id, const sockaddr* source,
                  const sockaddr* destination, int timeout_ms);
  int ResolveRoute(rdma_cm_id* id, int timeout_ms);

  int Connect(rdma_cm_id* id, const rdma_conn_param& param);
  int Accept(rdma_cm_id* id, const rdma_conn_param& param);
  int Reject(rdma_cm_id* id, const void* private_data, uint8_t length);
  int Disconnect(rdma_cm_id* id);

  // The QP becomes id->qp, in INIT. EINVAL: pd of another device than id->verbs.
  int CreateQp(rdma_cm_id* id, ibv_pd* pd,
               const QueuePairAttributes& attributes);
  int DestroyQp(rdma_cm_id* id);

  // A QP of an iWARP device went to ERR: both ends are disconnected.
  void QueuePairFailed(uint32_t qp_num);

  struct Census {
    uint32_t ids = 0;
    uint32_t event_channels = 0;
    uint32_t unacked_events = 0;
  };
  Census TakeCensus() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_CONNECTION_MANAGER_H_
