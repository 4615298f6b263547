// SPDX-License-Identifier: BSD-3-Clause
// librpma's Transport on an emulated fabric of this process.

#include "backends/loopback/loopback_transport.h"

#include "emulator/addr_info.h"
#include "emulator/completion_queue.h"
#include "emulator/connection_manager.h"
#include "emulator/device.h"
#include "emulator/memory_region.h"
#include "emulator/queue_pair.h"
#include "emulator/shared_receive_queue.h"

namespace rpma::loopback {
namespace {

Errno ToErrno(int error) { return static_cast<Errno>(error); }

emu::Device& DeviceOf(ibv_context* context) {
  return *emu::Device::Of(context);
}
emu::QueuePair& QpOf(ibv_qp* qp) { return *static_cast<emu::QueuePair*>(qp); }
emu::CompletionQueue* CqOf(ibv_cq* cq) {
  return static_cast<emu::CompletionQueue*>(cq);
}
emu::SharedReceiveQueue* SrqOf(ibv_srq* srq) {
  return static_cast<emu::SharedReceiveQueue*>(srq);
}
emu::ProtectionDomain* PdOf(ibv_pd* pd) {
  return static_cast<emu::ProtectionDomain*>(pd);
}
emu::CompletionChannel* ChannelOf(ibv_comp_channel* channel) {
  return static_cast<emu::CompletionChannel*>(channel);
}

// Hands out an object that `create`, a function from Object** to int, makes.
template <typename Object, typename Handle, typename Create>
Errno HandOut(Handle** handle, Create create) {
  Object* object = nullptr;
  const int error = create(&object);
  if (error == 0) *handle = object;
  return ToErrno(error);
}

unsigned ToAccessFlags(uint32_t access) {
  constexpr struct {
    uint32_t right;
    unsigned flag;
  } kRights[] = {
      {kMrLocalWrite, IBV_ACCESS_LOCAL_WRITE},
      {kMrRemoteRead, IBV_ACCESS_REMOTE_READ},
      {kMrRemoteWrite, IBV_ACCESS_REMOTE_WRITE},
      {kMrFlushVisibility, emu::kAccessFlushGlobal},
      {kMrFlushPersistence, emu::kAccessFlushPersistent},
      {kMrOnDemand, IBV_ACCESS_ON_DEMAND},
  };
  unsigned flags = 0;
  for (const auto& [right, flag] : kRights) {
    if ((access & right) != 0) flags |= flag;
  }
  return flags;
}

unsigned SendFlags(bool signaled, bool fence) {
  return (signaled ? unsigned{IBV_SEND_SIGNALED} : 0u) |
         (fence ? unsigned{IBV_SEND_FENCE} : 0u);
}

}  // namespace

Errno LoopbackTransport::PostSend(ibv_qp* qp, ibv_send_wr* wr) {
  ibv_send_wr* bad = nullptr;
  return ToErrno(QpOf(qp).PostSend(wr, &bad));
}

Errno LoopbackTransport::PostRecv(ibv_qp* qp, ibv_recv_wr* wr) {
  ibv_recv_wr* bad = nullptr;
  return ToErrno(QpOf(qp).PostRecv(wr, &bad));
}

Errno LoopbackTransport::PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr) {
  ibv_recv_wr* bad = nullptr;
  return ToErrno(SrqOf(srq)->PostRecv(wr, &bad));
}

Errno LoopbackTransport::PostFlush(ibv_qp* qp, const FlushWr& wr) {
  return ToErrno(
      QpOf(qp).PostFlush({.wr_id = wr.wr_id,
                          .remote_addr = wr.remote_addr,
                          .length = wr.length,
                          .rkey = wr.rkey,
                          .persistent = wr.kind == FlushKind::kPersistence,
                          .send_flags = SendFlags(wr.signaled, false)}));
}

Errno LoopbackTransport::PostAtomicWrite(ibv_qp* qp, const AtomicWriteWr& wr) {
  return ToErrno(QpOf(qp).PostAtomicWrite(
      {.wr_id = wr.wr_id,
       .remote_addr = wr.remote_addr,
       .source = wr.source,
       .rkey = wr.rkey,
       .send_flags = SendFlags(wr.signaled, wr.fence)}));
}

int LoopbackTransport::PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) {
  return CqOf(cq)->Poll(capacity, wc);
}

