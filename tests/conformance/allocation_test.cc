// SPDX-License-Identifier: BSD-3-Clause
// Only functions that can fail with RPMA_E_NOMEM allocate; all others allocate
// nothing, on success and on failure, and neither does the emulated device
// below them. Failures are logged.

#include <array>
#include <string>

#include "tests/conformance/fixture.h"
#include "tests/support/allocation_counter.h"

namespace rpma::test {
namespace {

constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;

void Ignore(rpma_log_level, const char*, int, const char*, const char*, ...) {}

// Calls `function`, which must return `expected` without having allocated.
template <typename Function>
void ExpectNoAllocation(const char* what, int expected, Function function) {
  const size_t before = AllocationsOfThisThread();
  const int rc = function();
  EXPECT_EQ(AllocationsOfThisThread() - before, 0u) << what;
  EXPECT_THAT(rc, RcIs(expected)) << what;
}

#define EXPECT_NO_ALLOCATION(expected, call) \
  ExpectNoAllocation(#call, expected, [&] { return call; })

class AllocationTest : public ConformanceTest {
 protected:
  // Failures are meant here, and more of them than the log guard has room for.
  void SetUp() override {
    ConformanceTest::SetUp();
    rpma_log_set_function(&Ignore);
    pair_.emplace(ConnectedPair());
    ApplyPeerCfg(client(), kDirectWriteAndNativeFlush);
  }
  void TearDown() override {
    pair_.reset();
    ConformanceTest::TearDown();
  }

  End& client() { return pair_->client; }
  End& server() { return pair_->server; }

 private:
  std::optional<Pair> pair_;
};

INSTANTIATE_TEST_SUITE_P(, AllocationTest, ::testing::ValuesIn(Providers()),
                         ProviderName);
INSTANTIATE_TEST_SUITE_P(Native, AllocationTest,
                         ::testing::ValuesIn(NativeProviders()), ProviderName);

TEST_P(AllocationTest, CounterCounts) {
  const size_t before = AllocationsOfThisThread();
  ::operator delete(::operator new(1));
  EXPECT_EQ(AllocationsOfThisThread() - before, 1u);
}

// --- The data path -----------------------------------------------------------

TEST_P(AllocationTest, RequestsThatSucceed) {
  const End& end = client();
  const int send_with_imm = provider().send_with_imm ? 0 : RPMA_E_PROVIDER;
  const int write_with_imm = provider().write_with_imm ? 0 : RPMA_E_PROVIDER;
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 1; i <= 3; ++i) {
      EXPECT_NO_ALLOCATION(0, server().Recv(i, 0, 8));
    }
    EXPECT_NO_ALLOCATION(0, end.Write(1, 0, 0, 4096));
    EXPECT_NO_ALLOCATION(0, end.Read(2, 0, 0, 4096));
    EXPECT_NO_ALLOCATION(0, end.AtomicWrite(3, 0, 1));
    EXPECT_NO_ALLOCATION(0, end.Flush(4, 0, 8));
    EXPECT_NO_ALLOCATION(0, end.Flush(5, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT));
    EXPECT_NO_ALLOCATION(0, end.Send(6, 0, 8));
    EXPECT_NO_ALLOCATION(send_with_imm, end.SendWithImm(7, 0, 8, 1));
    EXPECT_NO_ALLOCATION(write_with_imm, end.WriteWithImm(8, 0, 0, 8, 1));
    EXPECT_NO_ALLOCATION(0, end.Write(9, 0, 0, 8, RPMA_F_COMPLETION_ON_ERROR));
    ASSERT_TRUE(BecomesReadable(CompletionFd(end.cq)));
    EXPECT_NO_ALLOCATION(0, rpma_cq_wait(end.cq));
    const int with_imm = provider().send_with_imm + provider().write_with_imm;
    for (int i = 0; i < 6 + with_imm; ++i) Poll(end.cq);
    for (int i = 0; i < 1 + with_imm; ++i) Poll(server().cq);
  }
}

TEST_P(AllocationTest, RequestsThatAreInvalid) {
  const End& end = client();
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.Write(1, 4096, 0, 1));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.Write(1, 0, 0, 1, 0));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.WriteWithImm(1, 0, 4096, 1, 1));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.Read(1, 0, 4096, 1));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.AtomicWrite(1, 4, 1));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.Flush(1, 4097, 1));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.Send(1, 0, 4097));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.SendWithImm(1, 0, 4097, 1));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, end.Recv(1, 0, 4097));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL,
                       rpma_srq_recv(nullptr, nullptr, 0, 0, nullptr));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL,
                       rpma_conn_req_recv(nullptr, nullptr, 0, 0, nullptr));
}

