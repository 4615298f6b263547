// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration of connections.

#include "core/conn_cfg.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "core/shared_receive_queue.h"
#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConnCfgTest : public test::CoreTest {
 protected:
  std::unique_ptr<SharedReceiveQueue> MakeSrq(uint32_t rcq_size) {
    SrqCfg srq_cfg;
    srq_cfg.rcq_size.set(rcq_size);
    std::unique_ptr<SharedReceiveQueue> srq;
    EXPECT_EQ(SharedReceiveQueue::Create(*peer_, srq_cfg, &srq), Rc::kOk);
    return srq;
  }

  std::unique_ptr<Peer> peer_ = MakePeer();
  ConnCfg cfg_;
};

TEST_F(ConnCfgTest, Defaults) {
  const ConnCfg& cfg = ConnCfg::Default();
  EXPECT_EQ(cfg.timeout_ms.get(), 1000);
  EXPECT_EQ(cfg.cq_size.get(), 10u);
  EXPECT_EQ(cfg.rcq_size.get(), 0u);
  EXPECT_EQ(cfg.sq_size.get(), 10u);
  EXPECT_EQ(cfg.rq_size.get(), 10u);
  EXPECT_FALSE(cfg.shared_channel.get());
  EXPECT_EQ(cfg.srq.get(), nullptr);
  EXPECT_EQ(cfg.Check(), Rc::kOk);
}

TEST_F(ConnCfgTest, SharedChannelAndReceiveCqOfAnSrqExcludeEachOther) {
  const auto with_rcq = MakeSrq(4);
  const auto without_rcq = MakeSrq(0);
  cfg_.srq.set(with_rcq.get());
  EXPECT_EQ(cfg_.Check(), Rc::kOk);
  cfg_.shared_channel.set(true);
  EXPECT_EQ(cfg_.Check(), Rc::kInval);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("shared completion channel")));
  cfg_.srq.set(without_rcq.get());
  EXPECT_EQ(cfg_.Check(), Rc::kOk);
}

TEST_F(ConnCfgTest, ThreadsMayReadWhileOneWrites) {
  std::thread writer([&] {
    for (uint32_t i = 0; i < 1000; ++i) cfg_.cq_size.set(20 + i % 2);
  });
  for (int i = 0; i < 1000; ++i) {
    const uint32_t size = cfg_.cq_size.get();
    EXPECT_TRUE(size == 10 || size == 20 || size == 21) << size;
  }
  writer.join();
}

}  // namespace
}  // namespace rpma
