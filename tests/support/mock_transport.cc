// SPDX-License-Identifier: BSD-3-Clause
//
// The default behaviour of the mock.

#include "tests/support/mock_transport.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rpma::test {
namespace {

// An event with the private data it points to.
struct CmEvent : rdma_cm_event {
  std::vector<uint8_t> private_data;
};

}  // namespace

MockTransport::MockTransport() {
  context_.device = &device_;
  caps.name = "mock0";
  SetPlainDefaults();
  SetMemoryDefaults();
  SetQueueDefaults();
  SetCmDefaults();
}

MockTransport::~MockTransport() = default;

void MockTransport::FailCall(size_t k, Errno error) {
  calls_until_failure_ = k;
  failure_ = error;
}

void MockTransport::FailMethod(const std::string& method, Errno error) {
  failing_methods_[method] = error;
}

Errno MockTransport::Call(const std::string& method) {
  calls_.push_back(method);
  if (calls_until_failure_ > 0 && --calls_until_failure_ == 0) return failure_;
  const auto failing = failing_methods_.find(method);
  return failing != failing_methods_.end() ? failing->second : Errno::kOk;
}

void MockTransport::Free(const void* object) {
  EXPECT_EQ(objects_.erase(object), 1u) << "destroys what does not exist";
}

void MockTransport::QueueCmEvent(rdma_cm_event_type type,
                                 const std::vector<uint8_t>& private_data) {
  auto* const event = Make<CmEvent>();
  event->event = type;
  event->private_data = private_data;
  event->param.conn.private_data = event->private_data.data();
  event->param.conn.private_data_len =
      static_cast<uint8_t>(private_data.size());
  cm_events_.push_back(event);
}

rdma_cm_id* MockTransport::QueueConnectRequest(
    const std::vector<uint8_t>& private_data) {
  QueueCmEvent(RDMA_CM_EVENT_CONNECT_REQUEST, private_data);
  auto* const id = Make<rdma_cm_id>();
  id->verbs = &context_;
  cm_events_.back()->id = id;
  return id;
}