TEST_P(AllocationTest, RequestsThatFail) {
  const Peer another_peer = NewClientPeer();
  const Region of_another_peer(another_peer, 64);
  const End& end = client();
  EXPECT_NO_ALLOCATION(0, end.Recv(1, 0, 8));
  EXPECT_NO_ALLOCATION(
      0, rpma_write(end.conn, end.remote, 0, of_another_peer.mr(), 0, 8,
                    kAlways, nullptr));
  EXPECT_NO_ALLOCATION(0, end.Write(2, 0, 0, 8));
  EXPECT_NO_ALLOCATION(0, end.Recv(3, 0, 8));
}

TEST_P(AllocationTest, ReceivesOfRequestsAndSharedQueues) {
  const Region region(client_peer(), 64);
  const ConnReq request = NewRequest(NewPort());
  Srq srq;
  ASSERT_THAT(rpma_srq_new(client_peer(), nullptr, srq.address()), IsOk());
  EXPECT_NO_ALLOCATION(0,
                       rpma_conn_req_recv(request, region.mr(), 0, 8, nullptr));
  EXPECT_NO_ALLOCATION(0, rpma_srq_recv(srq, region.mr(), 0, 8, nullptr));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL,
                       rpma_srq_recv(srq, region.mr(), 60, 8, nullptr));
  EXPECT_NO_ALLOCATION(
      RPMA_E_INVAL, rpma_conn_req_recv(request, region.mr(), 60, 8, nullptr));
  rpma_cq* rcq = nullptr;
  EXPECT_NO_ALLOCATION(0, rpma_srq_get_rcq(srq, &rcq));
}

TEST_P(AllocationTest, Completions) {
  const End& end = client();
  std::array<ibv_wc, 4> wcs;
  int got = 0;
  EXPECT_NO_ALLOCATION(RPMA_E_NO_COMPLETION,
                       rpma_cq_get_wc(end.cq, 4, wcs.data(), &got));
  ASSERT_THAT(end.Write(1, 0, 0, 8), IsOk());
  ASSERT_TRUE(BecomesReadable(CompletionFd(end.cq)));
  EXPECT_NO_ALLOCATION(0, rpma_cq_get_wc(end.cq, 4, wcs.data(), &got));
  EXPECT_NO_ALLOCATION(0, rpma_cq_wait(end.cq));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL,
                       rpma_cq_get_wc(end.cq, 0, wcs.data(), &got));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, rpma_cq_wait(nullptr));
}

TEST_P(AllocationTest, SharedChannel) {
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_compl_channel(cfg, true), IsOk());
  const Pair pair = ConnectedPair({.client_cfg = cfg});
  rpma_cq* cq = nullptr;
  int fd = -1;
  EXPECT_NO_ALLOCATION(0, rpma_conn_get_compl_fd(pair.client.conn, &fd));
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  ASSERT_TRUE(BecomesReadable(fd));
  EXPECT_NO_ALLOCATION(0, rpma_conn_wait(pair.client.conn, 0, &cq, nullptr));
  EXPECT_NO_ALLOCATION(RPMA_E_NOT_SHARED_CHNL,
                       rpma_conn_wait(client().conn, 0, &cq, nullptr));
  EXPECT_NO_ALLOCATION(RPMA_E_SHARED_CHANNEL, rpma_cq_wait(pair.client.cq));
}

// --- Everything else that cannot run out of memory ---------------------------

