// SPDX-License-Identifier: BSD-3-Clause
//
// CM ids and the duty to answer.

#include "core/cm_id.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CmIdTest : public test::CoreTest {
 protected:
  CmId Make(CmId::Role role) {
    OwnedId id;
    EXPECT_EQ(CreateId(transport, nullptr, &id), Rc::kOk);
    transport.ForgetCalls();
    return {transport, std::move(id), role};
  }

  rdma_conn_param param_ = {};
};

TEST_F(CmIdTest, ActiveSideConnects) {
  CmId id = Make(CmId::Role::kActive);
  EXPECT_CALL(transport, Connect(id.get(), &param_));
  EXPECT_EQ(id.Establish(&param_), Rc::kOk);
  EXPECT_EQ(id.Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("Connect", "DestroyId"));
}

TEST_F(CmIdTest, PassiveSideAccepts) {
  CmId id = Make(CmId::Role::kPassive);
  EXPECT_CALL(transport, Accept(id.get(), &param_));
  EXPECT_EQ(id.Establish(&param_), Rc::kOk);
  EXPECT_EQ(id.Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("Accept", "DestroyId"));
}

TEST_F(CmIdTest, UnansweredRequestIsRejectedOnEveryWayOut) {
  { const CmId id = Make(CmId::Role::kPassive); }
  EXPECT_THAT(transport.calls(), ElementsAre("Reject", "DestroyId"));
  EXPECT_EQ(Make(CmId::Role::kPassive).Close(), Rc::kOk);
  EXPECT_THAT(transport.calls(), ElementsAre("Reject", "DestroyId"));
}

TEST_F(CmIdTest, RequestWhoseAcceptFailedIsRejected) {
  transport.FailMethod("Accept", Errno{EINVAL});
  {
    CmId id = Make(CmId::Role::kPassive);
    param_.private_data_len = 197;
    EXPECT_EQ(id.Establish(&param_), Rc::kProvider);
  }
  EXPECT_THAT(transport.calls(), ElementsAre("Accept", "Reject", "DestroyId"));
  EXPECT_THAT(log.Take(),
              ElementsAre(HasSubstr("rdma_accept(private_data_len=197)")));
}

TEST_F(CmIdTest, FailedConnectIsReported) {
  transport.FailMethod("Connect", Errno{EINVAL});
  CmId id = Make(CmId::Role::kActive);
  EXPECT_EQ(id.Establish(&param_), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("rdma_connect")));
}

TEST_F(CmIdTest, MovedFromIdHasNoDuty) {
  CmId first = Make(CmId::Role::kPassive);
  {
    CmId second = std::move(first);
    EXPECT_EQ(first.Close(), Rc::kOk);
    EXPECT_THAT(transport.calls(), ElementsAre());
  }
  EXPECT_THAT(transport.calls(), ElementsAre("Reject", "DestroyId"));
}

TEST_F(CmIdTest, CloseGoesOnAfterAFailure) {
  for (const char* method : {"Reject", "DestroyId"}) {
    CmId id = Make(CmId::Role::kPassive);
    transport.FailMethod(method, Errno{EIO});
    EXPECT_EQ(id.Close(), Rc::kProvider);
    EXPECT_THAT(transport.calls(), ElementsAre("Reject", "DestroyId"));
    EXPECT_EQ(log.Take().size(), 1u);
    transport.FailMethod(method, Errno::kOk);
  }
}

TEST_F(CmIdTest, FailureToCreateIsReported) {
  transport.FailMethod("CreateId", Errno{ENODEV});
  OwnedId id;
  EXPECT_EQ(CreateId(transport, nullptr, &id), Rc::kProvider);
  EXPECT_THAT(log.Take(),
              ElementsAre("E rdma_create_id() failed: No such device"));
  transport.FailMethod("CreateEventChannel", Errno{EMFILE});
  OwnedEventChannel channel;
  EXPECT_EQ(CreateEventChannel(transport, &channel), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre("E rdma_create_event_channel() failed: "
                                      "Too many open files"));
}

}  // namespace
}  // namespace rpma
