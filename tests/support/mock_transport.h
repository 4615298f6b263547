// SPDX-License-Identifier: BSD-3-Clause
//
// The GoogleMock of the seam, for tests in which a provider call is the
// requirement.

#ifndef RPMA_TESTS_SUPPORT_MOCK_TRANSPORT_H_
#define RPMA_TESTS_SUPPORT_MOCK_TRANSPORT_H_

#include <gmock/gmock.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/transport.h"

namespace rpma::test {

// By default every call succeeds: creating calls make a new object, destroying
// ones free it, so that a double or a missing destruction shows. Nothing is
// transferred. Calls are recorded in order, by method name.
class MockTransport : public Transport {
 public:
  MockTransport();
  ~MockTransport() override;

  MOCK_METHOD(Errno, PostSend, (ibv_qp*, ibv_send_wr*), (override));
  MOCK_METHOD(Errno, PostRecv, (ibv_qp*, ibv_recv_wr*), (override));
  MOCK_METHOD(Errno, PostSrqRecv, (ibv_srq*, ibv_recv_wr*), (override));
  MOCK_METHOD(Errno, PostFlush, (ibv_qp*, const FlushWr&), (override));
  MOCK_METHOD(Errno, PostAtomicWrite, (ibv_qp*, const AtomicWriteWr&),
              (override));
  MOCK_METHOD(int, PollCq, (ibv_cq*, int, ibv_wc*), (override));
  MOCK_METHOD(Errno, QueryDevice, (ibv_context*, DeviceCaps*), (override));
  MOCK_METHOD(Errno, AllocPd, (ibv_context*, ibv_pd**), (override));
  MOCK_METHOD(Errno, DeallocPd, (ibv_pd*), (override));
  MOCK_METHOD(Errno, RegMr, (ibv_pd*, void*, size_t, uint32_t, ibv_mr**),
              (override));
  MOCK_METHOD(Errno, DeregMr, (ibv_mr*), (override));
  MOCK_METHOD(Errno, AdviseMr, (ibv_mr*, size_t, uint32_t, int, uint32_t),
              (override));
  MOCK_METHOD(Errno, CreateCompChannel, (ibv_context*, ibv_comp_channel**),
              (override));
  MOCK_METHOD(Errno, DestroyCompChannel, (ibv_comp_channel*), (override));
  MOCK_METHOD(Errno, CreateCq, (ibv_context*, int, ibv_comp_channel*, ibv_cq**),
              (override));
  MOCK_METHOD(Errno, DestroyCq, (ibv_cq*), (override));
  MOCK_METHOD(Errno, ReqNotifyCq, (ibv_cq*), (override));
  MOCK_METHOD(Errno, GetCqEvent, (ibv_comp_channel*, ibv_cq**), (override));
  MOCK_METHOD(void, AckCqEvents, (ibv_cq*, unsigned), (override));
  MOCK_METHOD(Errno, CreateSrq, (ibv_pd*, uint32_t, ibv_srq**), (override));
  MOCK_METHOD(Errno, DestroySrq, (ibv_srq*), (override));
  MOCK_METHOD(int, GetAddrInfo,
              (const char*, const char*, bool, rdma_addrinfo**), (override));
  MOCK_METHOD(void, FreeAddrInfo, (rdma_addrinfo*), (override));
  MOCK_METHOD(const char*, WhyNoDevice, (), (const, override));
  MOCK_METHOD(Errno, CreateEventChannel, (rdma_event_channel**), (override));
  MOCK_METHOD(void, DestroyEventChannel, (rdma_event_channel*), (override));
  MOCK_METHOD(Errno, GetCmEvent, (rdma_event_channel*, rdma_cm_event**),
              (override));
  MOCK_METHOD(Errno, AckCmEvent, (rdma_cm_event*), (override));
  MOCK_METHOD(Errno, CreateId, (rdma_event_channel*, rdma_cm_id**), (override));
  MOCK_METHOD(Errno, DestroyId, (rdma_cm_id*), (override));
  MOCK_METHOD(Errno, MigrateId, (rdma_cm_id*, rdma_event_channel*), (override));
  MOCK_METHOD(Errno, BindAddr, (rdma_cm_id*, const rdma_addrinfo&), (override));
  MOCK_METHOD(Errno, Listen, (rdma_cm_id*, int), (override));
  MOCK_METHOD(Errno, ResolveAddr, (rdma_cm_id*, const rdma_addrinfo&, int),
              (override));
  MOCK_METHOD(Errno, ResolveRoute, (rdma_cm_id*, int), (override));
  MOCK_METHOD(Errno, Connect, (rdma_cm_id*, rdma_conn_param*), (override));
  MOCK_METHOD(Errno, Accept, (rdma_cm_id*, rdma_conn_param*), (override));
  MOCK_METHOD(Errno, Reject, (rdma_cm_id*, const void*, uint8_t), (override));
  MOCK_METHOD(Errno, Disconnect, (rdma_cm_id*), (override));
  MOCK_METHOD(Errno, CreateQp, (rdma_cm_id*, const QpConfig&, QpCaps*),
              (override));
  MOCK_METHOD(Errno, DestroyQp, (rdma_cm_id*), (override));

  // The only device, which every address leads to, and what QueryDevice() says
  // of it. A QP has all the operations that are wanted of it.
  ibv_context* context() { return &context_; }
  DeviceCaps caps;

  // Queues an event that GetCmEvent() delivers; without any it says EAGAIN.
  void QueueCmEvent(rdma_cm_event_type type,
                    const std::vector<uint8_t>& private_data = {});
  // The same for a connection request, which brings a new id.
  rdma_cm_id* QueueConnectRequest(
      const std::vector<uint8_t>& private_data = {});
  // Queues an event of `cq` that GetCqEvent() delivers.
  void QueueCqEvent(ibv_cq* cq) { cq_events_.push_back(cq); }

  // Makes the k-th call from now on, from 1, fail without effect. Calls that
  // cannot fail are not counted.
  void FailCall(size_t k, Errno error);
  // Makes every call of one method fail without effect; kOk ends that.
  void FailMethod(const std::string& method, Errno error);

  // What was called since the last ForgetCalls().
  const std::vector<std::string>& calls() const { return calls_; }
  void ForgetCalls() { calls_.clear(); }

  // How many objects and unacknowledged events exist.
  size_t live() const { return objects_.size(); }

 private:
  void SetPlainDefaults();
  void SetMemoryDefaults();
  void SetQueueDefaults();
  void SetCmDefaults();

  // Records the call and decides its outcome.
  Errno Call(const std::string& method);

  template <typename T>
  T* Make() {
    auto object = std::make_shared<T>();
    objects_[object.get()] = object;
    return object.get();
  }
  // Frees an object, which must exist.
  void Free(const void* object);

  ibv_device device_ = {};
  ibv_context context_ = {};
  std::map<const void*, std::shared_ptr<void>> objects_;
  std::vector<std::string> calls_;
  size_t calls_until_failure_ = 0;  // 0: none
  Errno failure_ = Errno::kOk;
  std::map<std::string, Errno> failing_methods_;
  std::deque<rdma_cm_event*> cm_events_;
  std::deque<ibv_cq*> cq_events_;
  uint32_t next_number_ = 100;  // of keys, descriptors and QPs
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_MOCK_TRANSPORT_H_
