// SPDX-License-Identifier: BSD-3-Clause
// librpma's Transport on libibverbs and librdmacm: real NICs, and the kernel's
// software devices rxe and siw.

#ifndef RPMA_BACKENDS_VERBS_VERBS_TRANSPORT_H_
#define RPMA_BACKENDS_VERBS_VERBS_TRANSPORT_H_

#include "core/transport.h"

namespace rpma::verbs {

// Each method is the one call of verbs or rdmacm that it is named after, with
// its way to report failure folded into Errno. Has no state; the libraries look
// for devices at the first call that needs one.
//
// Native flush and atomic write are there if the rdma-core of the build has
// them (RPMA_HAVE_IBV_WR_FLUSH, RPMA_HAVE_IBV_WR_ATOMIC_WRITE).
class VerbsTransport final : public Transport {
 public:
  Errno PostSend(ibv_qp* qp, ibv_send_wr* wr) override;
  Errno PostRecv(ibv_qp* qp, ibv_recv_wr* wr) override;
  Errno PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr) override;
  Errno PostFlush(ibv_qp* qp, const FlushWr& wr) override;
  Errno PostAtomicWrite(ibv_qp* qp, const AtomicWriteWr& wr) override;
  int PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) override;

  Errno QueryDevice(ibv_context* context, DeviceCaps* caps) override;
  Errno AllocPd(ibv_context* context, ibv_pd** pd) override;
  Errno DeallocPd(ibv_pd* pd) override;
  Errno RegMr(ibv_pd* pd, void* addr, size_t length, uint32_t access,
              ibv_mr** mr) override;
  Errno DeregMr(ibv_mr* mr) override;
  Errno AdviseMr(ibv_mr* mr, size_t offset, uint32_t length, int advice,
                 uint32_t flags) override;

  Errno CreateCompChannel(ibv_context* context,
                          ibv_comp_channel** channel) override;
  Errno DestroyCompChannel(ibv_comp_channel* channel) override;
  Errno CreateCq(ibv_context* context, int cqe, ibv_comp_channel* channel,
                 ibv_cq** cq) override;
  Errno DestroyCq(ibv_cq* cq) override;
  Errno ReqNotifyCq(ibv_cq* cq) override;
  Errno GetCqEvent(ibv_comp_channel* channel, ibv_cq** cq) override;
  void AckCqEvents(ibv_cq* cq, unsigned count) override;
  Errno CreateSrq(ibv_pd* pd, uint32_t max_wr, ibv_srq** srq) override;
  Errno DestroySrq(ibv_srq* srq) override;

  int GetAddrInfo(const char* node, const char* service, bool passive,
                  rdma_addrinfo** info) override;
  void FreeAddrInfo(rdma_addrinfo* info) override;
  const char* WhyNoDevice() const override;

  Errno CreateEventChannel(rdma_event_channel** channel) override;
  void DestroyEventChannel(rdma_event_channel* channel) override;
  Errno GetCmEvent(rdma_event_channel* channel, rdma_cm_event** event) override;
  Errno AckCmEvent(rdma_cm_event* event) override;
  Errno CreateId(rdma_event_channel* channel, rdma_cm_id** id) override;
  Errno DestroyId(rdma_cm_id* id) override;
  Errno MigrateId(rdma_cm_id* id, rdma_event_channel* channel) override;
  Errno BindAddr(rdma_cm_id* id, const rdma_addrinfo& info) override;
  Errno Listen(rdma_cm_id* id, int backlog) override;
  Errno ResolveAddr(rdma_cm_id* id, const rdma_addrinfo& info,
                    int timeout_ms) override;
  Errno ResolveRoute(rdma_cm_id* id, int timeout_ms) override;
  Errno Connect(rdma_cm_id* id, rdma_conn_param* param) override;
  Errno Accept(rdma_cm_id* id, rdma_conn_param* param) override;
  Errno Reject(rdma_cm_id* id, const void* private_data,
               uint8_t private_data_len) override;
  Errno Disconnect(rdma_cm_id* id) override;
  Errno CreateQp(rdma_cm_id* id, const QpConfig& config, QpCaps* caps) override;
  Errno DestroyQp(rdma_cm_id* id) override;
};

}  // namespace rpma::verbs

#endif  // RPMA_BACKENDS_VERBS_VERBS_TRANSPORT_H_