TEST_P(AllocationTest, GettersOfConnections) {
  const rpma_conn* const conn = client().conn;
  const ConnReq request = NewRequest(NewPort());
  rpma_conn_private_data data = {};
  rpma_cq* cq = nullptr;
  uint32_t qp_num = 0;
  int fd = -1;
  EXPECT_NO_ALLOCATION(0, rpma_conn_get_cq(conn, &cq));
  EXPECT_NO_ALLOCATION(0, rpma_cq_get_fd(cq, &fd));
  EXPECT_NO_ALLOCATION(0, rpma_conn_get_rcq(conn, &cq));
  EXPECT_NO_ALLOCATION(0, rpma_conn_get_qp_num(conn, &qp_num));
  EXPECT_NO_ALLOCATION(0, rpma_conn_get_event_fd(conn, &fd));
  EXPECT_NO_ALLOCATION(0, rpma_conn_get_private_data(conn, &data));
  EXPECT_NO_ALLOCATION(0, rpma_conn_req_get_private_data(request, &data));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, rpma_conn_get_cq(nullptr, &cq));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, rpma_conn_get_qp_num(conn, nullptr));
}

TEST_P(AllocationTest, Regions) {
  const Region region(client_peer(), 4096);
  MrDescriptor descriptor = {};
  size_t size = 0;
  void* ptr = nullptr;
  int flush_type = 0;
  EXPECT_NO_ALLOCATION(0,
                       rpma_mr_get_descriptor(region.mr(), descriptor.data()));
  EXPECT_NO_ALLOCATION(0, rpma_mr_get_descriptor_size(region.mr(), &size));
  EXPECT_NO_ALLOCATION(0, rpma_mr_get_ptr(region.mr(), &ptr));
  EXPECT_NO_ALLOCATION(0, rpma_mr_get_size(region.mr(), &size));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, rpma_mr_get_ptr(nullptr, &ptr));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL,
                       rpma_mr_advise(region.mr(), 0, 4097, 0, 0));
  rpma_mr_remote* const remote = client().remote;
  EXPECT_NO_ALLOCATION(0, rpma_mr_remote_get_size(remote, &size));
  EXPECT_NO_ALLOCATION(0, rpma_mr_remote_get_flush_type(remote, &flush_type));
}

TEST_P(AllocationTest, ConnectionConfigurations) {
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  Srq srq;
  ASSERT_THAT(rpma_srq_new(client_peer(), nullptr, srq.address()), IsOk());
  rpma_srq* got_srq = nullptr;
  uint32_t size = 0;
  bool shared = false;
  int timeout = 0;
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_set_timeout(cfg, 5));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_get_timeout(cfg, &timeout));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_set_cq_size(cfg, 5));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_get_cq_size(cfg, &size));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_set_rcq_size(cfg, 5));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_get_rcq_size(cfg, &size));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_set_sq_size(cfg, 5));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_get_sq_size(cfg, &size));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_set_rq_size(cfg, 5));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_get_rq_size(cfg, &size));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_set_compl_channel(cfg, true));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_get_compl_channel(cfg, &shared));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_set_srq(cfg, srq));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_get_srq(cfg, &got_srq));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, rpma_conn_cfg_set_timeout(cfg, -1));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL, rpma_conn_cfg_set_srq(cfg, nullptr));
  EXPECT_NO_ALLOCATION(0, rpma_conn_cfg_delete(cfg.address()));
}

TEST_P(AllocationTest, OtherConfigurations) {
  SrqCfg srq_cfg;
  ASSERT_THAT(rpma_srq_cfg_new(srq_cfg.address()), IsOk());
  PeerCfg peer_cfg;
  ASSERT_THAT(rpma_peer_cfg_new(peer_cfg.address()), IsOk());
  uint32_t size = 0;
  size_t descriptor_size = 0;
  uint8_t descriptor = 0;
  bool direct = false;
  EXPECT_NO_ALLOCATION(0, rpma_srq_cfg_set_rq_size(srq_cfg, 5));
  EXPECT_NO_ALLOCATION(0, rpma_srq_cfg_get_rq_size(srq_cfg, &size));
  EXPECT_NO_ALLOCATION(0, rpma_srq_cfg_set_rcq_size(srq_cfg, 5));
  EXPECT_NO_ALLOCATION(0, rpma_srq_cfg_get_rcq_size(srq_cfg, &size));
  EXPECT_NO_ALLOCATION(0, rpma_srq_cfg_delete(srq_cfg.address()));
  EXPECT_NO_ALLOCATION(0,
                       rpma_peer_cfg_set_direct_write_to_pmem(peer_cfg, true));
  EXPECT_NO_ALLOCATION(
      0, rpma_peer_cfg_get_direct_write_to_pmem(peer_cfg, &direct));
  EXPECT_NO_ALLOCATION(0, rpma_peer_cfg_get_descriptor(peer_cfg, &descriptor));
  EXPECT_NO_ALLOCATION(
      0, rpma_peer_cfg_get_descriptor_size(peer_cfg, &descriptor_size));
  EXPECT_NO_ALLOCATION(
      0, rpma_conn_apply_remote_peer_cfg(client().conn, peer_cfg));
  EXPECT_NO_ALLOCATION(0, rpma_peer_cfg_delete(peer_cfg.address()));
}

