// SPDX-License-Identifier: BSD-3-Clause
//
// The boundary: what the entry points do around the core.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>

#include <cerrno>
#include <new>

#include "api/process.h"
#include "tests/support/mock_transport.h"

namespace rpma {
namespace {

using ::testing::Contains;

// The mock, as the transport of everything.
class MockSource : public EmulatorSource {
 public:
  explicit MockSource(Transport* transport) : transport_(transport) {}
  Transport* Selected() override { return transport_; }
  Transport* Default() override { return nullptr; }
  Transport* Of(const ibv_context*) override { return transport_; }

 private:
  Transport* const transport_;
};

class BoundaryTest : public ::testing::Test {
 protected:
  BoundaryTest() {
    RegisterEmulator(&source_);
    EXPECT_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_DISABLED), 0);
    EXPECT_EQ(rpma_peer_new(transport_.context(), &peer_), 0);
  }
  ~BoundaryTest() override {
    EXPECT_EQ(rpma_peer_delete(&peer_), 0);
    RegisterEmulator(nullptr);
  }

  rpma_conn_req* IncomingRequest() {
    rpma_ep* ep = nullptr;
    rpma_conn_req* req = nullptr;
    EXPECT_EQ(rpma_ep_listen(peer_, "host", "1", &ep), 0);
    transport_.QueueConnectRequest();
    EXPECT_EQ(rpma_ep_next_conn_req(ep, nullptr, &req), 0);
    EXPECT_EQ(rpma_ep_shutdown(&ep), 0);
    transport_.ForgetCalls();
    return req;
  }

  ::testing::NiceMock<test::MockTransport> transport_;
  MockSource source_{&transport_};
  rpma_peer* peer_ = nullptr;
};

TEST_F(BoundaryTest, DeletersAcceptNothingButNotNoPointer) {
  rpma_peer* peer = nullptr;
  rpma_conn* conn = nullptr;
  rpma_srq_cfg* cfg = nullptr;
  EXPECT_EQ(rpma_peer_delete(&peer), 0);
  EXPECT_EQ(rpma_conn_delete(&conn), 0);
  EXPECT_EQ(rpma_srq_cfg_delete(&cfg), 0);
  EXPECT_EQ(rpma_peer_delete(nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_conn_delete(nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_srq_cfg_delete(nullptr), RPMA_E_INVAL);
}

TEST_F(BoundaryTest, OutOfMemoryIsACodeAndLeavesTheResultAlone) {
  rpma_conn_req* const untouched = reinterpret_cast<rpma_conn_req*>(8);
  rpma_conn_req* req = untouched;
  EXPECT_CALL(transport_, CreateCq).WillOnce([](auto...) -> Errno {
    throw std::bad_alloc();
  });
  EXPECT_EQ(rpma_conn_req_new(peer_, "host", "1", nullptr, &req), RPMA_E_NOMEM);
  EXPECT_EQ(req, untouched);
  EXPECT_EQ(transport_.live(), 1u);  // the peer's domain
}

TEST_F(BoundaryTest, PeerThatIsBusyKeepsItsHandle) {
  rpma_peer* const before = peer_;
  transport_.FailMethod("DeallocPd", Errno{EBUSY});
  EXPECT_EQ(rpma_peer_delete(&peer_), RPMA_E_PROVIDER);
  EXPECT_EQ(peer_, before);
  transport_.FailMethod("DeallocPd", Errno::kOk);
}

TEST_F(BoundaryTest, ConnectionLosesItsHandleEvenIfDeletingFails) {
  rpma_conn_req* req = nullptr;
  rpma_conn* conn = nullptr;
  ASSERT_EQ(rpma_conn_req_new(peer_, "host", "1", nullptr, &req), 0);
  ASSERT_EQ(rpma_conn_req_connect(&req, nullptr, &conn), 0);
  EXPECT_EQ(req, nullptr);
  transport_.FailMethod("DestroyCq", Errno{EBUSY});
  EXPECT_EQ(rpma_conn_delete(&conn), RPMA_E_PROVIDER);
  EXPECT_EQ(conn, nullptr);
  transport_.FailMethod("DestroyCq", Errno::kOk);
}

TEST_F(BoundaryTest, RequestSurvivesAConnectWithoutRequest) {
  rpma_conn* conn = nullptr;
  rpma_conn_req* req = nullptr;
  EXPECT_EQ(rpma_conn_req_connect(nullptr, nullptr, &conn), RPMA_E_INVAL);
  EXPECT_EQ(rpma_conn_req_connect(&req, nullptr, &conn), RPMA_E_INVAL);
}

TEST_F(BoundaryTest, InvalidArgumentOfConnectRefusesTheRequest) {
  char byte = 0;
  const rpma_conn_private_data no_pointer = {.ptr = nullptr, .len = 1};
  const rpma_conn_private_data no_length = {.ptr = &byte, .len = 0};
  rpma_conn* conn = nullptr;
  const struct {
    const rpma_conn_private_data* pdata;
    rpma_conn** conn_ptr;
  } cases[] = {{nullptr, nullptr}, {&no_pointer, &conn}, {&no_length, &conn}};
  for (const auto& [pdata, conn_ptr] : cases) {
    rpma_conn_req* req = IncomingRequest();
    EXPECT_EQ(rpma_conn_req_connect(&req, pdata, conn_ptr), RPMA_E_INVAL);
    EXPECT_EQ(req, nullptr);
    EXPECT_EQ(conn, nullptr);
    EXPECT_THAT(transport_.calls(), Contains("Reject"));
    EXPECT_EQ(transport_.live(), 1u);
  }
}

TEST_F(BoundaryTest, RequestsWithoutDataNeedBothOrNoRegions) {
  rpma_conn_req* req = nullptr;
  rpma_conn* conn = nullptr;
  ASSERT_EQ(rpma_conn_req_new(peer_, "host", "1", nullptr, &req), 0);
  EXPECT_EQ(rpma_conn_req_recv(req, nullptr, 0, 0, nullptr), RPMA_E_INVAL);
  ASSERT_EQ(rpma_conn_req_connect(&req, nullptr, &conn), 0);
  char bytes[8];
  rpma_mr_local* mr = nullptr;
  ASSERT_EQ(rpma_mr_reg(peer_, bytes, sizeof(bytes), RPMA_MR_USAGE_SEND, &mr),
            0);
  const int always = RPMA_F_COMPLETION_ALWAYS;
  EXPECT_EQ(rpma_write(conn, nullptr, 0, nullptr, 0, 0, always, nullptr), 0);
  EXPECT_EQ(rpma_write(conn, nullptr, 0, mr, 0, 0, always, nullptr),
            RPMA_E_INVAL);
  EXPECT_EQ(rpma_write(conn, nullptr, 1, nullptr, 0, 0, always, nullptr),
            RPMA_E_INVAL);
  EXPECT_EQ(rpma_read(conn, nullptr, 0, nullptr, 0, 1, always, nullptr),
            RPMA_E_INVAL);
  EXPECT_EQ(rpma_send(conn, nullptr, 0, 0, always, nullptr), 0);
  EXPECT_EQ(rpma_send(conn, nullptr, 0, 0, 0, nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_send(conn, nullptr, 0, 1, always, nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_recv(conn, nullptr, 0, 0, nullptr), 0);
  EXPECT_EQ(rpma_recv(conn, nullptr, 1, 0, nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_mr_dereg(&mr), 0);
  EXPECT_EQ(rpma_conn_delete(&conn), 0);
}

}  // namespace
}  // namespace rpma
