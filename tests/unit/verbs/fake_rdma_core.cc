// SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/verbs/fake_rdma_core.h"

#include <gtest/gtest.h>

#include <cerrno>

// Inline functions of the headers have these names, too.
#undef ibv_query_port
#undef ibv_reg_mr

namespace rpma::verbs {
namespace {

FakeRdmaCore* the_fake = nullptr;

const char* Text(const char* string) {
  return string != nullptr ? string : "nullptr";
}

FakeRdmaCore& Fake() { return FakeRdmaCore::Get(); }

template <typename Object>
Object* Made(Object* object, int result) {
  return result == 0 ? object : nullptr;
}

// --- What a driver puts into its objects -------------------------------------

int PostSend(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  const int result = Fake().Called("post_send", qp, wr);
  if (result != 0) *bad = wr;
  return result;
}

int PostRecv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const int result = Fake().Called("post_recv", qp, wr);
  if (result != 0) *bad = wr;
  return result;
}

int PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const int result = Fake().Called("post_srq_recv", srq, wr);
  if (result != 0) *bad = wr;
  return result;
}

int PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) {
  return Fake().Called("poll_cq", cq, capacity, wc);
}

int ReqNotifyCq(ibv_cq* cq, int solicited_only) {
  return Fake().Called("req_notify_cq", cq, solicited_only);
}

int QueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input,
                  ibv_device_attr_ex* attr, size_t size) {
  EXPECT_EQ(input, nullptr);
  EXPECT_EQ(size, sizeof(*attr));
  const int result = Fake().Called("query_device_ex", context);
  if (result == 0) *attr = Fake().device_attr;
  return result;
}

int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attr,
              size_t size) {
  EXPECT_EQ(size, sizeof(*attr));
  const int result = Fake().Called("query_port", context, int{port});
  if (result == 0) *attr = Fake().port_attr;
  return result;
}

int AdviseMr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags,
             ibv_sge* list, uint32_t count) {
  Fake().advised = *list;
  return Fake().Called("advise_mr", pd, int{advice}, flags, count);
}

void WrStart(ibv_qp_ex* qp) { (void)Fake().Called("wr_start", qp); }

int WrComplete(ibv_qp_ex* qp) {
  return Fake().Called("wr_complete", qp, qp->wr_id, qp->wr_flags);
}

#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
void WrAtomicWrite(ibv_qp_ex* qp, uint32_t rkey, uint64_t address,
                   const void* source) {
  (void)Fake().Called("wr_atomic_write", qp, rkey, address, source);
}
#endif

#ifdef RPMA_HAVE_IBV_WR_FLUSH
void WrFlush(ibv_qp_ex* qp, uint32_t rkey, uint64_t address, size_t length,
             uint8_t type, uint8_t level) {
  (void)Fake().Called("wr_flush", qp, rkey, address, length, int{type},
                      int{level});
}
#endif

}  // namespace

FakeRdmaCore::FakeRdmaCore() {
  the_fake = this;
  extended.sz = sizeof(extended);
  extended.query_device_ex = QueryDeviceEx;
  extended.query_port = QueryPort;
  extended.advise_mr = AdviseMr;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.device = &device;
  context.ops.post_send = PostSend;
  context.ops.post_recv = PostRecv;
  context.ops.post_srq_recv = PostSrqRecv;
  context.ops.poll_cq = PollCq;
  context.ops.req_notify_cq = ReqNotifyCq;
  qp_ex.wr_start = WrStart;
  qp_ex.wr_complete = WrComplete;
#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
  qp_ex.wr_atomic_write = WrAtomicWrite;
#endif
#ifdef RPMA_HAVE_IBV_WR_FLUSH
  qp_ex.wr_flush = WrFlush;
#endif
  pd.context = &context;
  mr.pd = &pd;
  cq.context = &context;
  srq.context = &context;
  qp.context = &context;
  id.verbs = &context;
}

FakeRdmaCore::~FakeRdmaCore() { the_fake = nullptr; }

FakeRdmaCore& FakeRdmaCore::Get() { return *the_fake; }

template <typename... Arguments>
int FakeRdmaCore::Called(const char* function, Arguments... arguments) {
  calls.push_back(CallText(function, arguments...));
  if (result != 0 && error != 0) errno = error;
  return result;
}

}  // namespace rpma::verbs

// --- libibverbs --------------------------------------------------------------

using rpma::verbs::Fake;
using rpma::verbs::Made;
using rpma::verbs::Text;