Errno LoopbackTransport::QueryDevice(ibv_context* context, DeviceCaps* caps) {
  const emu::Device& device = DeviceOf(context);
  const emu::Profile& profile = device.profile();
  *caps = {.name = device.name().c_str(),
           .iwarp = profile.read_sink_needs_remote_write,
           .odp_rc_read_write = profile.on_demand_paging,
           .native_atomic_write = profile.native_atomic_write,
           .native_flush = profile.native_flush,
           .max_mr_size = profile.limits.max_mr_size,
           .max_cqe = profile.limits.max_cqe,
           .max_qp_wr = profile.limits.max_qp_wr,
           .max_srq_wr = profile.limits.max_srq_wr,
           .max_msg_size = profile.limits.max_msg_sz};
  return Errno::kOk;
}

Errno LoopbackTransport::AllocPd(ibv_context* context, ibv_pd** pd) {
  return HandOut<emu::ProtectionDomain>(
      pd, [&](auto** made) { return DeviceOf(context).AllocPd(made); });
}

Errno LoopbackTransport::DeallocPd(ibv_pd* pd) {
  return ToErrno(DeviceOf(pd->context).DeallocPd(PdOf(pd)));
}

Errno LoopbackTransport::RegMr(ibv_pd* pd, void* addr, size_t length,
                               uint32_t access, ibv_mr** mr) {
  return HandOut<emu::MemoryRegion>(mr, [&](auto** made) {
    return DeviceOf(pd->context)
        .RegMr(PdOf(pd), addr, length, ToAccessFlags(access), made);
  });
}

Errno LoopbackTransport::DeregMr(ibv_mr* mr) {
  return ToErrno(
      DeviceOf(mr->context).DeregMr(static_cast<emu::MemoryRegion*>(mr)));
}

Errno LoopbackTransport::AdviseMr(ibv_mr* mr, size_t offset, uint32_t length,
                                  int advice, uint32_t flags) {
  const ibv_sge range = {.addr = reinterpret_cast<uint64_t>(mr->addr) + offset,
                         .length = length,
                         .lkey = mr->lkey};
  return ToErrno(
      DeviceOf(mr->context).AdviseMr(PdOf(mr->pd), advice, flags, &range, 1));
}

Errno LoopbackTransport::CreateCompChannel(ibv_context* context,
                                           ibv_comp_channel** channel) {
  return HandOut<emu::CompletionChannel>(channel, [&](auto** made) {
    return DeviceOf(context).CreateCompChannel(made);
  });
}

Errno LoopbackTransport::DestroyCompChannel(ibv_comp_channel* channel) {
  return ToErrno(
      DeviceOf(channel->context).DestroyCompChannel(ChannelOf(channel)));
}

Errno LoopbackTransport::CreateCq(ibv_context* context, int cqe,
                                  ibv_comp_channel* channel, ibv_cq** cq) {
  return HandOut<emu::CompletionQueue>(cq, [&](auto** made) {
    return DeviceOf(context).CreateCq(cqe, ChannelOf(channel), made);
  });
}

Errno LoopbackTransport::DestroyCq(ibv_cq* cq) {
  return ToErrno(DeviceOf(cq->context).DestroyCq(CqOf(cq)));
}

Errno LoopbackTransport::ReqNotifyCq(ibv_cq* cq) {
  CqOf(cq)->Arm(/*solicited_only=*/false);
  return Errno::kOk;
}

Errno LoopbackTransport::GetCqEvent(ibv_comp_channel* channel, ibv_cq** cq) {
  return HandOut<emu::CompletionQueue>(
      cq, [&](auto** got) { return ChannelOf(channel)->GetEvent(got); });
}

void LoopbackTransport::AckCqEvents(ibv_cq* cq, unsigned count) {
  CqOf(cq)->AckEvents(count);
}

Errno LoopbackTransport::CreateSrq(ibv_pd* pd, uint32_t max_wr, ibv_srq** srq) {
  return HandOut<emu::SharedReceiveQueue>(srq, [&](auto** made) {
    return DeviceOf(pd->context)
        .CreateSrq(PdOf(pd), max_wr, /*max_sge=*/1, /*srq_limit=*/0, made);
  });
}

