// SPDX-License-Identifier: BSD-3-Clause
//
// The seam between librpma's core and an RDMA stack.
//
// Everything the core asks of RDMA goes through one Transport: one virtual
// method for each call of libibverbs or librdmacm that librpma needs.
// backends/loopback implements it on the in-process emulator.
//
// Results. The C libraries report failure in four ways: NULL and errno, -1 and
// errno, a positive return, a bare -1. Backends fold all four into Errno, so
// the core never reads the global errno. On failure no out-parameter is written
// and nothing stays allocated. No method throws.
//
// Handles. Objects are the verbs and rdmacm structs themselves, because the
// public API already exposes ibv_context and ibv_wc. A backend allocates, and
// may extend, the structs it hands out. The core writes no field, reads only
// those named after "->" at the method that creates the object, and gives each
// handle back to the Transport it came from.
//
// Threads. Calls may run concurrently, except two calls on one CM id, and the
// destruction of an object that is still in use.
//
// Waiting. The core has no clock, timer, thread or random number of its own:
// all waiting happens in here, in the calls marked [blocks].
//
// Failing. A call that reports failure has had no effect, the destroying calls
// included: the object is alive and destroying it again may succeed.
//
// Hot path. The data-path calls do not allocate, log or enter the kernel.
// Compared with calling verbs directly they cost one extra indirect call; keep
// it at one.

#ifndef RPMA_CORE_TRANSPORT_H_
#define RPMA_CORE_TRANSPORT_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>

namespace rpma {

// A positive value is an errno. kNoCause: the provider failed without saying
// why, as ibv_alloc_pd() does when it leaves errno at 0.
enum class [[nodiscard]] Errno : int{kOk = 0, kNoCause = -1};

// What librpma needs to know about a device, whatever the rdma-core version.
// The limits are not enforced by the core; log lines name them next to what was
// asked for when a creating call fails.
struct DeviceCaps {
  const char* name = "";             // valid as long as the context
  bool iwarp = false;                // READ destinations need kMrRemoteWrite
  bool odp_rc_read_write = false;    // on-demand paging for RC READ and WRITE
  bool native_atomic_write = false;  // 8-byte ATOMIC WRITE requests
  bool native_flush = false;         // FLUSH to visibility and to persistence
  uint64_t max_mr_size = 0;          // bytes in one memory region
  uint32_t max_cqe = 0;              // entries in one completion queue
  uint32_t max_qp_wr = 0;            // requests in one send or receive queue
  uint32_t max_srq_wr = 0;           // requests in one shared receive queue
  uint32_t max_msg_size = 0;         // bytes in one message (first port)
};

// Rights of a memory region, a bit mask. Not ibv_access_flags, which lacks the
// flush rights before rdma-core 45.
enum MrAccess : uint32_t {
  kMrLocalWrite = 1u << 0,
  kMrRemoteRead = 1u << 1,
  kMrRemoteWrite = 1u << 2,
  kMrFlushVisibility = 1u << 3,
  kMrFlushPersistence = 1u << 4,
  kMrOnDemand = 1u << 5,
};

// A reliable-connected queue pair that signals completions per request.
struct QpConfig {
  ibv_pd* pd = nullptr;
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;
  ibv_srq* srq = nullptr;  // nullptr: the QP has its own receive queue
  uint32_t max_send_wr = 0;
  uint32_t max_recv_wr = 0;
  uint32_t max_sge = 0;
  uint32_t max_inline_data = 0;
  bool want_atomic_write = false;
  bool want_flush = false;
};

// Which of the wanted operations the created QP has.
struct QpCaps {
  bool atomic_write = false;
  bool flush = false;
};

enum class FlushKind : uint8_t { kVisibility, kPersistence };

struct FlushWr {
  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;
  uint64_t length = 0;
  uint32_t rkey = 0;
  FlushKind kind = FlushKind::kVisibility;
  bool signaled = false;
};

struct AtomicWriteWr {
  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;
  const void* source = nullptr;  // 8 bytes, copied before the call returns
  uint32_t rkey = 0;
  bool fence = false;
  bool signaled = false;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // --- Data path (hot) -------------------------------------------------------
  // Each call posts exactly one request: wr->next is nullptr. kOk means queued,
  // not done. ENOMEM: the queue is full and nothing was queued.
  virtual Errno PostSend(ibv_qp* qp, ibv_send_wr* wr) = 0;
  virtual Errno PostRecv(ibv_qp* qp, ibv_recv_wr* wr) = 0;
  virtual Errno PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr) = 0;
  // REQUIRES: CreateQp() reported the matching QpCaps for this QP.
  virtual Errno PostFlush(ibv_qp* qp, const FlushWr& wr) = 0;
  virtual Errno PostAtomicWrite(ibv_qp* qp, const AtomicWriteWr& wr) = 0;

