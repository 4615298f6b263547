// SPDX-License-Identifier: BSD-3-Clause
//
// Finding devices and asking what they can do.

#include "core/device.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Return;

class DeviceTest : public test::CoreTest {};

TEST_F(DeviceTest, LocalAddressIsBound) {
  ibv_context* found = nullptr;
  EXPECT_EQ(FindDevice(transport, Address::Side::kLocal, "host", &found),
            Rc::kOk);
  EXPECT_EQ(found, transport.context());
  EXPECT_THAT(transport.calls(),
              ElementsAre("GetAddrInfo", "CreateId", "BindAddr", "DestroyId"));
  EXPECT_EQ(transport.live(), 0u);
}

TEST_F(DeviceTest, RemoteAddressIsResolvedWithinASecond) {
  ibv_context* found = nullptr;
  EXPECT_CALL(transport, CreateId(nullptr, _));
  EXPECT_CALL(transport, ResolveAddr(_, _, 1000));
  EXPECT_EQ(FindDevice(transport, Address::Side::kRemote, "host", &found),
            Rc::kOk);
  EXPECT_EQ(found, transport.context());
  EXPECT_EQ(transport.live(), 0u);
}

TEST_F(DeviceTest, AddressOfNoDeviceIsRefused) {
  ibv_context* found = nullptr;
  EXPECT_CALL(transport, BindAddr).WillOnce(Return(Errno::kOk));
  EXPECT_EQ(FindDevice(transport, Address::Side::kLocal, "0.0.0.0", &found),
            Rc::kProvider);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(transport.live(), 0u);
  EXPECT_THAT(log.Take(),
              ElementsAre("E no RDMA device has the address 0.0.0.0"));
}

TEST_F(DeviceTest, EveryFailureIsReported) {
  for (const auto side : {Address::Side::kLocal, Address::Side::kRemote}) {
    for (size_t k = 1; k <= 3; ++k) {
      ibv_context* found = nullptr;
      transport.FailCall(k, Errno{EIO});
      EXPECT_EQ(FindDevice(transport, side, "host", &found), Rc::kProvider);
      EXPECT_EQ(found, nullptr);
      EXPECT_EQ(transport.live(), 0u);
      EXPECT_EQ(log.Take().size(), 1u);
    }
  }
}

TEST_F(DeviceTest, FailureToDestroyTheTemporaryIdIsReported) {
  ibv_context* found = nullptr;
  transport.FailMethod("DestroyId", Errno{EIO});
  EXPECT_EQ(FindDevice(transport, Address::Side::kLocal, "host", &found),
            Rc::kProvider);
  EXPECT_EQ(found, nullptr);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("rdma_destroy_id")));
}

TEST_F(DeviceTest, QueryTellsCapabilities) {
  transport.caps.odp_rc_read_write = true;
  DeviceCaps caps;
  EXPECT_EQ(QueryCaps(transport, transport.context(), &caps), Rc::kOk);
  EXPECT_TRUE(caps.odp_rc_read_write);
}

TEST_F(DeviceTest, FailedQueryIsReported) {
  DeviceCaps caps;
  transport.FailMethod("QueryDevice", Errno{EIO});
  EXPECT_EQ(QueryCaps(transport, transport.context(), &caps), Rc::kProvider);
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("ibv_query_device_ex")));
}

}  // namespace
}  // namespace rpma
