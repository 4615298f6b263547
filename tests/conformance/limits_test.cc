// SPDX-License-Identifier: BSD-3-Clause
// What happens at the limits of a device and of the process.

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/fixture.h"
#include "tests/support/side.h"

namespace rpma::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LimitsTest : public ConformanceTest {
 protected:
  static constexpr const char* kSmallAddress = "10.77.0.3";

  // A device with narrow limits.
  void Extend(Emulation& emulation) override {
    emulation.AddDevice("small",
                        std::string("profile=") + provider().name +
                            " max_cqe=16 max_qp_wr=8 max_srq_wr=4"
                            " max_mr_size=65536 cq_rounding=exact",
                        kSmallAddress);
  }
  void SetUp() override {
    ConformanceTest::SetUp();
    ibv_context* context = nullptr;
    ASSERT_THAT(rpma_utils_get_ibv_context(
                    kSmallAddress, RPMA_UTIL_IBV_CONTEXT_LOCAL, &context),
                IsOk());
    ASSERT_THAT(rpma_peer_new(context, small_peer_.address()), IsOk());
    ASSERT_THAT(rpma_conn_cfg_new(cfg_.address()), IsOk());
    ASSERT_THAT(rpma_conn_cfg_set_sq_size(cfg_, 8), IsOk());
    ASSERT_THAT(rpma_conn_cfg_set_rq_size(cfg_, 8), IsOk());
  }
  void TearDown() override {
    cfg_.reset();
    small_peer_.reset();
    ConformanceTest::TearDown();
  }

  rpma_peer* small_peer() const { return small_peer_; }
  // Sizes that the device allows; tests change one.
  rpma_conn_cfg* cfg() const { return cfg_; }

  int RequestWithCfg() {
    ConnReq request;
    return rpma_conn_req_new(small_peer_, kSmallAddress, "7204", cfg_,
                             request.address());
  }

 private:
  Peer small_peer_;
  ConnCfg cfg_;
};

