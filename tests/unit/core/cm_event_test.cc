// SPDX-License-Identifier: BSD-3-Clause
//
// Events of the connection manager and what they mean to a connection.

#include "core/cm_event.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "core/conn_event.h"
#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ConnEventTest, EachCmEventHasItsMeaning) {
  const struct {
    rdma_cm_event_type type;
    rpma_conn_event event;
  } cases[] = {{RDMA_CM_EVENT_ADDR_RESOLVED, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_ADDR_ERROR, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_ROUTE_RESOLVED, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_ROUTE_ERROR, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_CONNECT_REQUEST, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_CONNECT_RESPONSE, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_CONNECT_ERROR, RPMA_CONN_LOST},
               {RDMA_CM_EVENT_UNREACHABLE, RPMA_CONN_UNREACHABLE},
               {RDMA_CM_EVENT_REJECTED, RPMA_CONN_REJECTED},
               {RDMA_CM_EVENT_ESTABLISHED, RPMA_CONN_ESTABLISHED},
               {RDMA_CM_EVENT_DISCONNECTED, RPMA_CONN_CLOSED},
               {RDMA_CM_EVENT_DEVICE_REMOVAL, RPMA_CONN_LOST},
               {RDMA_CM_EVENT_MULTICAST_JOIN, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_MULTICAST_ERROR, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_ADDR_CHANGE, RPMA_CONN_UNDEFINED},
               {RDMA_CM_EVENT_TIMEWAIT_EXIT, RPMA_CONN_CLOSED}};
  for (const auto& [type, event] : cases) {
    EXPECT_EQ(ConnEventFrom(type), event) << CmEventName(type);
  }
}

TEST(ConnEventTest, NamesOfEvents) {
  EXPECT_STREQ(ConnEventName(RPMA_CONN_UNDEFINED),
               "Undefined connection event");
  EXPECT_STREQ(ConnEventName(RPMA_CONN_ESTABLISHED), "Connection established");
  EXPECT_STREQ(ConnEventName(RPMA_CONN_CLOSED), "Connection closed");
  EXPECT_STREQ(ConnEventName(RPMA_CONN_LOST), "Connection lost");
  EXPECT_STREQ(ConnEventName(RPMA_CONN_REJECTED), "Connection rejected");
  EXPECT_STREQ(ConnEventName(RPMA_CONN_UNREACHABLE), "Connection unreachable");
  EXPECT_STREQ(ConnEventName(static_cast<rpma_conn_event>(5)),
               "Unsupported connection event");
}

class CmEventTest : public test::CoreTest {
 protected:
  Rc Next() {
    OwnedCmEvent event;
    return NextCmEvent(transport, &channel_, &event);
  }

  rdma_event_channel channel_ = {};
};

TEST_F(CmEventTest, TakesTheEventAndAcknowledgesIt) {
  transport.QueueCmEvent(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(Next(), Rc::kOk);
  EXPECT_EQ(transport.live(), 0u);
}

TEST_F(CmEventTest, NothingToTakeIsNoEventAndNotLogged) {
  for (const int quiet : {EAGAIN, ENODATA, EINTR}) {
    transport.FailMethod("GetCmEvent", Errno{quiet});
    EXPECT_EQ(Next(), Rc::kNoEvent);
  }
  EXPECT_THAT(log.Take(), IsEmpty());
}

TEST_F(CmEventTest, OtherFailuresAreTheProviders) {
  transport.FailMethod("GetCmEvent", Errno{EIO});
  EXPECT_EQ(Next(), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("rdma_get_cm_event")));
}

TEST_F(CmEventTest, EveryTypeHasAName) {
  for (int type = 0; type <= RDMA_CM_EVENT_TIMEWAIT_EXIT; ++type) {
    EXPECT_THAT(CmEventName(static_cast<rdma_cm_event_type>(type)),
                ::testing::StartsWith("RDMA_CM_EVENT_"));
  }
}

}  // namespace
}  // namespace rpma
