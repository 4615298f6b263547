// SPDX-License-Identifier: BSD-3-Clause
// The connection manager of a fabric: CM identifiers, their events, ports, and
// the messages between two ends (REQ, REP, RTU, REJ, DREQ, DREP).

#ifndef RPMA_EMULATOR_CONNECTION_MANAGER_H_
#define RPMA_EMULATOR_CONNECTION_MANAGER_H_

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emulator/far_link.h"
#include "emulator/queue_pair.h"

namespace rpma::emu {

class Device;
class Fabric;

// The calls of librdmacm, as their pages describe them; what they do in detail
// is the kernel's drivers/infiniband/core/{cma,cm,ucma}.c. Results are 0 or an
// errno; on failure no out-parameter is written. No call throws; ENOMEM stands
// for std::bad_alloc.
//
// Messages (REQ, REP, RTU, REJ, DREQ, DREP) reach the other end at once: its
// event is queued before the call returns, unless it is in another process, to
// which the message goes over a FarLink. In a stepped world each reaches it
// in a step, in any order but that of one id's messages. If faults lose or
// delay them, REQ, REP and DREQ are sent again after the CM response time, as
// cm.c does, and an answer that was lost is given again. On iWARP devices there
// is no RTU and no time-wait, DREQ stands for the end of the TCP connection, to
// which there is no answer, and a connection ends with either of its queue
// pairs. TCP sends again what is lost there, and keeps the order.
//
// Threads: all calls, any thread, except two calls on one id at a time. One
// lock for all of it, never held while a call blocks, while a queue pair
// changes its state or while the log sink runs, and never taken by a transfer:
// it comes before every lock of the data path.
class ConnectionManager {
 public:
  explicit ConnectionManager(Fabric& fabric);
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;
  ~ConnectionManager();

  int CreateEventChannel(rdma_event_channel** channel);  // EMFILE, ENFILE
  // REQUIRES: no id uses it; else it stays, with a log line.
  void DestroyEventChannel(rdma_event_channel* channel);

  // Blocks until an event is there and hands it out: valid until AckEvent().
  // The fabric's empty_channel_errno: there is none and the descriptor has
  // O_NONBLOCK; EINTR: a signal handler ran; EDEADLK: Scheduler::Await(). Holds
  // no lock while it sleeps.
  //
  // As librdmacm, fetching acts: CONNECT_RESPONSE moves the QP to RTS, sends
  // the RTU and is shown as ESTABLISHED, or, if that fails, rejects the peer's
  // response and is shown as CONNECT_ERROR, with the negative errno as status;
  // REJECTED moves the QP to ERR; CONNECT_REQUEST brings a new id, on this
  // channel, that the program has to destroy.
  int GetEvent(rdma_event_channel* channel, rdma_cm_event** event);
  int AckEvent(rdma_cm_event* event);  // EINVAL: nullptr

  // Without a channel the id is synchronous: resolving queues no event. To
  // connect or accept it needs a channel.
  int CreateId(rdma_event_channel* channel, rdma_cm_id** id);
  // Tells the other end (REJ, DREQ or DREP), rejects what waits on a listener
  // and drops unread events. Blocks until those that GetEvent() handed out are
  // acknowledged, CONNECT_REQUESTs of a listener among them. The QP, if there
  // is one, lives on, as in librdmacm, but nothing can destroy it any more: a
  // log line says so. EDEADLK (Scheduler::Await): the id is still there to be
  // destroyed.
  int DestroyId(rdma_cm_id* id);
  // Moves the id and its unread events; blocks as DestroyId(). EDEADLK: it was
  // not moved.
  int MigrateId(rdma_cm_id* id, rdma_event_channel* channel);

