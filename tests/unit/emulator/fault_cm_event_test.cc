// SPDX-License-Identifier: BSD-3-Clause
// Events of the connection manager that come as others, out of order or late.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class FaultCmEventTest : public CmProfileTest {
 protected:
  void ShowAs(rdma_cm_event_type event, rdma_cm_event_type as) {
    SetFaults(
        {{.action = FaultAction::kShowEventAs, .event = event, .as = as}});
  }
  void Hurry(rdma_cm_event_type event) {
    SetFaults({{.action = FaultAction::kEventAhead, .event = event}});
  }
  void Delay(rdma_cm_event_type event, std::chrono::nanoseconds time) {
    SetFaults(
        {{.action = FaultAction::kDelayEvent, .time = time, .event = event}});
  }
};

INSTANTIATE_TEST_SUITE_P(Profiles, FaultCmEventTest,
                         testing::Values("roce", "ib", "iwarp"), ProfileName);

TEST_P(FaultCmEventTest, AnEventIsShownAsAnother) {
  const auto listener = NewListener();
  ShowAs(RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_ADDR_CHANGE);
  const Connection ends = Accepted(*listener);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ADDR_CHANGE);
  EXPECT_EQ(fabric().FaultFired(0), 1u);
  // The connection is none the worse for it.
  EXPECT_EQ(ends.active->qp().State(), IBV_QPS_RTS);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
}

TEST_P(FaultCmEventTest, TheNthOfItsNameIsShownAsAnother) {
  const auto listener = NewListener();
  SetFaults({{.action = FaultAction::kShowEventAs,
              .nth = 2,
              .event = RDMA_CM_EVENT_ESTABLISHED,
              .as = RDMA_CM_EVENT_UNREACHABLE}});
  const Connection ends = Accepted(*listener);
  EXPECT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(ends.passive->Next().type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(fabric().fault_counts().events, 3u);  // CONNECT_REQUEST too
}

TEST_P(FaultCmEventTest, ARequestShownAsAnotherIsRefusedAndLeavesNoId) {
  const auto listener = NewListener();
  ShowAs(RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  const Seen seen = listener->Next();
  EXPECT_EQ(seen.type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_EQ(seen.id, listener->id());
  EXPECT_EQ(seen.listen_id, nullptr);
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(fabric().TakeCensus().cm.ids, 2u);
}

TEST_P(FaultCmEventTest, AnEventOvertakesTheUnreadOnesOfItsChannel) {
  const auto listener = NewListener();
  Hurry(RDMA_CM_EVENT_DISCONNECTED);
  const Connection ends = Accepted(*listener);
  ASSERT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  // On iWARP the active side's own came first.
  const Connection& of = ends;
  if (iwarp()) {
    EXPECT_EQ(of.active->Next().type, RDMA_CM_EVENT_DISCONNECTED);
    EXPECT_EQ(of.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(of.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
  } else {
    EXPECT_EQ(of.passive->Next().type, RDMA_CM_EVENT_DISCONNECTED);
    EXPECT_EQ(of.passive->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  }
  EXPECT_EQ(fabric().FaultFired(0), 1u);
}

TEST_P(FaultCmEventTest, ALateEventIsNotThereYet) {
  const auto listener = NewListener();
  Delay(RDMA_CM_EVENT_CONNECT_REQUEST, hours(1));
  const auto active = NewActive();
  ASSERT_EQ(cm().Connect(active->id(), Param()), 0);
  EXPECT_TRUE(listener->channel().IsEmpty());
  // Destroying the listener refuses the request all the same.
  listener->Destroy();
  EXPECT_EQ(active->Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_P(FaultCmEventTest, OfLateEventsTheLessLateComesFirst) {
  const auto listener = NewListener();
  constexpr milliseconds kSoon(10);
  constexpr milliseconds kLate = hours(1);
  for (const auto& [first, second] :
       {std::pair{kLate, kSoon}, std::pair{kSoon, kLate}}) {
    const Connection one = Connect(*listener);
    const Connection other = Connect(*listener);
    Channel shared(cm());
    ASSERT_EQ(cm().MigrateId(one.passive->id(), shared.get()), 0);
    ASSERT_EQ(cm().MigrateId(other.passive->id(), shared.get()), 0);
    // On iWARP the active side's own comes before.
    Fault late{.action = FaultAction::kDelayEvent,
               .nth = iwarp() ? 2u : 1u,
               .time = first,
               .event = RDMA_CM_EVENT_DISCONNECTED};
    Fault later = late;
    later.nth *= 2;
    later.time = second;
    SetFaults({late, later});
    ASSERT_EQ(cm().Disconnect(one.active->id()), 0);
    ASSERT_EQ(cm().Disconnect(other.active->id()), 0);
    rdma_cm_id* const soonest =
        first < second ? one.passive->id() : other.passive->id();
    EXPECT_EQ(shared.Next().id, soonest);
    one.passive->Destroy();
    other.passive->Destroy();
  }
}

TEST_P(FaultCmEventTest, ALateEventGoesToTheChannelThatItsIdHasThen) {
  const auto listener = NewListener();
  const Connection ends = Connect(*listener);
  SetFaults({{.action = FaultAction::kDelayEvent,
              .nth = iwarp() ? 2u : 1u,
              .time = milliseconds(5000),
              .event = RDMA_CM_EVENT_DISCONNECTED}});
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  Channel other(cm());
  ASSERT_EQ(cm().MigrateId(ends.passive->id(), other.get()), 0);
  EXPECT_EQ(other.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(cm().MigrateId(ends.passive->id(), ends.passive->channel().get()),
            0);
}

TEST_P(FaultCmEventTest, DestroyingDropsALateEvent) {
  const auto listener = NewListener();
  Connection ends = Accepted(*listener);
  ASSERT_EQ(ends.active->Next().type, RDMA_CM_EVENT_ESTABLISHED);
  Delay(RDMA_CM_EVENT_DISCONNECTED, milliseconds(100));
  ASSERT_EQ(cm().Disconnect(ends.active->id()), 0);
  ends.passive->Destroy();
  ends.active->Destroy();
  EXPECT_EQ(fabric().TakeCensus().cm.ids, 1u);
}

}  // namespace
}  // namespace rpma::emu