#define CALLED(...) Fake().Called(__func__ __VA_OPT__(, ) __VA_ARGS__)

extern "C" {

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

// For contexts of old drivers only.
int ibv_query_device(ibv_context* context, ibv_device_attr*) {
  return CALLED(context);
}
int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr*) {
  return CALLED(context, int{port});
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return Made(&Fake().pd, CALLED(context));
}
int ibv_dealloc_pd(ibv_pd* pd) { return CALLED(pd); }

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  return Made(&Fake().mr, CALLED(pd, addr, length, access));
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova,
                         unsigned access) {
  EXPECT_EQ(iova, reinterpret_cast<uint64_t>(addr));
  return Made(&Fake().mr,
              Fake().Called("ibv_reg_mr", pd, addr, length, access));
}
int ibv_dereg_mr(ibv_mr* mr) { return CALLED(mr); }

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return Made(&Fake().comp_channel, CALLED(context));
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return CALLED(channel);
}

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context,
                      ibv_comp_channel* channel, int comp_vector) {
  return Made(&Fake().cq,
              CALLED(context, cqe, cq_context, channel, comp_vector));
}
int ibv_destroy_cq(ibv_cq* cq) { return CALLED(cq); }
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void**) {
  const int result = CALLED(channel);
  if (result == 0) *cq = &Fake().cq;
  return result;
}
void ibv_ack_cq_events(ibv_cq* cq, unsigned count) { (void)CALLED(cq, count); }

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
  Fake().srq_attr = *attr;
  return Made(&Fake().srq, CALLED(pd));
}
int ibv_destroy_srq(ibv_srq* srq) { return CALLED(srq); }

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return qp == &Fake().qp ? &Fake().qp_ex : nullptr;
}
int ibv_destroy_qp(ibv_qp* qp) { return CALLED(qp); }

// --- librdmacm ---------------------------------------------------------------

int rdma_getaddrinfo(const char* node, const char* service,
                     const rdma_addrinfo* hints, rdma_addrinfo** info) {
  Fake().hints = *hints;
  const int result = CALLED(Text(node), Text(service));
  if (result == 0) *info = &Fake().info;
  return result;
}
void rdma_freeaddrinfo(rdma_addrinfo* info) { (void)CALLED(info); }

rdma_event_channel* rdma_create_event_channel() {
  return Made(&Fake().event_channel, CALLED());
}
void rdma_destroy_event_channel(rdma_event_channel* channel) {
  (void)CALLED(channel);
}
int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  const int result = CALLED(channel);
  if (result == 0) *event = &Fake().event;
  return result;
}
int rdma_ack_cm_event(rdma_cm_event* event) { return CALLED(event); }

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space space) {
  const int result = CALLED(channel, context, int{space});
  if (result == 0) *id = &Fake().id;
  return result;
}
int rdma_destroy_id(rdma_cm_id* id) { return CALLED(id); }
int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  return CALLED(id, channel);
}
int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  return CALLED(id, address);
}
int rdma_listen(rdma_cm_id* id, int backlog) { return CALLED(id, backlog); }
int rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to,
                      int timeout_ms) {
  return CALLED(id, from, to, timeout_ms);
}
int rdma_resolve_route(rdma_cm_id* id, int timeout_ms) {
  return CALLED(id, timeout_ms);
}
int rdma_connect(rdma_cm_id* id, rdma_conn_param* param) {
  return CALLED(id, param);
}
int rdma_accept(rdma_cm_id* id, rdma_conn_param* param) {
  return CALLED(id, param);
}
int rdma_reject(rdma_cm_id* id, const void* data, uint8_t length) {
  return CALLED(id, data, int{length});
}
int rdma_disconnect(rdma_cm_id* id) { return CALLED(id); }

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attr) {
  Fake().qp_attr = *attr;
  const int result = CALLED(id);
  if (result != 0) return result;
  id->qp = &Fake().qp;
  [[maybe_unused]] ibv_qp_ex& extended = Fake().qp_ex;
#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
  const bool writes = (Fake().send_ops & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0;
  extended.wr_atomic_write = writes ? rpma::verbs::WrAtomicWrite : nullptr;
#endif
#ifdef RPMA_HAVE_IBV_WR_FLUSH
  const bool flushes = (Fake().send_ops & IBV_QP_EX_WITH_FLUSH) != 0;
  extended.wr_flush = flushes ? rpma::verbs::WrFlush : nullptr;
#endif
  return result;
}

}  // extern "C"
