// SPDX-License-Identifier: BSD-3-Clause
// What the device reports besides completions and connection events: the
// asynchronous events of ibv_get_async_event(3).

#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class AsyncEventTest : public ConformanceTest {
 protected:
  std::string device_options() const override { return "cq_overrun=error"; }

  // The events that wait at the device, which is that of both sides.
  std::vector<ibv_event_type> TakeEvents() {
    std::vector<ibv_event_type> events;
    ibv_async_event event;
    while (rpma_emu_get_async_event(emulation().fabric(), context(), &event) ==
           0) {
      events.push_back(event.event_type);
    }
    return events;
  }
};

INSTANTIATE_TEST_SUITE_P(, AsyncEventTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(AsyncEventTest, RefusedAccessIsOne) {
  Region target(server_peer(), 64);
  Pair pair = ConnectedPair();
  pair.client.remote = target.Remote();
  target.Deregister();
  TakeEvents();
  ASSERT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_EQ(Poll(pair.client.cq).wr_id, 1u);
  EXPECT_THAT(TakeEvents(), Contains(IBV_EVENT_QP_ACCESS_ERR));
}

TEST_P(AsyncEventTest, MessageTooLongForItsReceiveIsNone) {
  const Pair pair = ConnectedPair();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  TakeEvents();
  ASSERT_THAT(pair.client.Send(2, 0, 9), IsOk());
  EXPECT_EQ(Poll(pair.server.cq).wr_id, 1u);  // the receive tells it
  EXPECT_THAT(TakeEvents(), Not(Contains(IBV_EVENT_QP_ACCESS_ERR)));
}

TEST_P(AsyncEventTest, OverrunOfACompletionQueueIsOne) {
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_cq_size(cfg, 1), IsOk());
  const Pair pair = ConnectedPair({.client_cfg = cfg});
  TakeEvents();
  pair.client.region->bytes()[0] = 2;
  ASSERT_THAT(pair.client.Write(1, 0, 1, 1), IsOk());
  ASSERT_THAT(pair.client.Write(2, 0, 0, 1), IsOk());
  ComeToRestAfter(pair.server.region->bytes()[0], 2);
  EXPECT_THAT(TakeEvents(), Contains(IBV_EVENT_CQ_ERR));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("has overrun")));
}

TEST_P(AsyncEventTest, EndOfAConnectionOnASharedReceiveQueueIsOne) {
  Srq srq;
  ASSERT_THAT(rpma_srq_new(server_peer(), nullptr, srq.address()), IsOk());
  ConnCfg cfg;
  ASSERT_THAT(rpma_conn_cfg_new(cfg.address()), IsOk());
  ASSERT_THAT(rpma_conn_cfg_set_srq(cfg, srq), IsOk());
  const Pair pair = ConnectedPair({.server_cfg = cfg});
  TakeEvents();
  ASSERT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
  EXPECT_THAT(TakeEvents(), Contains(IBV_EVENT_QP_LAST_WQE_REACHED));
}

TEST_P(AsyncEventTest, TransfersThatSucceedRaiseNone) {
  const Pair pair = ConnectedPair();
  TakeEvents();
  ASSERT_THAT(pair.server.Recv(1, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Send(2, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Write(3, 0, 0, 8), IsOk());
  ASSERT_THAT(pair.client.Read(4, 0, 0, 8), IsOk());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Poll(pair.client.cq).status, 0);
  EXPECT_THAT(TakeEvents(), ElementsAre());
}

}  // namespace
}  // namespace rpma::test