// Calls without an effect that the core could see.
#define RPMA_RECORD(method)                              \
  ON_CALL(*this, method).WillByDefault([this](auto...) { \
    return Call(#method);                                \
  })

void MockTransport::SetPlainDefaults() {
  RPMA_RECORD(PostSend);
  RPMA_RECORD(PostRecv);
  RPMA_RECORD(PostSrqRecv);
  RPMA_RECORD(PostFlush);
  RPMA_RECORD(PostAtomicWrite);
  RPMA_RECORD(AdviseMr);
  RPMA_RECORD(ReqNotifyCq);
  RPMA_RECORD(MigrateId);
  RPMA_RECORD(Listen);
  RPMA_RECORD(ResolveRoute);
  RPMA_RECORD(Connect);
  RPMA_RECORD(Accept);
  RPMA_RECORD(Reject);
  RPMA_RECORD(Disconnect);
}

#undef RPMA_RECORD

void MockTransport::SetMemoryDefaults() {
  ON_CALL(*this, QueryDevice).WillByDefault([this](auto, DeviceCaps* out) {
    const Errno error = Call("QueryDevice");
    if (error == Errno::kOk) *out = caps;
    return error;
  });
  ON_CALL(*this, AllocPd).WillByDefault([this](ibv_context*, ibv_pd** pd) {
    const Errno error = Call("AllocPd");
    if (error == Errno::kOk) *pd = Make<ibv_pd>();
    return error;
  });
  ON_CALL(*this, DeallocPd).WillByDefault([this](ibv_pd* pd) {
    const Errno error = Call("DeallocPd");
    if (error == Errno::kOk) Free(pd);
    return error;
  });
  ON_CALL(*this, RegMr)
      .WillByDefault(
          [this](ibv_pd* pd, void* addr, size_t length, uint32_t, ibv_mr** mr) {
            const Errno error = Call("RegMr");
            if (error != Errno::kOk) return error;
            *mr = Make<ibv_mr>();
            (*mr)->pd = pd;
            (*mr)->addr = addr;
            (*mr)->length = length;
            (*mr)->lkey = next_number_++;
            (*mr)->rkey = next_number_++;
            return error;
          });
  ON_CALL(*this, DeregMr).WillByDefault([this](ibv_mr* mr) {
    const Errno error = Call("DeregMr");
    if (error == Errno::kOk) Free(mr);
    return error;
  });
}

void MockTransport::SetQueueDefaults() {
  ON_CALL(*this, CreateCompChannel)
      .WillByDefault([this](ibv_context*, ibv_comp_channel** channel) {
        const Errno error = Call("CreateCompChannel");
        if (error != Errno::kOk) return error;
        *channel = Make<ibv_comp_channel>();
        (*channel)->fd = static_cast<int>(next_number_++);
        return error;
      });
  ON_CALL(*this, DestroyCompChannel)
      .WillByDefault([this](ibv_comp_channel* channel) {
        const Errno error = Call("DestroyCompChannel");
        if (error == Errno::kOk) Free(channel);
        return error;
      });
  ON_CALL(*this, CreateCq)
      .WillByDefault([this](ibv_context*, int, ibv_comp_channel*, ibv_cq** cq) {
        const Errno error = Call("CreateCq");
        if (error == Errno::kOk) *cq = Make<ibv_cq>();
        return error;
      });
  ON_CALL(*this, DestroyCq).WillByDefault([this](ibv_cq* cq) {
    const Errno error = Call("DestroyCq");
    if (error == Errno::kOk) Free(cq);
    return error;
  });
  ON_CALL(*this, GetCqEvent)
      .WillByDefault([this](ibv_comp_channel*, ibv_cq** cq) {
        const Errno error = Call("GetCqEvent");
        if (error != Errno::kOk) return error;
        if (cq_events_.empty()) return Errno{EAGAIN};
        *cq = cq_events_.front();
        cq_events_.pop_front();
        return error;
      });
  ON_CALL(*this, CreateSrq).WillByDefault([this](auto, auto, ibv_srq** srq) {
    const Errno error = Call("CreateSrq");
    if (error == Errno::kOk) *srq = Make<ibv_srq>();
    return error;
  });
  ON_CALL(*this, DestroySrq).WillByDefault([this](ibv_srq* srq) {
    const Errno error = Call("DestroySrq");
    if (error == Errno::kOk) Free(srq);
    return error;
  });
  ON_CALL(*this, CreateQp)
      .WillByDefault(
          [this](rdma_cm_id* id, const QpConfig& config, QpCaps* out) {
            const Errno error = Call("CreateQp");
            if (error != Errno::kOk) return error;
            id->qp = Make<ibv_qp>();
            id->qp->qp_num = next_number_++;
            id->qp->srq = config.srq;
            *out = {.atomic_write = config.want_atomic_write,
                    .flush = config.want_flush};
            return error;
          });
  ON_CALL(*this, DestroyQp).WillByDefault([this](rdma_cm_id* id) {
    const Errno error = Call("DestroyQp");
    if (error != Errno::kOk) return error;
    Free(id->qp);
    id->qp = nullptr;
    return error;
  });
}

void MockTransport::SetCmDefaults() {
  ON_CALL(*this, GetAddrInfo)
      .WillByDefault([this](auto, auto, auto, rdma_addrinfo** info) {
        const Errno error = Call("GetAddrInfo");
        if (error == Errno::kOk) *info = Make<rdma_addrinfo>();
        return static_cast<int>(error);
      });
  ON_CALL(*this, FreeAddrInfo).WillByDefault([this](rdma_addrinfo* info) {
    Free(info);
  });
  ON_CALL(*this, CreateEventChannel)
      .WillByDefault([this](rdma_event_channel** channel) {
        const Errno error = Call("CreateEventChannel");
        if (error != Errno::kOk) return error;
        *channel = Make<rdma_event_channel>();
        (*channel)->fd = static_cast<int>(next_number_++);
        return error;
      });
  ON_CALL(*this, DestroyEventChannel)
      .WillByDefault([this](rdma_event_channel* channel) {
        calls_.push_back("DestroyEventChannel");
        Free(channel);
      });
  ON_CALL(*this, GetCmEvent)
      .WillByDefault([this](rdma_event_channel*, rdma_cm_event** event) {
        const Errno error = Call("GetCmEvent");
        if (error != Errno::kOk) return error;
        if (cm_events_.empty()) return Errno{EAGAIN};
        *event = cm_events_.front();
        cm_events_.pop_front();
        return error;
      });
  ON_CALL(*this, AckCmEvent).WillByDefault([this](rdma_cm_event* event) {
    const Errno error = Call("AckCmEvent");
    if (error == Errno::kOk) Free(event);
    return error;
  });
  ON_CALL(*this, CreateId)
      .WillByDefault([this](rdma_event_channel* channel, rdma_cm_id** id) {
        const Errno error = Call("CreateId");
        if (error != Errno::kOk) return error;
        *id = Make<rdma_cm_id>();
        (*id)->channel = channel;
        return error;
      });
  ON_CALL(*this, DestroyId).WillByDefault([this](rdma_cm_id* id) {
    const Errno error = Call("DestroyId");
    if (error == Errno::kOk) Free(id);
    return error;
  });
  ON_CALL(*this, BindAddr).WillByDefault([this](rdma_cm_id* id, auto&) {
    const Errno error = Call("BindAddr");
    if (error == Errno::kOk) id->verbs = &context_;
    return error;
  });
  ON_CALL(*this, ResolveAddr)
      .WillByDefault([this](rdma_cm_id* id, auto&, auto) {
        const Errno error = Call("ResolveAddr");
        if (error == Errno::kOk) id->verbs = &context_;
        return error;
      });
}

}  // namespace rpma::test
