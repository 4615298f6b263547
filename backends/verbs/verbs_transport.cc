// SPDX-License-Identifier: BSD-3-Clause
// librpma's Transport on libibverbs and librdmacm.

#include "backends/verbs/verbs_transport.h"

#include <cerrno>
#include <cstdint>

#include "backends/verbs/provider_result.h"

namespace rpma::verbs {
namespace {

// The operations that this build can post natively, as bits of send_ops_flags;
// 0: rdma-core has no such call.
#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
constexpr uint64_t kAtomicWriteOp = IBV_QP_EX_WITH_ATOMIC_WRITE;
#else
constexpr uint64_t kAtomicWriteOp = 0;
#endif
#ifdef RPMA_HAVE_IBV_WR_FLUSH
constexpr uint64_t kFlushOp = IBV_QP_EX_WITH_FLUSH;
constexpr unsigned kFlushVisibilityAccess = IBV_ACCESS_FLUSH_GLOBAL;
constexpr unsigned kFlushPersistenceAccess = IBV_ACCESS_FLUSH_PERSISTENT;
#else
constexpr uint64_t kFlushOp = 0;
constexpr unsigned kFlushVisibilityAccess = 0;
constexpr unsigned kFlushPersistenceAccess = 0;
#endif

// Bits of ibv_device_attr_ex::device_cap_flags_ex: enum
// ib_uverbs_device_cap_flags of the kernel (include/uapi/rdma/ib_user_verbs.h).
constexpr uint64_t kDeviceFlush =
    uint64_t{1} << 38 /* global */ | uint64_t{1} << 39 /* persistent */;
constexpr uint64_t kDeviceAtomicWrite = uint64_t{1} << 40;

bool HasAll(uint64_t flags, uint64_t wanted) {
  return (flags & wanted) == wanted;
}

bool HasOdp(const ibv_odp_caps& caps) {
  return HasAll(caps.general_caps, IBV_ODP_SUPPORT) &&
         HasAll(caps.per_transport_caps.rc_odp_caps,
                IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_WRITE);
}

unsigned ToAccessFlags(uint32_t access) {
  constexpr struct {
    uint32_t right;
    unsigned flag;
  } kRights[] = {
      {kMrLocalWrite, IBV_ACCESS_LOCAL_WRITE},
      {kMrRemoteRead, IBV_ACCESS_REMOTE_READ},
      {kMrRemoteWrite, IBV_ACCESS_REMOTE_WRITE},
      {kMrOnDemand, IBV_ACCESS_ON_DEMAND},
      {kMrFlushVisibility, kFlushVisibilityAccess},
      {kMrFlushPersistence, kFlushPersistenceAccess},
  };
  unsigned flags = 0;
  for (const auto& [right, flag] : kRights) {
    if ((access & right) != 0) flags |= flag;
  }
  return flags;
}

uint64_t SendOpsFlags(const QpConfig& config) {
  return (config.want_atomic_write ? kAtomicWriteOp : 0) |
         (config.want_flush ? kFlushOp : 0);
}

// Which of `wanted`, bits of send_ops_flags, the new queue pair has.
uint64_t OpsOf(ibv_qp* qp, uint64_t wanted) {
  uint64_t ops = 0;
  if (wanted == 0) return ops;
  [[maybe_unused]] const ibv_qp_ex* const extended = ibv_qp_to_qp_ex(qp);
  if (extended == nullptr) return ops;
#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
  if (extended->wr_atomic_write != nullptr) ops |= kAtomicWriteOp;
#endif
#ifdef RPMA_HAVE_IBV_WR_FLUSH
  if (extended->wr_flush != nullptr) ops |= kFlushOp;
#endif
  return ops & wanted;
}

ibv_qp_init_attr_ex InitAttr(const QpConfig& config) {
  ibv_qp_init_attr_ex attr = {};
  attr.send_cq = config.send_cq;
  attr.recv_cq = config.recv_cq;
  attr.srq = config.srq;
  attr.cap.max_send_wr = config.max_send_wr;
  attr.cap.max_recv_wr = config.max_recv_wr;
  attr.cap.max_send_sge = config.max_sge;
  attr.cap.max_recv_sge = config.max_sge;
  attr.cap.max_inline_data = config.max_inline_data;
  attr.qp_type = IBV_QPT_RC;
  attr.sq_sig_all = 0;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr.pd = config.pd;
  // Only if there are some: providers without the extended work requests
  // refuse the bit, even with no operation in it.
  if (const uint64_t flags = SendOpsFlags(config); flags != 0) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = flags;
  }
  return attr;
}

[[maybe_unused]] unsigned SendFlags(bool signaled, bool fence) {
  return (signaled ? unsigned{IBV_SEND_SIGNALED} : 0u) |
         (fence ? unsigned{IBV_SEND_FENCE} : 0u);
}

}  // namespace

