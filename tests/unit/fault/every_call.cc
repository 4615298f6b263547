// SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/fault/every_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace rpma::fault {
namespace {

template <typename Predicate>
std::vector<Call> CallsThat(Predicate predicate) {
  std::vector<Call> calls;
  for (size_t i = 0; i < kCalls; ++i) {
    if (predicate(static_cast<Call>(i))) calls.push_back(static_cast<Call>(i));
  }
  return calls;
}

// Runs `create`, a function from Handle** to Errno.
template <typename Handle, typename Create>
int Created(Create create) {
  static Handle untouched{};
  Handle* handle = &untouched;
  const Errno error = create(&handle);
  EXPECT_EQ(handle == &untouched, error != Errno::kOk);
  return static_cast<int>(error);
}

}  // namespace

std::vector<Call> AllCalls() {
  return CallsThat([](Call) { return true; });
}

std::vector<Call> CallsThatCanFail() { return CallsThat(CanFail); }

std::vector<Call> CallsThatFree() {
  return CallsThat([](Call call) { return CanFail(call) && Frees(call); });
}

EveryCall::EveryCall() {
  using testing::_;
  (void)mock_.AllocPd(mock_.context(), &pd_);
  (void)mock_.RegMr(pd_, this, 1, 0, &mr_);
  (void)mock_.CreateCompChannel(mock_.context(), &comp_channel_);
  (void)mock_.CreateCq(mock_.context(), 1, comp_channel_, &cq_);
  (void)mock_.CreateSrq(pd_, 1, &srq_);
  (void)mock_.GetAddrInfo(nullptr, nullptr, false, &info_);
  (void)mock_.CreateEventChannel(&event_channel_);
  (void)mock_.CreateId(event_channel_, &id_);
  QpCaps caps;
  (void)mock_.CreateQp(id_, {}, &caps);
  mock_.QueueCmEvent(RDMA_CM_EVENT_ESTABLISHED);
  (void)mock_.GetCmEvent(event_channel_, &event_);
  mock_.QueueCmEvent(RDMA_CM_EVENT_DISCONNECTED);
  mock_.QueueCqEvent(cq_);
  mock_.ForgetCalls();
  ON_CALL(mock_, PollCq).WillByDefault([this](auto, int capacity, auto) {
    ++unrecorded_;
    return capacity;
  });
  ON_CALL(mock_, AckCqEvents).WillByDefault([this](auto...) { ++unrecorded_; });
  ON_CALL(mock_, FreeAddrInfo).WillByDefault([this](auto...) {
    ++unrecorded_;
  });
}

int EveryCall::Make(Call call, Transport& transport) {
  if (call < Call::kCreateCompChannel && call > Call::kPollCq) {
    return MakeForDevice(call, transport);
  }
  return call < Call::kGetAddrInfo || call == Call::kAckCqEvents
             ? MakeForQueues(call, transport)
             : MakeForIds(call, transport);
}

int EveryCall::MakeForDevice(Call call, Transport& to) {
  DeviceCaps caps;
  switch (call) {
    case Call::kQueryDevice:
      return static_cast<int>(to.QueryDevice(mock_.context(), &caps));
    case Call::kAllocPd:
      return Created<ibv_pd>(
          [&](auto** out) { return to.AllocPd(mock_.context(), out); });
    case Call::kDeallocPd:
      return static_cast<int>(to.DeallocPd(pd_));
    case Call::kRegMr:
      return Created<ibv_mr>(
          [&](auto** out) { return to.RegMr(pd_, this, 1, 0, out); });
    case Call::kDeregMr:
      return static_cast<int>(to.DeregMr(mr_));
    case Call::kAdviseMr:
      return static_cast<int>(to.AdviseMr(mr_, 0, 1, 0, 0));
    default:
      ADD_FAILURE();
      return 0;
  }
}