Errno LoopbackTransport::DestroySrq(ibv_srq* srq) {
  return ToErrno(DeviceOf(srq->context).DestroySrq(SrqOf(srq)));
}

int LoopbackTransport::GetAddrInfo(const char* node, const char* service,
                                   bool passive, rdma_addrinfo** info) {
  return emu::LookUpAddrInfo(node, service, passive, info);
}

void LoopbackTransport::FreeAddrInfo(rdma_addrinfo* info) {
  emu::FreeAddrInfo(info);
}

Errno LoopbackTransport::CreateEventChannel(rdma_event_channel** channel) {
  return ToErrno(fabric_.cm().CreateEventChannel(channel));
}

void LoopbackTransport::DestroyEventChannel(rdma_event_channel* channel) {
  fabric_.cm().DestroyEventChannel(channel);
}

Errno LoopbackTransport::GetCmEvent(rdma_event_channel* channel,
                                    rdma_cm_event** event) {
  return ToErrno(fabric_.cm().GetEvent(channel, event));
}

Errno LoopbackTransport::AckCmEvent(rdma_cm_event* event) {
  return ToErrno(fabric_.cm().AckEvent(event));
}

Errno LoopbackTransport::CreateId(rdma_event_channel* channel,
                                  rdma_cm_id** id) {
  return ToErrno(fabric_.cm().CreateId(channel, id));
}

Errno LoopbackTransport::DestroyId(rdma_cm_id* id) {
  return ToErrno(fabric_.cm().DestroyId(id));
}

Errno LoopbackTransport::MigrateId(rdma_cm_id* id,
                                   rdma_event_channel* channel) {
  return ToErrno(fabric_.cm().MigrateId(id, channel));
}

Errno LoopbackTransport::BindAddr(rdma_cm_id* id, const rdma_addrinfo& info) {
  return ToErrno(fabric_.cm().BindAddr(id, info.ai_src_addr));
}

Errno LoopbackTransport::Listen(rdma_cm_id* id, int backlog) {
  return ToErrno(fabric_.cm().Listen(id, backlog));
}

Errno LoopbackTransport::ResolveAddr(rdma_cm_id* id, const rdma_addrinfo& info,
                                     int /*timeout_ms*/) {
  return ToErrno(
      fabric_.cm().ResolveAddr(id, info.ai_src_addr, info.ai_dst_addr));
}

Errno LoopbackTransport::ResolveRoute(rdma_cm_id* id, int /*timeout_ms*/) {
  return ToErrno(fabric_.cm().ResolveRoute(id));
}

Errno LoopbackTransport::Connect(rdma_cm_id* id, rdma_conn_param* param) {
  return ToErrno(fabric_.cm().Connect(id, *param));
}

Errno LoopbackTransport::Accept(rdma_cm_id* id, rdma_conn_param* param) {
  return ToErrno(fabric_.cm().Accept(id, *param));
}

Errno LoopbackTransport::Reject(rdma_cm_id* id, const void* private_data,
                                uint8_t private_data_len) {
  return ToErrno(fabric_.cm().Reject(id, private_data, private_data_len));
}

Errno LoopbackTransport::Disconnect(rdma_cm_id* id) {
  return ToErrno(fabric_.cm().Disconnect(id));
}

Errno LoopbackTransport::CreateQp(rdma_cm_id* id, const QpConfig& config,
                                  QpCaps* caps) {
  const int error =
      fabric_.cm().CreateQp(id, config.pd,
                            {.send_cq = CqOf(config.send_cq),
                             .recv_cq = CqOf(config.recv_cq),
                             .srq = SrqOf(config.srq),
                             .max_send_wr = config.max_send_wr,
                             .max_recv_wr = config.max_recv_wr,
                             .max_send_sge = config.max_sge,
                             .max_recv_sge = config.max_sge,
                             .max_inline_data = config.max_inline_data});
  if (error != 0) return ToErrno(error);
  const emu::Profile& profile = DeviceOf(id->verbs).profile();
  *caps = {
      .atomic_write = config.want_atomic_write && profile.native_atomic_write,
      .flush = config.want_flush && profile.native_flush};
  return Errno::kOk;
}

Errno LoopbackTransport::DestroyQp(rdma_cm_id* id) {
  return ToErrno(fabric_.cm().DestroyQp(id));
}

}  // namespace rpma::loopback