// --- Data path ---------------------------------------------------------------

Errno VerbsTransport::PostSend(ibv_qp* qp, ibv_send_wr* wr) {
  ibv_send_wr* bad = nullptr;
  return Posted(ibv_post_send(qp, wr, &bad));
}

Errno VerbsTransport::PostRecv(ibv_qp* qp, ibv_recv_wr* wr) {
  ibv_recv_wr* bad = nullptr;
  return Posted(ibv_post_recv(qp, wr, &bad));
}

Errno VerbsTransport::PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr) {
  ibv_recv_wr* bad = nullptr;
  return Posted(ibv_post_srq_recv(srq, wr, &bad));
}

Errno VerbsTransport::PostFlush([[maybe_unused]] ibv_qp* qp,
                                [[maybe_unused]] const FlushWr& wr) {
#ifdef RPMA_HAVE_IBV_WR_FLUSH
  ibv_qp_ex* const extended = ibv_qp_to_qp_ex(qp);
  ibv_wr_start(extended);
  extended->wr_id = wr.wr_id;
  extended->wr_flags = SendFlags(wr.signaled, false);
  ibv_wr_flush(extended, wr.rkey, wr.remote_addr, wr.length,
               wr.kind == FlushKind::kPersistence ? IBV_FLUSH_PERSISTENT
                                                  : IBV_FLUSH_GLOBAL,
               IBV_FLUSH_RANGE);
  return Posted(ibv_wr_complete(extended));
#else
  return static_cast<Errno>(EOPNOTSUPP);
#endif
}

Errno VerbsTransport::PostAtomicWrite(
    [[maybe_unused]] ibv_qp* qp, [[maybe_unused]] const AtomicWriteWr& wr) {
#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
  ibv_qp_ex* const extended = ibv_qp_to_qp_ex(qp);
  ibv_wr_start(extended);
  extended->wr_id = wr.wr_id;
  extended->wr_flags = SendFlags(wr.signaled, wr.fence);
  ibv_wr_atomic_write(extended, wr.rkey, wr.remote_addr, wr.source);
  return Posted(ibv_wr_complete(extended));
#else
  return static_cast<Errno>(EOPNOTSUPP);
#endif
}

int VerbsTransport::PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) {
  return ibv_poll_cq(cq, capacity, wc);
}

// --- Device and memory -------------------------------------------------------

Errno VerbsTransport::QueryDevice(ibv_context* context, DeviceCaps* caps) {
  constexpr uint8_t kFirstPort = 1;
  ibv_device_attr_ex attr = {};
  Errno error =
      Done([&] { return ibv_query_device_ex(context, nullptr, &attr); });
  if (error != Errno::kOk) return error;
  ibv_port_attr port = {};
  error = Done([&] { return ibv_query_port(context, kFirstPort, &port); });
  if (error != Errno::kOk) return error;
  const uint64_t flags = attr.device_cap_flags_ex;
  *caps = {.name = ibv_get_device_name(context->device),
           .iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP,
           .odp_rc_read_write = HasOdp(attr.odp_caps),
           .native_atomic_write =
               kAtomicWriteOp != 0 && HasAll(flags, kDeviceAtomicWrite),
           .native_flush = kFlushOp != 0 && HasAll(flags, kDeviceFlush),
           .max_mr_size = attr.orig_attr.max_mr_size,
           .max_cqe = static_cast<uint32_t>(attr.orig_attr.max_cqe),
           .max_qp_wr = static_cast<uint32_t>(attr.orig_attr.max_qp_wr),
           .max_srq_wr = static_cast<uint32_t>(attr.orig_attr.max_srq_wr),
           .max_msg_size = port.max_msg_sz};
  return Errno::kOk;
}