  // Moves up to `capacity` completions into wc[] and returns how many; 0 when
  // none wait, negative when the queue failed. Returns int, not Errno, so that
  // the verbs implementation is a tail call.
  virtual int PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) = 0;

  // --- Device and memory -----------------------------------------------------
  virtual Errno QueryDevice(ibv_context* context, DeviceCaps* caps) = 0;

  virtual Errno AllocPd(ibv_context* context, ibv_pd** pd) = 0;
  virtual Errno DeallocPd(ibv_pd* pd) = 0;  // EBUSY while it has children

  // -> addr, length, lkey, rkey. EOPNOTSUPP: this memory needs kMrOnDemand.
  virtual Errno RegMr(ibv_pd* pd, void* addr, size_t length, uint32_t access,
                      ibv_mr** mr) = 0;
  virtual Errno DeregMr(ibv_mr* mr) = 0;
  virtual Errno AdviseMr(ibv_mr* mr, size_t offset, uint32_t length, int advice,
                         uint32_t flags) = 0;

  // --- Completion queues -----------------------------------------------------
  // -> fd, a real descriptor. Users poll() it and set O_NONBLOCK on it.
  virtual Errno CreateCompChannel(ibv_context* context,
                                  ibv_comp_channel** channel) = 0;
  virtual Errno DestroyCompChannel(ibv_comp_channel* channel) = 0;

  virtual Errno CreateCq(ibv_context* context, int cqe,
                         ibv_comp_channel* channel, ibv_cq** cq) = 0;
  virtual Errno DestroyCq(ibv_cq* cq) = 0;  // [blocks] on unacked events

  // Arms one event for the next completion. A completion that is already queued
  // raises none: arm first, then poll until empty.
  virtual Errno ReqNotifyCq(ibv_cq* cq) = 0;
  // [blocks] EAGAIN in place of blocking when the fd has O_NONBLOCK.
  virtual Errno GetCqEvent(ibv_comp_channel* channel, ibv_cq** cq) = 0;
  virtual void AckCqEvents(ibv_cq* cq, unsigned count) = 0;

  // --- Shared receive queues -------------------------------------------------
  virtual Errno CreateSrq(ibv_pd* pd, uint32_t max_wr, ibv_srq** srq) = 0;
  virtual Errno DestroySrq(ibv_srq* srq) = 0;

  // --- Addresses -------------------------------------------------------------
  // Returns 0, a positive errno or a negative EAI_* code. `service` may be
  // nullptr.
  virtual int GetAddrInfo(const char* node, const char* service, bool passive,
                          rdma_addrinfo** info) = 0;
  virtual void FreeAddrInfo(rdma_addrinfo* info) = 0;
  // What ENODEV of GetAddrInfo() means here, in words that last as long as the
  // process; nullptr: no more than its name says.
  virtual const char* WhyNoDevice() const { return nullptr; }

  // --- Connection manager ----------------------------------------------------
  // -> fd, as for CreateCompChannel().
  virtual Errno CreateEventChannel(rdma_event_channel** channel) = 0;
  virtual void DestroyEventChannel(rdma_event_channel* channel) = 0;

  // [blocks] EAGAIN or ENODATA: no event waits. -> id, event, status,
  // param.conn, all valid until AckCmEvent().
  virtual Errno GetCmEvent(rdma_event_channel* channel,
                           rdma_cm_event** event) = 0;
  virtual Errno AckCmEvent(rdma_cm_event* event) = 0;

  // -> verbs (once bound or resolved), qp (after CreateQp()). With a null
  // channel the id is synchronous: its ResolveAddr(), ResolveRoute() [block].
  virtual Errno CreateId(rdma_event_channel* channel, rdma_cm_id** id) = 0;
  virtual Errno DestroyId(rdma_cm_id* id) = 0;  // [blocks] on unacked events
  // Moves the id and its unread events to `channel`; it is asynchronous from
  // then on. [blocks] on unacked events. nullptr makes it synchronous again.
  virtual Errno MigrateId(rdma_cm_id* id, rdma_event_channel* channel) = 0;

  virtual Errno BindAddr(rdma_cm_id* id, const rdma_addrinfo& info) = 0;
  virtual Errno Listen(rdma_cm_id* id, int backlog) = 0;
  virtual Errno ResolveAddr(rdma_cm_id* id, const rdma_addrinfo& info,
                            int timeout_ms) = 0;
  virtual Errno ResolveRoute(rdma_cm_id* id, int timeout_ms) = 0;

  // The outcome of these four arrives as a CM event.
  virtual Errno Connect(rdma_cm_id* id, rdma_conn_param* param) = 0;
  virtual Errno Accept(rdma_cm_id* id, rdma_conn_param* param) = 0;
  virtual Errno Reject(rdma_cm_id* id, const void* private_data,
                       uint8_t private_data_len) = 0;
  virtual Errno Disconnect(rdma_cm_id* id) = 0;

  // -> qp_num. The QP becomes id->qp and lives until DestroyQp().
  // EINVAL when the PD belongs to another device than the id.
  virtual Errno CreateQp(rdma_cm_id* id, const QpConfig& config,
                         QpCaps* caps) = 0;
  virtual Errno DestroyQp(rdma_cm_id* id) = 0;
};

}  // namespace rpma

#endif  // RPMA_CORE_TRANSPORT_H_