  // Port 0 stands for a free one; a wildcard address for all devices. EINVAL:
  // bound already; EAFNOSUPPORT: neither IPv4 nor IPv6; ENODEV: no device owns
  // the address; EADDRINUSE: the port is taken on it or on a wildcard;
  // EADDRNOTAVAIL: no port is free.
  int BindAddr(rdma_cm_id* id, const sockaddr* address);
  // `backlog` (1024 if it is less than 1 or more) bounds the requests that
  // nobody has fetched. EINVAL: not bound, or listening already.
  int Listen(rdma_cm_id* id, int backlog);
  // Takes no time. `source` may be nullptr. Errors as BindAddr(), and ENODEV:
  // no device leads to the destination; EINVAL: resolved already, or different
  // families. With a channel, ADDR_RESOLVED or, with the negative errno as
  // status, ADDR_ERROR is queued and the call succeeds.
  int ResolveAddr(rdma_cm_id* id, const sockaddr* source,
                  const sockaddr* destination);
  // Takes no time; queues ROUTE_RESOLVED if there is a channel. EINVAL: no
  // address is resolved.
  int ResolveRoute(rdma_cm_id* id);

  // The outcome is an event. REJECTED: nobody listens there on a device of this
  // kind (status 8, invalid service id; iWARP: -ECONNREFUSED), the backlog is
  // full or the peer refuses (28, consumer defined; iWARP: -ECONNRESET).
  // UNREACHABLE (-ETIMEDOUT): nobody answers. A request that was delivered does
  // not time out, as the peer's kernel answers with MRA, unless messages were
  // lost; then each MRA gives it the time that it asks for. EINVAL:
  // no route, channel or QP; private data longer than the profile allows; a
  // depth, other than 255, beyond the device's.
  int Connect(rdma_cm_id* id, const rdma_conn_param& param);
  // The outcome is an event: ESTABLISHED, REJECTED, or UNREACHABLE (-ETIMEDOUT)
  // if no try of the response is answered. EINVAL: as Connect(), or the request
  // was withdrawn; another errno: a QP could not change its state, and this one
  // is in ERR.
  int Accept(rdma_cm_id* id, const rdma_conn_param& param);
  // EINVAL: no request waits for an answer; too much private data.
  int Reject(rdma_cm_id* id, const void* private_data, uint8_t length);
  // Moves the QP to ERR; sends DREQ or answers it. Does nothing more on an id
  // whose connection is over or not yet there. EINVAL: it never had one.
  int Disconnect(rdma_cm_id* id);

  // The QP becomes id->qp, in INIT. EINVAL: the id has no device or has a QP;
  // the PD belongs to another device; and errors of Device::CreateQp().
  int CreateQp(rdma_cm_id* id, ibv_pd* pd,
               const QueuePairAttributes& attributes);
  int DestroyQp(rdma_cm_id* id);  // EINVAL: it has none

  // A QP went to ERR by itself. If it is iWARP's and connected, both ends are
  // disconnected.
  void QueuePairFailed(uint32_t qp_num);

  // --- Faults of a device.
  // No message gets out of it or into it: its ids and their peers learn it when
  // their retries run out.
  void CutOff(Device& device);
  // Its ids end as when the kernel cleans up after a process: peers are told,
  // no event comes any more, calls fail with EINVAL. They are still to be
  // destroyed.
  void EndProcess(Device& device);
  // Its ids get DEVICE_REMOVAL; calls but DestroyId() fail with EIO.
  void RemoveDevice(Device& device);

  // --- Other processes.
  // Where a request goes that nobody listens for here; nullptr, as at first:
  // nowhere. Ports of BindAddr() are claimed among all processes.
  // REQUIRES: no call is under way.
  void SetFarPorts(FarPorts* ports);
  // For FarEnds. The caller holds no lock of the emulator.
  void OnCm(FarLink& link, const wire::CmBody& body,
            std::span<const std::byte> data);
  // The ids that this link leads to end as those of EndProcess().
  void OnEnd(FarLink& link);

  struct Census {
    uint32_t ids = 0;  // those of requests that nobody has fetched included
    uint32_t event_channels = 0;
    uint32_t unacked_events = 0;  // handed out and not acknowledged
    uint32_t far_ids = 0;         // what stands for those of other processes
  };
  Census TakeCensus() const;

 private:
  friend class CmSteps;
  struct Impl;
  std::shared_ptr<Impl> impl_;  // timers on their way hold weak references
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_CONNECTION_MANAGER_H_