Errno VerbsTransport::AllocPd(ibv_context* context, ibv_pd** pd) {
  return Made(pd, [&] { return ibv_alloc_pd(context); });
}

Errno VerbsTransport::DeallocPd(ibv_pd* pd) {
  return Done([&] { return ibv_dealloc_pd(pd); });
}

Errno VerbsTransport::RegMr(ibv_pd* pd, void* addr, size_t length,
                            uint32_t access, ibv_mr** mr) {
  const unsigned flags = ToAccessFlags(access);
  return Made(mr, [&] { return ibv_reg_mr(pd, addr, length, flags); });
}

Errno VerbsTransport::DeregMr(ibv_mr* mr) {
  return Done([&] { return ibv_dereg_mr(mr); });
}

Errno VerbsTransport::AdviseMr(ibv_mr* mr, size_t offset, uint32_t length,
                               int advice, uint32_t flags) {
  ibv_sge range = {.addr = reinterpret_cast<uint64_t>(mr->addr) + offset,
                   .length = length,
                   .lkey = mr->lkey};
  return Done([&] {
    return ibv_advise_mr(mr->pd, static_cast<ibv_advise_mr_advice>(advice),
                         flags, &range, 1);
  });
}

// --- Completion queues -------------------------------------------------------

Errno VerbsTransport::CreateCompChannel(ibv_context* context,
                                        ibv_comp_channel** channel) {
  return Made(channel, [&] { return ibv_create_comp_channel(context); });
}

Errno VerbsTransport::DestroyCompChannel(ibv_comp_channel* channel) {
  return Done([&] { return ibv_destroy_comp_channel(channel); });
}

Errno VerbsTransport::CreateCq(ibv_context* context, int cqe,
                               ibv_comp_channel* channel, ibv_cq** cq) {
  return Made(cq, [&] {
    return ibv_create_cq(context, cqe, /*cq_context=*/nullptr, channel,
                         /*comp_vector=*/0);
  });
}

Errno VerbsTransport::DestroyCq(ibv_cq* cq) {
  return Done([&] { return ibv_destroy_cq(cq); });
}

Errno VerbsTransport::ReqNotifyCq(ibv_cq* cq) {
  return Done([&] { return ibv_req_notify_cq(cq, /*solicited_only=*/0); });
}

Errno VerbsTransport::GetCqEvent(ibv_comp_channel* channel, ibv_cq** cq) {
  ibv_cq* got = nullptr;
  void* cq_context = nullptr;
  const Errno error =
      Done([&] { return ibv_get_cq_event(channel, &got, &cq_context); });
  if (error == Errno::kOk) *cq = got;
  return error;
}

void VerbsTransport::AckCqEvents(ibv_cq* cq, unsigned count) {
  ibv_ack_cq_events(cq, count);
}

// --- Shared receive queues ---------------------------------------------------

Errno VerbsTransport::CreateSrq(ibv_pd* pd, uint32_t max_wr, ibv_srq** srq) {
  ibv_srq_init_attr attr = {};
  attr.attr.max_wr = max_wr;
  attr.attr.max_sge = 1;
  return Made(srq, [&] { return ibv_create_srq(pd, &attr); });
}

Errno VerbsTransport::DestroySrq(ibv_srq* srq) {
  return Done([&] { return ibv_destroy_srq(srq); });
}

// --- Addresses ---------------------------------------------------------------

int VerbsTransport::GetAddrInfo(const char* node, const char* service,
                                bool passive, rdma_addrinfo** info) {
  rdma_addrinfo hints = {};
  hints.ai_flags = passive ? RAI_PASSIVE : 0;
  hints.ai_qp_type = IBV_QPT_RC;
  hints.ai_port_space = RDMA_PS_TCP;
  errno = 0;
  const int result = rdma_getaddrinfo(node, service, &hints, info);
  // -1 is "see errno" here, although it is EAI_BADFLAGS, too: these hints have
  // no bad flags.
  return result == -1 && errno > 0 ? errno : result;
}

