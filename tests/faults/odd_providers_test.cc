// SPDX-License-Identifier: BSD-3-Clause
// What users saw when a provider told librpma of what it does not know, or
// refused what was asked for, and what librpma does then.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>
#include <librpma_emu.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/matchers.h"
#include "tests/support/world.h"

namespace rpma::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// --- Events ------------------------------------------------------------------

TEST(UnexpectedEventTest, OfTheConnectionManagerIsUnknownAndNamed) {
  for (const std::string name :
       {"ADDR_CHANGE", "ADDR_ERROR", "ROUTE_ERROR", "MULTICAST_ERROR"}) {
    SCOPED_TRACE(name);
    World world;
    const Pair pair = world.ConnectedPair();
    world.emulation().SetFaults("event DISCONNECTED as=" + name);
    ASSERT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
    ASSERT_TRUE(BecomesReadable(EventFd(pair.server.conn)));
    constexpr rpma_conn_event kUntouched = RPMA_CONN_UNREACHABLE;
    rpma_conn_event event = kUntouched;
    EXPECT_THAT(rpma_conn_next_event(pair.server.conn, &event),
                RcIs(RPMA_E_UNKNOWN));
    EXPECT_EQ(event, kUntouched);
    EXPECT_THAT(world.log().TakeErrors(),
                ElementsAre(HasSubstr("RDMA_CM_EVENT_" + name)));
    EXPECT_EQ(world.emulation().Fired(0), 1u);
  }
}

TEST(UnexpectedEventTest, OfAForeignCqIsUnknownAndHoldsNothingUp) {
  World world;
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_compl_channel(cfg, true), IsOk());
  Pair pair = world.ConnectedPair({.client_cfg = cfg});
  const End& client = pair.client;
  world.emulation().SetFaults("foreign_cq");
  ASSERT_THAT(client.Write(1, 0, 0, 8), IsOk());
  rpma_cq* cq = nullptr;
  EXPECT_THAT(rpma_conn_wait(client.conn, 0, &cq, nullptr),
              RcIs(RPMA_E_UNKNOWN));
  EXPECT_EQ(cq, nullptr);
  EXPECT_THAT(world.log().TakeErrors(), ElementsAre(HasSubstr("unknown CQ")));
  EXPECT_EQ(world.emulation().Fired(0), 1u);
  EXPECT_THAT(rpma_conn_wait(client.conn, 0, &cq, nullptr), IsOk());
  EXPECT_EQ(cq, client.cq);
  EXPECT_THAT(rpma_conn_delete(pair.client.conn.address()), IsOk());
}

TEST(UnexpectedEventTest, OfAForeignCqWakesTheWaiterForNothing) {
  World world;
  const Pair pair = world.ConnectedPair();
  world.emulation().SetFaults("foreign_cq");
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_THAT(rpma_cq_wait(pair.client.cq), IsOk());
  EXPECT_EQ(world.emulation().Fired(0), 1u);
  EXPECT_THAT(rpma_cq_wait(pair.client.cq), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), Succeeded(1, IBV_WC_RDMA_WRITE));
}

// --- A queue that is in use --------------------------------------------------

TEST(SharedQueueInUseTest, CannotBeDeletedAndGoesOnServing) {
  World world;
  world.emulation().SetFaults(
      "");  // with a plan, what is left can be reclaimed
  rpma_srq* srq = nullptr;
  ASSERT_THAT(rpma_srq_new(world.server_peer(), nullptr, &srq), IsOk());
  ASSERT_THAT(rpma_srq_recv(srq, nullptr, 0, 0, Context(1)), IsOk());
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_srq(cfg, srq), IsOk());
  {
    const Pair pair = world.ConnectedPair({.server_cfg = cfg});
    EXPECT_THAT(rpma_srq_delete(&srq), RcIs(RPMA_E_PROVIDER));
    EXPECT_EQ(srq, nullptr);
    EXPECT_THAT(world.log().TakeErrors(),
                Contains(AllOf(HasSubstr("ibv_destroy_srq"),
                               HasSubstr("resource busy"))));
    ASSERT_THAT(pair.client.Send(2, 0, 0), IsOk());
    EXPECT_THAT(Poll(pair.client.cq), Succeeded(2, IBV_WC_SEND));
    ASSERT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
    EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  }
  world.emulation().Reclaim();
}

// --- Memory ------------------------------------------------------------------

constexpr size_t kPage = 4096;

class MemoryRefusedTest : public testing::Test {
 protected:
  // Registers the first `size` bytes of memory that starts with a page.
  int Register(World& world, size_t size, LocalMr* mr) {
    return rpma_mr_reg(world.client_peer(), memory_.get(), size,
                       RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, mr->address());
  }

 private:
  const std::unique_ptr<void, decltype(&std::free)> memory_{
      std::aligned_alloc(65536, 2 * 65536), &std::free};
};

TEST_F(MemoryRefusedTest, BeyondTheLimitOfLockedMemory) {
  World world({.options = "memlock_limit=65536"});
  LocalMr mr;
  LocalMr more;
  EXPECT_THAT(Register(world, 65537, &mr), RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(mr, nullptr);
  EXPECT_THAT(world.log().Take(RPMA_LOG_LEVEL_WARNING),
              ElementsAre(HasSubstr("locked-memory limit is 64 KiB")));
  EXPECT_THAT(Register(world, 65536, &mr), IsOk());
  EXPECT_THAT(Register(world, 1, &more), RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(world.log().TakeErrors(),
              ElementsAre(HasSubstr("length=65537"), HasSubstr("length=1,")));
  mr.reset();
  EXPECT_THAT(Register(world, 1, &more), IsOk());
}

TEST_F(MemoryRefusedTest, ThatCannotBePinnedIsPagedOnDemand) {
  World world({.profile = "ib", .options = "pinning=off"});
  const Pair pair = world.ConnectedPair();
  pair.client.region->Fill(0x5a);
  ASSERT_THAT(pair.client.Write(1, 0, 0, 64), IsOk());
  EXPECT_THAT(Poll(pair.client.cq), Succeeded(1, IBV_WC_RDMA_WRITE));
  EXPECT_THAT(pair.server.region->bytes().first(64), testing::Each(0x5a));
  EXPECT_THAT(rpma_mr_advise(pair.client.region->mr(), 0, kPage,
                             IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0),
              IsOk());
}

TEST_F(MemoryRefusedTest, ThatCannotBePinnedByADeviceThatCannotPage) {
  World world({.profile = "roce", .options = "pinning=off"});
  LocalMr mr;
  EXPECT_THAT(Register(world, kPage, &mr), RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(mr, nullptr);
  EXPECT_THAT(world.log().TakeErrors(),
              ElementsAre(HasSubstr("on-demand paging")));
}

TEST_F(MemoryRefusedTest, ForAnotherReasonIsNotTriedAgain) {
  World world({.profile = "ib"});
  LocalMr mr;
  world.emulation().SetFaults("fail ibv_reg_mr errno=EPERM");
  EXPECT_THAT(Register(world, kPage, &mr), RcIs(RPMA_E_PROVIDER));
  rpma_emu_fault_counts counts = {};
  ASSERT_THAT(rpma_emu_get_fault_counts(world.emulation().fabric(), &counts),
              IsOk());
  EXPECT_EQ(counts.calls, 1u);
  EXPECT_THAT(world.log().TakeErrors(),
              ElementsAre(HasSubstr("not permitted")));
}

}  // namespace
}  // namespace rpma::test
