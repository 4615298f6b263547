// SPDX-License-Identifier: BSD-3-Clause
// A call of each kind, on objects of a MockTransport.

#ifndef RPMA_TESTS_UNIT_FAULT_EVERY_CALL_H_
#define RPMA_TESTS_UNIT_FAULT_EVERY_CALL_H_

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "backends/fault/call.h"
#include "core/transport.h"
#include "tests/support/mock_transport.h"

namespace rpma::fault {

std::vector<Call> AllCalls();
std::vector<Call> CallsThatCanFail();
std::vector<Call> CallsThatFree();

// How many completions a poll asks for.
inline constexpr int kPollCapacity = 3;

// The mock under the decorator, with an object of each kind and a CM event.
class EveryCall {
 public:
  EveryCall();

  // Makes one call to `transport`, which leads to mock(). Returns what it
  // returned. Expects that out-parameters are written only if it succeeds.
  int Make(Call call, Transport& transport);

  // Says that the CM event is one of the id.
  void AccountEventToId() { event_->id = id_; }

  // How many calls have reached the mock.
  size_t reached() const { return mock_.calls().size() + unrecorded_; }
  test::MockTransport& mock() { return mock_; }

 private:
  int MakeForDevice(Call call, Transport& transport);
  int MakeForQueues(Call call, Transport& transport);
  int MakeForIds(Call call, Transport& transport);

  testing::NiceMock<test::MockTransport> mock_;
  size_t unrecorded_ = 0;  // calls that the mock itself does not record
  ibv_pd* pd_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_comp_channel* comp_channel_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  rdma_addrinfo* info_ = nullptr;
  rdma_event_channel* event_channel_ = nullptr;
  rdma_cm_event* event_ = nullptr;
  rdma_cm_id* id_ = nullptr;
};

}  // namespace rpma::fault

#endif  // RPMA_TESTS_UNIT_FAULT_EVERY_CALL_H_