int EveryCall::MakeForQueues(Call call, Transport& to) {
  ibv_send_wr send{};
  ibv_recv_wr receive{};
  ibv_wc wc[kPollCapacity + 1];
  switch (call) {
    case Call::kPostSend:
      return static_cast<int>(to.PostSend(id_->qp, &send));
    case Call::kPostRecv:
      return static_cast<int>(to.PostRecv(id_->qp, &receive));
    case Call::kPostSrqRecv:
      return static_cast<int>(to.PostSrqRecv(srq_, &receive));
    case Call::kPostFlush:
      return static_cast<int>(to.PostFlush(id_->qp, {}));
    case Call::kPostAtomicWrite:
      return static_cast<int>(to.PostAtomicWrite(id_->qp, {}));
    case Call::kPollCq: {
      const int polled = to.PollCq(cq_, kPollCapacity, wc);
      return polled == kPollCapacity ? 0 : polled;
    }
    case Call::kCreateCompChannel:
      return Created<ibv_comp_channel>([&](auto** out) {
        return to.CreateCompChannel(mock_.context(), out);
      });
    case Call::kDestroyCompChannel:
      return static_cast<int>(to.DestroyCompChannel(comp_channel_));
    case Call::kCreateCq:
      return Created<ibv_cq>([&](auto** out) {
        return to.CreateCq(mock_.context(), 1, comp_channel_, out);
      });
    case Call::kDestroyCq:
      return static_cast<int>(to.DestroyCq(cq_));
    case Call::kReqNotifyCq:
      return static_cast<int>(to.ReqNotifyCq(cq_));
    case Call::kGetCqEvent:
      return Created<ibv_cq>(
          [&](auto** out) { return to.GetCqEvent(comp_channel_, out); });
    case Call::kAckCqEvents:
      to.AckCqEvents(cq_, 1);
      return 0;
    case Call::kCreateSrq:
      return Created<ibv_srq>(
          [&](auto** out) { return to.CreateSrq(pd_, 1, out); });
    case Call::kDestroySrq:
      return static_cast<int>(to.DestroySrq(srq_));
    default:
      ADD_FAILURE();
      return 0;
  }
}

int EveryCall::MakeForIds(Call call, Transport& to) {
  rdma_conn_param param{};
  QpCaps caps;
  switch (call) {
    case Call::kGetAddrInfo:
      return Created<rdma_addrinfo>([&](auto** out) {
        return static_cast<Errno>(to.GetAddrInfo("host", "7204", false, out));
      });
    case Call::kFreeAddrInfo:
      to.FreeAddrInfo(info_);
      return 0;
    case Call::kCreateEventChannel:
      return Created<rdma_event_channel>(
          [&](auto** out) { return to.CreateEventChannel(out); });
    case Call::kDestroyEventChannel:
      to.DestroyEventChannel(event_channel_);
      return 0;
    case Call::kGetCmEvent:
      return Created<rdma_cm_event>(
          [&](auto** out) { return to.GetCmEvent(event_channel_, out); });
    case Call::kAckCmEvent:
      return static_cast<int>(to.AckCmEvent(event_));
    case Call::kCreateId:
      return Created<rdma_cm_id>(
          [&](auto** out) { return to.CreateId(event_channel_, out); });
    case Call::kDestroyId:
      return static_cast<int>(to.DestroyId(id_));
    case Call::kMigrateId:
      return static_cast<int>(to.MigrateId(id_, event_channel_));
    case Call::kBindAddr:
      return static_cast<int>(to.BindAddr(id_, *info_));
    case Call::kListen:
      return static_cast<int>(to.Listen(id_, 0));
    case Call::kResolveAddr:
      return static_cast<int>(to.ResolveAddr(id_, *info_, 1));
    case Call::kResolveRoute:
      return static_cast<int>(to.ResolveRoute(id_, 1));
    case Call::kConnect:
      return static_cast<int>(to.Connect(id_, &param));
    case Call::kAccept:
      return static_cast<int>(to.Accept(id_, &param));
    case Call::kReject:
      return static_cast<int>(to.Reject(id_, nullptr, 0));
    case Call::kDisconnect:
      return static_cast<int>(to.Disconnect(id_));
    case Call::kCreateQp:
      return static_cast<int>(to.CreateQp(id_, {}, &caps));
    case Call::kDestroyQp:
      return static_cast<int>(to.DestroyQp(id_));
    default:
      ADD_FAILURE();
      return 0;
  }
}

}  // namespace rpma::fault