TEST_P(AllocationTest, LogAndNames) {
  rpma_log_level level = RPMA_LOG_DISABLED;
  EXPECT_NO_ALLOCATION(0, rpma_log_get_threshold(RPMA_LOG_THRESHOLD, &level));
  EXPECT_NO_ALLOCATION(0, rpma_log_set_threshold(RPMA_LOG_THRESHOLD, level));
  EXPECT_NO_ALLOCATION(0, rpma_log_set_function(&Ignore));
  EXPECT_NO_ALLOCATION(RPMA_E_INVAL,
                       rpma_log_get_threshold(RPMA_LOG_THRESHOLD, nullptr));
  const size_t before = AllocationsOfThisThread();
  EXPECT_STREQ(rpma_err_2str(0), "Success");
  EXPECT_STREQ(rpma_utils_conn_event_2str(RPMA_CONN_CLOSED),
               "Connection closed");
  EXPECT_EQ(AllocationsOfThisThread() - before, 0u);
}

TEST_P(AllocationTest, EndsOfObjects) {
  Disconnect(ConnectedPair());  // starts the device's thread for timers
  const std::string port = NewPort();
  Endpoint endpoint = Listen(port);
  ConnReq outgoing = NewRequest(port);
  const Conn waiting = Connect(NewRequest(port));
  ConnReq incoming = NextRequest(endpoint);
  Srq srq;
  ASSERT_THAT(rpma_srq_new(client_peer(), nullptr, srq.address()), IsOk());
  LocalMr mr;
  ASSERT_THAT(rpma_mr_reg(client_peer(), client().region->bytes().data(), 8,
                          kAllUsages, mr.address()),
              IsOk());
  Peer peer;
  ASSERT_THAT(rpma_peer_new(context(), peer.address()), IsOk());

  EXPECT_NO_ALLOCATION(0, rpma_conn_disconnect(client().conn));
  EXPECT_NO_ALLOCATION(0, rpma_conn_delete(client().conn.address()));
  EXPECT_NO_ALLOCATION(0, rpma_conn_req_delete(outgoing.address()));
  EXPECT_NO_ALLOCATION(0, rpma_conn_req_delete(incoming.address()));
  EXPECT_NO_ALLOCATION(0, rpma_ep_shutdown(endpoint.address()));
  EXPECT_NO_ALLOCATION(0, rpma_srq_delete(srq.address()));
  EXPECT_NO_ALLOCATION(0, rpma_mr_dereg(mr.address()));
  EXPECT_NO_ALLOCATION(0, rpma_mr_remote_delete(client().remote.address()));
  EXPECT_NO_ALLOCATION(0, rpma_peer_delete(peer.address()));
}

class FullQueuesTest : public AllocationTest {};

INSTANTIATE_TEST_SUITE_P(
    , FullQueuesTest,
    ::testing::ValuesIn(With(&Provider::frees_slots_when_polled, Providers())),
    ProviderName);

TEST_P(FullQueuesTest, RefuseWithoutAllocating) {
  const End& end = client();
  while (end.Write(1, 0, 0, 8, RPMA_F_COMPLETION_ON_ERROR) == 0) continue;
  while (end.Recv(1, 0, 8) == 0) continue;
  EXPECT_NO_ALLOCATION(RPMA_E_PROVIDER, end.Write(1, 0, 0, 8));
  EXPECT_NO_ALLOCATION(RPMA_E_PROVIDER, end.Recv(1, 0, 8));
}

}  // namespace
}  // namespace rpma::test
