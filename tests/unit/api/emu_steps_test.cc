// SPDX-License-Identifier: BSD-3-Clause
// The functions of librpma_emu.h on stepped fabrics, and what librpma does on
// one that is dead.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>
#include <librpma_emu.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/emulation.h"
#include "tests/support/log_guard.h"
#include "tests/support/matchers.h"
#include "tests/support/world.h"

namespace rpma::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EmuStepsTest : public ::testing::Test {
 protected:
  void Start(const std::string& options) {
    world_.reset();
    world_.emplace(WorldOptions{.options = options});
  }
  rpma_emu_fabric* fabric() { return world_->emulation().fabric(); }
  World& world() { return *world_; }

  uint64_t Hash() {
    uint64_t hash = 0;
    EXPECT_THAT(rpma_emu_get_trace_hash(fabric(), &hash), IsOk());
    return hash;
  }

  // In this thread and another one, both attached, in this order.
  void InTwoThreads(const std::function<void()>& here,
                    const std::function<void()>& there) {
    ASSERT_THAT(rpma_emu_thread_attach(fabric()), IsOk());
    std::promise<void> attached;
    std::thread other([&] {
      EXPECT_THAT(rpma_emu_thread_attach(fabric()), IsOk());
      attached.set_value();
      there();
      EXPECT_THAT(rpma_emu_thread_detach(fabric()), IsOk());
    });
    attached.get_future().wait();
    here();
    EXPECT_THAT(rpma_emu_thread_detach(fabric()), IsOk());
    other.join();
  }

 private:
  std::optional<World> world_;
};

TEST_F(EmuStepsTest, OneStepIsMadeAtATime) {
  Start("schedule=stepped");
  Pair pair = world().ConnectedPair();
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Write(2, 0, 0, 8), IsOk());
  EXPECT_THAT(rpma_emu_step(fabric()), IsOk());
  EXPECT_THAT(rpma_emu_step(fabric()), IsOk());
  EXPECT_THAT(rpma_emu_step(fabric()), RcIs(RPMA_E_NO_EVENT));
}

TEST_F(EmuStepsTest, TheHashTellsHistoriesApart) {
  Start("schedule=stepped");
  const uint64_t at_first = Hash();
  Pair pair = world().ConnectedPair();
  const uint64_t connected = Hash();
  EXPECT_NE(connected, at_first);
  EXPECT_EQ(Hash(), connected);
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_NE(Hash(), connected);
}

TEST_F(EmuStepsTest, AFabricThatIsNotSteppedHasNeitherStepsNorAHash) {
  Start("");
  uint64_t hash = 7;
  EXPECT_THAT(rpma_emu_step(fabric()), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_emu_get_trace_hash(fabric(), &hash), RcIs(RPMA_E_INVAL));
  EXPECT_EQ(hash, 7u);
  EXPECT_THAT(world().log().TakeErrors(),
              ElementsAre(HasSubstr("rpma_emu_step(): the fabric was not "
                                    "created with schedule=stepped"),
                          HasSubstr("rpma_emu_get_trace_hash()")));
  EXPECT_THAT(rpma_emu_thread_attach(fabric()), IsOk());
  EXPECT_THAT(rpma_emu_thread_attach(fabric()), IsOk());
  EXPECT_THAT(rpma_emu_thread_detach(fabric()), IsOk());
}

TEST_F(EmuStepsTest, TheHashNeedsAPlace) {
  Start("schedule=stepped");
  EXPECT_THAT(rpma_emu_get_trace_hash(fabric(), nullptr), RcIs(RPMA_E_INVAL));
  world().log().Discard();
}

TEST_F(EmuStepsTest, AThreadAttachesOnceAndDetachesOnce) {
  Start("schedule=stepped");
  EXPECT_THAT(rpma_emu_thread_detach(fabric()), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_emu_thread_attach(fabric()), IsOk());
  EXPECT_THAT(rpma_emu_thread_attach(fabric()), RcIs(RPMA_E_INVAL));
  EXPECT_THAT(world().log().TakeErrors(),
              ElementsAre(HasSubstr("is not attached"),
                          HasSubstr("is attached already")));
  EXPECT_THAT(rpma_emu_thread_detach(fabric()), IsOk());
}