void VerbsTransport::FreeAddrInfo(rdma_addrinfo* info) {
  rdma_freeaddrinfo(info);
}

const char* VerbsTransport::WhyNoDevice() const {
  return "No such device; either this host has no RDMA device, or the kernel "
         "modules ib_uverbs and rdma_ucm are not loaded "
         "(RPMA_TRANSPORT=emulator needs neither)";
}

// --- Connection manager ------------------------------------------------------

Errno VerbsTransport::CreateEventChannel(rdma_event_channel** channel) {
  return Made(channel, [] { return rdma_create_event_channel(); });
}

void VerbsTransport::DestroyEventChannel(rdma_event_channel* channel) {
  rdma_destroy_event_channel(channel);
}

Errno VerbsTransport::GetCmEvent(rdma_event_channel* channel,
                                 rdma_cm_event** event) {
  return Done([&] { return rdma_get_cm_event(channel, event); });
}

Errno VerbsTransport::AckCmEvent(rdma_cm_event* event) {
  return Done([&] { return rdma_ack_cm_event(event); });
}

Errno VerbsTransport::CreateId(rdma_event_channel* channel, rdma_cm_id** id) {
  return Done([&] {
    return rdma_create_id(channel, id, /*context=*/nullptr, RDMA_PS_TCP);
  });
}

Errno VerbsTransport::DestroyId(rdma_cm_id* id) {
  return Done([&] { return rdma_destroy_id(id); });
}

Errno VerbsTransport::MigrateId(rdma_cm_id* id, rdma_event_channel* channel) {
  return Done([&] { return rdma_migrate_id(id, channel); });
}

Errno VerbsTransport::BindAddr(rdma_cm_id* id, const rdma_addrinfo& info) {
  return Done([&] { return rdma_bind_addr(id, info.ai_src_addr); });
}

Errno VerbsTransport::Listen(rdma_cm_id* id, int backlog) {
  return Done([&] { return rdma_listen(id, backlog); });
}

Errno VerbsTransport::ResolveAddr(rdma_cm_id* id, const rdma_addrinfo& info,
                                  int timeout_ms) {
  return Done([&] {
    return rdma_resolve_addr(id, info.ai_src_addr, info.ai_dst_addr,
                             timeout_ms);
  });
}

Errno VerbsTransport::ResolveRoute(rdma_cm_id* id, int timeout_ms) {
  return Done([&] { return rdma_resolve_route(id, timeout_ms); });
}

Errno VerbsTransport::Connect(rdma_cm_id* id, rdma_conn_param* param) {
  return Done([&] { return rdma_connect(id, param); });
}

Errno VerbsTransport::Accept(rdma_cm_id* id, rdma_conn_param* param) {
  return Done([&] { return rdma_accept(id, param); });
}

Errno VerbsTransport::Reject(rdma_cm_id* id, const void* private_data,
                             uint8_t private_data_len) {
  return Done([&] { return rdma_reject(id, private_data, private_data_len); });
}

Errno VerbsTransport::Disconnect(rdma_cm_id* id) {
  return Done([&] { return rdma_disconnect(id); });
}

Errno VerbsTransport::CreateQp(rdma_cm_id* id, const QpConfig& config,
                               QpCaps* caps) {
  ibv_qp_init_attr_ex attr = InitAttr(config);
  const Errno error = Done([&] { return rdma_create_qp_ex(id, &attr); });
  if (error != Errno::kOk) return error;
  const uint64_t ops = OpsOf(id->qp, SendOpsFlags(config));
  *caps = {.atomic_write = (ops & kAtomicWriteOp) != 0,
           .flush = (ops & kFlushOp) != 0};
  return Errno::kOk;
}

// Not rdma_destroy_qp(), which cannot report failure.
Errno VerbsTransport::DestroyQp(rdma_cm_id* id) {
  const Errno error = Done([&] { return ibv_destroy_qp(id->qp); });
  if (error == Errno::kOk) id->qp = nullptr;
  return error;
}

}  // namespace rpma::verbs
