// SPDX-License-Identifier: BSD-3-Clause
// A Transport that makes calls again which failed with one certain errno.

#ifndef RPMA_TESTS_UNIT_FAULT_REPEATING_TRANSPORT_H_
#define RPMA_TESTS_UNIT_FAULT_REPEATING_TRANSPORT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/transport.h"

namespace rpma::fault {

class RepeatingTransport final : public Transport {
 public:
  RepeatingTransport(Transport& to, Errno repeated)
      : to_(to), repeated_(repeated) {}

  // How many calls were made again.
  size_t repetitions() const { return repetitions_; }

  Errno PostSend(ibv_qp* qp, ibv_send_wr* wr) override {
    return Make([&] { return to_.PostSend(qp, wr); });
  }
  Errno PostRecv(ibv_qp* qp, ibv_recv_wr* wr) override {
    return Make([&] { return to_.PostRecv(qp, wr); });
  }
  Errno PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr) override {
    return Make([&] { return to_.PostSrqRecv(srq, wr); });
  }
  Errno PostFlush(ibv_qp* qp, const FlushWr& wr) override {
    return Make([&] { return to_.PostFlush(qp, wr); });
  }
  Errno PostAtomicWrite(ibv_qp* qp, const AtomicWriteWr& wr) override {
    return Make([&] { return to_.PostAtomicWrite(qp, wr); });
  }
  int PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) override {
    int polled = 0;
    (void)Make([&] {
      polled = to_.PollCq(cq, capacity, wc);
      return polled == -static_cast<int>(repeated_) ? repeated_ : Errno::kOk;
    });
    return polled;
  }

  Errno QueryDevice(ibv_context* context, DeviceCaps* caps) override {
    return Make([&] { return to_.QueryDevice(context, caps); });
  }
  Errno AllocPd(ibv_context* context, ibv_pd** pd) override {
    return Make([&] { return to_.AllocPd(context, pd); });
  }
  Errno DeallocPd(ibv_pd* pd) override {
    return Make([&] { return to_.DeallocPd(pd); });
  }
  Errno RegMr(ibv_pd* pd, void* addr, size_t length, uint32_t access,
              ibv_mr** mr) override {
    return Make([&] { return to_.RegMr(pd, addr, length, access, mr); });
  }
  Errno DeregMr(ibv_mr* mr) override {
    return Make([&] { return to_.DeregMr(mr); });
  }
  Errno AdviseMr(ibv_mr* mr, size_t offset, uint32_t length, int advice,
                 uint32_t flags) override {
    return Make(
        [&] { return to_.AdviseMr(mr, offset, length, advice, flags); });
  }

  Errno CreateCompChannel(ibv_context* context,
                          ibv_comp_channel** channel) override {
    return Make([&] { return to_.CreateCompChannel(context, channel); });
  }
  Errno DestroyCompChannel(ibv_comp_channel* channel) override {
    return Make([&] { return to_.DestroyCompChannel(channel); });
  }
  Errno CreateCq(ibv_context* context, int cqe, ibv_comp_channel* channel,
                 ibv_cq** cq) override {
    return Make([&] { return to_.CreateCq(context, cqe, channel, cq); });
  }
  Errno DestroyCq(ibv_cq* cq) override {
    return Make([&] { return to_.DestroyCq(cq); });
  }
  Errno ReqNotifyCq(ibv_cq* cq) override {
    return Make([&] { return to_.ReqNotifyCq(cq); });
  }
  Errno GetCqEvent(ibv_comp_channel* channel, ibv_cq** cq) override {
    return Make([&] { return to_.GetCqEvent(channel, cq); });
  }
  void AckCqEvents(ibv_cq* cq, unsigned count) override {
    to_.AckCqEvents(cq, count);
  }
  Errno CreateSrq(ibv_pd* pd, uint32_t max_wr, ibv_srq** srq) override {
    return Make([&] { return to_.CreateSrq(pd, max_wr, srq); });
  }
  Errno DestroySrq(ibv_srq* srq) override {
    return Make([&] { return to_.DestroySrq(srq); });
  }

  int GetAddrInfo(const char* node, const char* service, bool passive,
                  rdma_addrinfo** info) override {
    return static_cast<int>(Make([&] {
      return static_cast<Errno>(to_.GetAddrInfo(node, service, passive, info));
    }));
  }
  void FreeAddrInfo(rdma_addrinfo* info) override { to_.FreeAddrInfo(info); }

  Errno CreateEventChannel(rdma_event_channel** channel) override {
    return Make([&] { return to_.CreateEventChannel(channel); });
  }
  void DestroyEventChannel(rdma_event_channel* channel) override {
    to_.DestroyEventChannel(channel);
  }
  Errno GetCmEvent(rdma_event_channel* channel,
                   rdma_cm_event** event) override {
    return Make([&] { return to_.GetCmEvent(channel, event); });
  }
  Errno AckCmEvent(rdma_cm_event* event) override {
    return Make([&] { return to_.AckCmEvent(event); });
  }
  Errno CreateId(rdma_event_channel* channel, rdma_cm_id** id) override {
    return Make([&] { return to_.CreateId(channel, id); });
  }
  Errno DestroyId(rdma_cm_id* id) override {
    return Make([&] { return to_.DestroyId(id); });
  }
  Errno MigrateId(rdma_cm_id* id, rdma_event_channel* channel) override {
    return Make([&] { return to_.MigrateId(id, channel); });
  }
  Errno BindAddr(rdma_cm_id* id, const rdma_addrinfo& info) override {
    return Make([&] { return to_.BindAddr(id, info); });
  }
  Errno Listen(rdma_cm_id* id, int backlog) override {
    return Make([&] { return to_.Listen(id, backlog); });
  }
  Errno ResolveAddr(rdma_cm_id* id, const rdma_addrinfo& info,
                    int timeout_ms) override {
    return Make([&] { return to_.ResolveAddr(id, info, timeout_ms); });
  }
  Errno ResolveRoute(rdma_cm_id* id, int timeout_ms) override {
    return Make([&] { return to_.ResolveRoute(id, timeout_ms); });
  }
  Errno Connect(rdma_cm_id* id, rdma_conn_param* param) override {
    return Make([&] { return to_.Connect(id, param); });
  }
  Errno Accept(rdma_cm_id* id, rdma_conn_param* param) override {
    return Make([&] { return to_.Accept(id, param); });
  }
  Errno Reject(rdma_cm_id* id, const void* private_data,
               uint8_t private_data_len) override {
    return Make([&] { return to_.Reject(id, private_data, private_data_len); });
  }
  Errno Disconnect(rdma_cm_id* id) override {
    return Make([&] { return to_.Disconnect(id); });
  }
  Errno CreateQp(rdma_cm_id* id, const QpConfig& config,
                 QpCaps* caps) override {
    return Make([&] { return to_.CreateQp(id, config, caps); });
  }
  Errno DestroyQp(rdma_cm_id* id) override {
    return Make([&] { return to_.DestroyQp(id); });
  }

 private:
  template <typename Call>
  Errno Make(Call call) {
    const Errno error = call();
    if (error != repeated_) return error;
    ++repetitions_;
    return call();
  }

  Transport& to_;
  const Errno repeated_;
  std::atomic<size_t> repetitions_ = 0;
};

}  // namespace rpma::fault

#endif  // RPMA_TESTS_UNIT_FAULT_REPEATING_TRANSPORT_H_