TEST_F(EmuStepsTest, TheHistoryIsWrittenToAFile) {
  const std::string path = ::testing::TempDir() + "/emu_steps_test_trace";
  Start("schedule=stepped trace=" + path);
  { Pair pair = world().ConnectedPair(); }
  std::ifstream file(path);
  const std::string history{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(history, HasSubstr("\nCM id 4 sends message 1, REQ\n"));
  EXPECT_THAT(history, HasSubstr("\nCM id 5 gets ESTABLISHED, status 0\n"));
}

TEST(EmuStepsOptionsTest, AFileThatCannotBeWrittenMakesNoFabric) {
  LogGuard log;
  rpma_emu_fabric* fabric = nullptr;
  EXPECT_THAT(
      rpma_emu_fabric_new("schedule=stepped trace=/nonexistent/x", &fabric),
      RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(fabric, nullptr);
  EXPECT_THAT(log.TakeErrors(),
              ElementsAre(HasSubstr("cannot write the trace to "
                                    "/nonexistent/x: No such file")));
}

// --- Deadlocks ---------------------------------------------------------------

TEST_F(EmuStepsTest, WaitingForACompletionThatNeverComesFails) {
  Start("schedule=stepped");
  Pair pair = world().ConnectedPair();
  ASSERT_THAT(pair.client.Send(1, 0, 8), IsOk());
  EXPECT_THAT(rpma_cq_wait(pair.client.cq), RcIs(RPMA_E_PROVIDER));
  const auto lines = world().log().Take(RPMA_LOG_LEVEL_FATAL);
  EXPECT_THAT(lines, Contains(HasSubstr("every thread waits")));
  EXPECT_THAT(lines, Contains(HasSubstr("a thread that is not attached waits "
                                        "in GetCqEvent on completion channel "
                                        "1")));
  EXPECT_THAT(lines,
              Contains(HasSubstr("QP 1 has 1 outstanding requests; request 1, "
                                 "a SEND of 8 bytes, waits for QP 2 to have a "
                                 "receive")));
  world().log().Discard();

  // It is as it was before.
  ASSERT_THAT(pair.server.Recv(2, 0, 8), IsOk());
  EXPECT_THAT(rpma_cq_wait(pair.client.cq), IsOk());
}

TEST_F(EmuStepsTest, WaitingOnASharedChannelForWhatNeverComesFails) {
  Start("schedule=stepped");
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_compl_channel(cfg, true), IsOk());
  Pair pair = world().ConnectedPair({.client_cfg = cfg});
  rpma_cq* cq = nullptr;
  EXPECT_THAT(rpma_conn_wait(pair.client.conn, 0, &cq, nullptr),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(cq, nullptr);
  EXPECT_THAT(world().log().Take(RPMA_LOG_LEVEL_FATAL),
              Contains(HasSubstr("waits in GetCqEvent on completion channel")));
  world().log().Discard();
}

TEST_F(EmuStepsTest, WaitingForAnEventThatNeverComesFails) {
  Start("schedule=stepped");
  Pair pair = world().ConnectedPair();
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  EXPECT_THAT(rpma_conn_next_event(pair.client.conn, &event),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(event, RPMA_CONN_UNDEFINED);
  EXPECT_THAT(world().log().Take(RPMA_LOG_LEVEL_FATAL),
              Contains(HasSubstr("waits in GetCmEvent on event channel")));
  world().log().Discard();
}

TEST_F(EmuStepsTest, WaitingForARequestThatNeverComesFails) {
  Start("schedule=stepped");
  const Endpoint endpoint = world().Listen(world().NewPort());
  rpma_conn_req* request = nullptr;
  EXPECT_THAT(rpma_ep_next_conn_req(endpoint, nullptr, &request),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_EQ(request, nullptr);
  EXPECT_THAT(world().log().Take(RPMA_LOG_LEVEL_FATAL),
              Contains(HasSubstr("waits in GetCmEvent on event channel")));
  world().log().Discard();
}

// --- Threads -----------------------------------------------------------------

TEST_F(EmuStepsTest, ThreadsThatWaitForEachOtherFailAndAreNamed) {
  Start("schedule=stepped");
  Pair pair = world().ConnectedPair();
  // Each would send when it has received.
  ASSERT_THAT(pair.client.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.server.Recv(2, 0, 8), IsOk());
  InTwoThreads(
      [&] { EXPECT_THAT(rpma_cq_wait(pair.client.cq), RcIs(RPMA_E_PROVIDER)); },
      [&] {
        EXPECT_THAT(rpma_cq_wait(pair.server.cq), RcIs(RPMA_E_PROVIDER));
      });
  const auto lines = world().log().Take(RPMA_LOG_LEVEL_FATAL);
  EXPECT_THAT(lines, Contains(HasSubstr("thread 1 waits in GetCqEvent on "
                                        "completion channel 1")));
  EXPECT_THAT(lines, Contains(HasSubstr("thread 2 waits in GetCqEvent on "
                                        "completion channel 2")));
  world().log().Discard();
}

TEST_F(EmuStepsTest, TheHistoryOfThreadsFollowsFromTheSeed) {
  // Each has a connection of its own; the seed mixes what they do.
  const auto history = [this](int seed) {
    Start("schedule=stepped seed=" + std::to_string(seed));
    const Pair first = world().ConnectedPair();
    const Pair second = world().ConnectedPair();
    const auto write = [this](const End& end) {
      rpma_emu_step(fabric());  // from here on one thread runs at a time
      for (uint64_t i = 0; i < 8; ++i) {
        ASSERT_THAT(end.Write(i, 0, 0, 8), IsOk());
        EXPECT_EQ(Poll(end.cq).wr_id, i);
      }
    };
    InTwoThreads([&] { write(first.client); }, [&] { write(second.client); });
    return Hash();
  };
  std::set<uint64_t> hashes;
  for (int seed = 1; seed <= 8; ++seed) {
    const uint64_t hash = history(seed);
    EXPECT_EQ(history(seed), hash) << "seed " << seed;
    hashes.insert(hash);
  }
  EXPECT_GT(hashes.size(), 4u);
}

TEST_F(EmuStepsTest, AttachedThreadsServeEachOther) {
  Start("schedule=stepped");
  const std::string port = world().NewPort();
  const Endpoint endpoint = world().Listen(port);
  const auto serve = [&] {
    ConnReq request;
    EXPECT_THAT(rpma_ep_next_conn_req(endpoint, nullptr, request.address()),
                IsOk());
    const Conn conn = Connect(std::move(request));
    rpma_conn_event event = RPMA_CONN_UNDEFINED;
    EXPECT_THAT(rpma_conn_next_event(conn, &event), IsOk());
    EXPECT_EQ(event, RPMA_CONN_ESTABLISHED);
    EXPECT_THAT(rpma_conn_next_event(conn, &event), IsOk());
    EXPECT_EQ(event, RPMA_CONN_CLOSED);
  };
  const auto connect = [&] {
    const Conn conn = Connect(world().NewRequest(port));
    rpma_conn_event event = RPMA_CONN_UNDEFINED;
    EXPECT_THAT(rpma_conn_next_event(conn, &event), IsOk());
    EXPECT_EQ(event, RPMA_CONN_ESTABLISHED);
    EXPECT_THAT(rpma_conn_disconnect(conn), IsOk());
    EXPECT_THAT(rpma_conn_next_event(conn, &event), IsOk());
    EXPECT_EQ(event, RPMA_CONN_CLOSED);
  };
  InTwoThreads(connect, serve);
}

}  // namespace
}  // namespace rpma::test
