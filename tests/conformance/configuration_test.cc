// SPDX-License-Identifier: BSD-3-Clause
// The configurations of connections, of shared receive queues and of peers.
// They are values without a provider.

#include <climits>
#include <cstdint>

#include "tests/support/handle.h"
#include "tests/support/log_guard.h"

namespace rpma::test {
namespace {

class ConfigurationTest : public ::testing::Test {
 protected:
  LogGuard log_;
};

class ConnCfgTest : public ConfigurationTest {
 protected:
  void SetUp() override {
    ASSERT_THAT(rpma_conn_cfg_new(cfg_.address()), IsOk());
  }

  ConnCfg cfg_;
};

TEST_F(ConnCfgTest, HasTheDefaultsOfThePage) {
  int timeout_ms = 0;
  uint32_t cq_size = 0, rcq_size = 1, sq_size = 0, rq_size = 0;
  bool shared = true;
  int something = 0;
  rpma_srq* srq = reinterpret_cast<rpma_srq*>(&something);
  EXPECT_THAT(rpma_conn_cfg_get_timeout(cfg_, &timeout_ms), IsOk());
  EXPECT_THAT(rpma_conn_cfg_get_cq_size(cfg_, &cq_size), IsOk());
  EXPECT_THAT(rpma_conn_cfg_get_rcq_size(cfg_, &rcq_size), IsOk());
  EXPECT_THAT(rpma_conn_cfg_get_sq_size(cfg_, &sq_size), IsOk());
  EXPECT_THAT(rpma_conn_cfg_get_rq_size(cfg_, &rq_size), IsOk());
  EXPECT_THAT(rpma_conn_cfg_get_compl_channel(cfg_, &shared), IsOk());
  EXPECT_THAT(rpma_conn_cfg_get_srq(cfg_, &srq), IsOk());
  EXPECT_EQ(timeout_ms, 1000);
  EXPECT_EQ(cq_size, 10u);
  EXPECT_EQ(rcq_size, 0u);
  EXPECT_EQ(sq_size, 10u);
  EXPECT_EQ(rq_size, 10u);
  EXPECT_FALSE(shared);
  EXPECT_EQ(srq, nullptr);
}

TEST_F(ConnCfgTest, KeepsWhatIsSet) {
  int something = 0;
  rpma_srq* const srq = reinterpret_cast<rpma_srq*>(&something);
  ASSERT_THAT(rpma_conn_cfg_set_timeout(cfg_, INT_MAX), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_cq_size(cfg_, 1), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_rcq_size(cfg_, UINT32_MAX), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_sq_size(cfg_, 3), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_rq_size(cfg_, 0), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_compl_channel(cfg_, true), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_srq(cfg_, srq), IsOk());

  int timeout_ms = 0;
  uint32_t cq_size = 0, rcq_size = 0, sq_size = 0, rq_size = 1;
  bool shared = false;
  rpma_srq* got = nullptr;
  ASSERT_THAT(rpma_conn_cfg_get_timeout(cfg_, &timeout_ms), IsOk());
  ASSERT_THAT(rpma_conn_cfg_get_cq_size(cfg_, &cq_size), IsOk());
  ASSERT_THAT(rpma_conn_cfg_get_rcq_size(cfg_, &rcq_size), IsOk());
  ASSERT_THAT(rpma_conn_cfg_get_sq_size(cfg_, &sq_size), IsOk());
  ASSERT_THAT(rpma_conn_cfg_get_rq_size(cfg_, &rq_size), IsOk());
  ASSERT_THAT(rpma_conn_cfg_get_compl_channel(cfg_, &shared), IsOk());
  ASSERT_THAT(rpma_conn_cfg_get_srq(cfg_, &got), IsOk());
  EXPECT_EQ(timeout_ms, INT_MAX);
  EXPECT_EQ(cq_size, 1u);
  EXPECT_EQ(rcq_size, UINT32_MAX);
  EXPECT_EQ(sq_size, 3u);
  EXPECT_EQ(rq_size, 0u);
  EXPECT_TRUE(shared);
  EXPECT_EQ(got, srq);
}

TEST_F(ConnCfgTest, TimeoutIsZeroOrMore) {
  EXPECT_THAT(rpma_conn_cfg_set_timeout(cfg_, 0), IsOk());
  EXPECT_THAT(rpma_conn_cfg_set_timeout(cfg_, -1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_timeout(cfg_, INT_MIN), RcIs(RPMA_E_INVAL));
  log_.Discard();
  int timeout_ms = -1;
  ASSERT_THAT(rpma_conn_cfg_get_timeout(cfg_, &timeout_ms), IsOk());
  EXPECT_EQ(timeout_ms, 0);
}

TEST_F(ConnCfgTest, NullArgumentsAreInvalid) {
  int timeout_ms = 0;
  uint32_t size = 0;
  bool shared = false;
  rpma_srq* srq = nullptr;
  EXPECT_THAT(rpma_conn_cfg_new(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_delete(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_timeout(nullptr, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_cq_size(nullptr, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_rcq_size(nullptr, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_sq_size(nullptr, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_rq_size(nullptr, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_compl_channel(nullptr, true),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_srq(nullptr, srq), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_set_srq(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_timeout(nullptr, &timeout_ms),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_timeout(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_cq_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_cq_size(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_rcq_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_rcq_size(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_sq_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_sq_size(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_rq_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_rq_size(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_compl_channel(nullptr, &shared),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_compl_channel(cfg_, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_srq(nullptr, &srq), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_conn_cfg_get_srq(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  log_.Discard();
}

TEST_F(ConnCfgTest, DeleteClearsTheHandle) {
  ASSERT_THAT(rpma_conn_cfg_delete(cfg_.address()), IsOk());
  EXPECT_EQ(cfg_, nullptr);
  EXPECT_THAT(rpma_conn_cfg_delete(cfg_.address()), IsOk());
}

class SrqCfgTest : public ConfigurationTest {
 protected:
  void SetUp() override {
    ASSERT_THAT(rpma_srq_cfg_new(cfg_.address()), IsOk());
  }

  SrqCfg cfg_;
};

TEST_F(SrqCfgTest, HasTheDefaultsOfThePage) {
  uint32_t rq_size = 0, rcq_size = 0;
  EXPECT_THAT(rpma_srq_cfg_get_rq_size(cfg_, &rq_size), IsOk());
  EXPECT_THAT(rpma_srq_cfg_get_rcq_size(cfg_, &rcq_size), IsOk());
  EXPECT_EQ(rq_size, 100u);
  EXPECT_EQ(rcq_size, 100u);
}

TEST_F(SrqCfgTest, KeepsWhatIsSet) {
  ASSERT_THAT(rpma_srq_cfg_set_rq_size(cfg_, 7), IsOk());
  ASSERT_THAT(rpma_srq_cfg_set_rcq_size(cfg_, 0), IsOk());
  uint32_t rq_size = 0, rcq_size = 1;
  ASSERT_THAT(rpma_srq_cfg_get_rq_size(cfg_, &rq_size), IsOk());
  ASSERT_THAT(rpma_srq_cfg_get_rcq_size(cfg_, &rcq_size), IsOk());
  EXPECT_EQ(rq_size, 7u);
  EXPECT_EQ(rcq_size, 0u);
}

TEST_F(SrqCfgTest, NullArgumentsAreInvalid) {
  uint32_t size = 0;
  EXPECT_THAT(rpma_srq_cfg_new(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_cfg_delete(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_cfg_set_rq_size(nullptr, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_cfg_set_rcq_size(nullptr, 1), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_cfg_get_rq_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_cfg_get_rq_size(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_cfg_get_rcq_size(nullptr, &size), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_srq_cfg_get_rcq_size(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  log_.Discard();
}

TEST_F(SrqCfgTest, DeleteClearsTheHandle) {
  ASSERT_THAT(rpma_srq_cfg_delete(cfg_.address()), IsOk());
  EXPECT_EQ(cfg_, nullptr);
  EXPECT_THAT(rpma_srq_cfg_delete(cfg_.address()), IsOk());
}

class PeerCfgTest : public ConfigurationTest {
 protected:
  void SetUp() override {
    ASSERT_THAT(rpma_peer_cfg_new(cfg_.address()), IsOk());
  }

  static bool DirectWrite(const rpma_peer_cfg* cfg) {
    bool supported = false;
    EXPECT_THAT(rpma_peer_cfg_get_direct_write_to_pmem(cfg, &supported),
                IsOk());
    return supported;
  }
  static uint8_t Descriptor(const rpma_peer_cfg* cfg) {
    uint8_t descriptor[2] = {0xee, 0xee};
    EXPECT_THAT(rpma_peer_cfg_get_descriptor(cfg, descriptor), IsOk());
    EXPECT_EQ(descriptor[1], 0xee) << "wrote beyond the descriptor";
    return descriptor[0];
  }

  PeerCfg cfg_;
};

TEST_F(PeerCfgTest, DirectWriteIsFalseAtFirst) {
  EXPECT_FALSE(DirectWrite(cfg_));
  EXPECT_EQ(Descriptor(cfg_), 0);
}

TEST_F(PeerCfgTest, DescriptorIsOneByte) {
  size_t size = 0;
  ASSERT_THAT(rpma_peer_cfg_get_descriptor_size(cfg_, &size), IsOk());
  EXPECT_EQ(size, 1u);
  ASSERT_THAT(rpma_peer_cfg_set_direct_write_to_pmem(cfg_, true), IsOk());
  EXPECT_TRUE(DirectWrite(cfg_));
  EXPECT_EQ(Descriptor(cfg_), 1);
  ASSERT_THAT(rpma_peer_cfg_set_direct_write_to_pmem(cfg_, false), IsOk());
  EXPECT_FALSE(DirectWrite(cfg_));
  EXPECT_EQ(Descriptor(cfg_), 0);
}

TEST_F(PeerCfgTest, AnyDescriptorButZeroMeansDirectWrite) {
  for (int value = 0; value <= UINT8_MAX; ++value) {
    SCOPED_TRACE(value);
    const uint8_t descriptor[] = {static_cast<uint8_t>(value), 0xff};
    PeerCfg read;
    ASSERT_THAT(rpma_peer_cfg_from_descriptor(descriptor, 1, read.address()),
                IsOk());
    EXPECT_EQ(DirectWrite(read), value != 0);
    // Bit 1, the native flush, travels only together with bit 0.
    const uint8_t written = value == 0 ? 0 : (value & 2) != 0 ? 3 : 1;
    EXPECT_EQ(Descriptor(read), written);

    PeerCfg longer;
    ASSERT_THAT(rpma_peer_cfg_from_descriptor(descriptor, 2, longer.address()),
                IsOk());
    EXPECT_EQ(Descriptor(longer), written);
  }
}

TEST_F(PeerCfgTest, InvalidArguments) {
  const uint8_t descriptor = 1;
  uint8_t buffer = 0;
  bool supported = false;
  size_t size = 0;
  rpma_peer_cfg* read = nullptr;
  EXPECT_THAT(rpma_peer_cfg_new(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_delete(nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_set_direct_write_to_pmem(nullptr, true),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_get_direct_write_to_pmem(nullptr, &supported),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_get_direct_write_to_pmem(cfg_, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_get_descriptor(nullptr, &buffer),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_get_descriptor(cfg_, nullptr), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_get_descriptor_size(nullptr, &size),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_get_descriptor_size(cfg_, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_from_descriptor(nullptr, 1, &read),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_from_descriptor(&descriptor, 0, &read),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_peer_cfg_from_descriptor(&descriptor, 1, nullptr),
              RcIs(RPMA_E_INVAL));
  EXPECT_EQ(read, nullptr);
  log_.Discard();
}

TEST_F(PeerCfgTest, DeleteClearsTheHandle) {
  ASSERT_THAT(rpma_peer_cfg_delete(cfg_.address()), IsOk());
  EXPECT_EQ(cfg_, nullptr);
  EXPECT_THAT(rpma_peer_cfg_delete(cfg_.address()), IsOk());
}

}  // namespace
}  // namespace rpma::test