INSTANTIATE_TEST_SUITE_P(, LimitsTest, ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(LimitsTest, CompletionQueueBeyondTheDeviceIsRefused) {
  ASSERT_THAT(rpma_conn_cfg_set_cq_size(cfg(), 16), IsOk());
  EXPECT_THAT(RequestWithCfg(), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_cq_size(cfg(), 17), IsOk());
  EXPECT_THAT(RequestWithCfg(), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(AllOf(HasSubstr("ibv_create_cq"), HasSubstr("17"),
                                HasSubstr("16"))));
}

TEST_P(LimitsTest, ReceiveCompletionQueueBeyondTheDeviceIsRefused) {
  ASSERT_THAT(rpma_conn_cfg_set_rcq_size(cfg(), UINT32_MAX), IsOk());
  EXPECT_THAT(RequestWithCfg(), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(AllOf(HasSubstr("ibv_create_cq"),
                                HasSubstr("2147483647"), HasSubstr("16"))));
}

TEST_P(LimitsTest, CompletionQueueWithoutEntriesIsRefused) {
  ASSERT_THAT(rpma_conn_cfg_set_cq_size(cfg(), 0), IsOk());
  EXPECT_THAT(RequestWithCfg(), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_create_cq")));
}

TEST_P(LimitsTest, SendQueueBeyondTheDeviceIsRefused) {
  EXPECT_THAT(RequestWithCfg(), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_sq_size(cfg(), 9), IsOk());
  EXPECT_THAT(RequestWithCfg(), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(AllOf(HasSubstr("rdma_create_qp"), HasSubstr("9"),
                                HasSubstr("8"))));
}

TEST_P(LimitsTest, ReceiveQueueBeyondTheDeviceIsRefused) {
  ASSERT_THAT(rpma_conn_cfg_set_rq_size(cfg(), 9), IsOk());
  EXPECT_THAT(RequestWithCfg(), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("rdma_create_qp")));
}

TEST_P(LimitsTest, RequestThatCannotBePreparedIsRejected) {
  const std::string port = NewPort();
  Endpoint endpoint;
  ASSERT_THAT(rpma_ep_listen(small_peer(), kSmallAddress, port.c_str(),
                             endpoint.address()),
              IsOk());
  ConnReq request;
  ASSERT_THAT(rpma_conn_req_new(small_peer(), kSmallAddress, port.c_str(),
                                cfg(), request.address()),
              IsOk());
  const Conn client = Connect(std::move(request));
  ASSERT_THAT(rpma_conn_cfg_set_cq_size(cfg(), 17), IsOk());
  rpma_conn_req* incoming = nullptr;
  EXPECT_THAT(rpma_ep_next_conn_req(endpoint, cfg(), &incoming),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(incoming, nullptr);
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_create_cq")));
  EXPECT_EQ(NextEvent(client), RPMA_CONN_REJECTED);
}

TEST_P(LimitsTest, SharedReceiveQueueBeyondTheDeviceIsRefused) {
  SrqCfg cfg;
  ASSERT_THAT(rpma_srq_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_srq_cfg_set_rcq_size(cfg, 4), IsOk());
  ASSERT_THAT(rpma_srq_cfg_set_rq_size(cfg, 4), IsOk());
  Srq srq;
  ASSERT_THAT(rpma_srq_new(small_peer(), cfg, srq.address()), IsOk());

  Srq refused;
  ASSERT_THAT(rpma_srq_cfg_set_rq_size(cfg, 5), IsOk());
  EXPECT_THAT(rpma_srq_new(small_peer(), cfg, refused.address()),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(AllOf(HasSubstr("ibv_create_srq"), HasSubstr("5"),
                                HasSubstr("4"))));
  ASSERT_THAT(rpma_srq_cfg_set_rq_size(cfg, 4), IsOk());
  ASSERT_THAT(rpma_srq_cfg_set_rcq_size(cfg, 17), IsOk());
  EXPECT_THAT(rpma_srq_new(small_peer(), cfg, refused.address()),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_create_cq")));
  EXPECT_EQ(refused, nullptr);
}

TEST_P(LimitsTest, RegionBeyondTheDeviceIsRefused) {
  std::vector<char> bytes(65537);
  LocalMr mr;
  EXPECT_THAT(
      rpma_mr_reg(small_peer(), bytes.data(), 65537, kAllUsages, mr.address()),
      RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(mr, nullptr);
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(AllOf(HasSubstr("ibv_reg_mr"), HasSubstr("65537"))));
  EXPECT_THAT(
      rpma_mr_reg(small_peer(), bytes.data(), 65536, kAllUsages, mr.address()),
      IsOk());
}

TEST_P(LimitsTest, FullReceiveQueueOfARequestRefusesMore) {
  const Region region(client_peer(), 64);
  ASSERT_THAT(rpma_conn_cfg_set_rq_size(cfg(), 2), IsOk());
  const ConnReq request = NewRequest(NewPort(), cfg());
  EXPECT_THAT(rpma_conn_req_recv(request, region.mr(), 0, 8, nullptr), IsOk());
  EXPECT_THAT(rpma_conn_req_recv(request, region.mr(), 0, 8, nullptr), IsOk());
  EXPECT_THAT(rpma_conn_req_recv(request, region.mr(), 0, 8, nullptr),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("ibv_post_recv")));
}

// --- Descriptors of the process ----------------------------------------------

// Lets the process of an object open only `count` more descriptors, while it
// lives.
class DescriptorLimit {
 public:
  DescriptorLimit(const void* object, size_t count)
      : process_(IsInOtherProcess(object) ? other_process->id() : getpid()) {
    EXPECT_EQ(prlimit(process_, RLIMIT_NOFILE, nullptr, &previous_), 0);
    rlimit limit = previous_;
    limit.rlim_cur = CountDescriptors() + count;
    EXPECT_EQ(prlimit(process_, RLIMIT_NOFILE, &limit, nullptr), 0);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { prlimit(process_, RLIMIT_NOFILE, &previous_, nullptr); }

 private:
  size_t CountDescriptors() const {
    const std::filesystem::directory_iterator entries(
        "/proc/" + std::to_string(process_) + "/fd");
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }

  const pid_t process_;
  rlimit previous_ = {};
};

TEST_P(LimitsTest, ConnectionsEndWhenDescriptorsRunOut) {
  const std::string port = NewPort();  // nobody listens, which is all the same
  const CensusGuard guard(fabric());
  const DescriptorLimit limit(client_peer(), 64);
  std::vector<Conn> conns;
  int rc = 0;
  while (rc == 0) {
    ConnReq request;
    rc = rpma_conn_req_new(client_peer(), address(), port.c_str(), nullptr,
                           request.address());
    if (rc != 0) break;
    Conn conn;
    rc = rpma_conn_req_connect(request.address(), nullptr, conn.address());
    EXPECT_EQ(request, nullptr);
    if (rc == 0) conns.push_back(std::move(conn));
  }
  EXPECT_THAT(rc, RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(HasSubstr("Too many open files")));
  EXPECT_GT(conns.size(), 10u);
}

TEST_P(LimitsTest, AcceptingGoesOnOnceDescriptorsAreFree) {
  const std::string port = NewPort();
  const Endpoint endpoint = Listen(port);
  std::vector<Conn> clients;
  std::vector<ConnReq> incoming;
  for (int i = 0; i < 32; ++i) clients.push_back(Connect(NewRequest(port)));

  int rc = 0;
  {
    const DescriptorLimit limit(endpoint, 16);
    while (rc == 0) {
      ConnReq request;
      rc = rpma_ep_next_conn_req(endpoint, nullptr, request.address());
      if (rc == 0) incoming.push_back(std::move(request));
    }
  }
  EXPECT_THAT(rc, RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(),
              ElementsAre(HasSubstr("Too many open files")));
  ASSERT_LT(incoming.size(), clients.size());
  EXPECT_EQ(NextEvent(clients[incoming.size()]), RPMA_CONN_REJECTED);
  NextRequest(endpoint);  // of the next client
}

}  // namespace
}  // namespace rpma::test
