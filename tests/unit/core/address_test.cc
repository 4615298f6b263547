// SPDX-License-Identifier: BSD-3-Clause
//
// Looking up hosts and ports.

#include "core/address.h"

#include <gtest/gtest.h>
#include <netdb.h>

#include <cerrno>
#include <string>

#include "tests/unit/core/core_test.h"

namespace rpma {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Ref;
using ::testing::Return;
using ::testing::StrEq;

class AddressTest : public test::CoreTest {
 protected:
  Rc Lookup(const char* service) {
    Address address;
    return Address::Lookup(transport, Address::Side::kRemote, "host", service,
                           &address);
  }
};

TEST_F(AddressTest, RemoteSideIsAskedForActively) {
  EXPECT_CALL(transport, GetAddrInfo(StrEq("host"), StrEq("7204"), false, _));
  EXPECT_EQ(Lookup("7204"), Rc::kOk);
  EXPECT_EQ(transport.live(), 0u);
}

TEST_F(AddressTest, LocalSideIsAskedForPassively) {
  Address address;
  EXPECT_CALL(transport, GetAddrInfo(StrEq("host"), nullptr, true, _));
  EXPECT_EQ(Address::Lookup(transport, Address::Side::kLocal, "host", nullptr,
                            &address),
            Rc::kOk);
  EXPECT_STREQ(address.node(), "host");
  EXPECT_STREQ(address.service(), "-");
  EXPECT_EQ(transport.live(), 1u);
}

TEST_F(AddressTest, NumbersOfPortsAreDecimalAndFit16Bits) {
  for (const char* service : {"0", "1", "80", "7204", "65535", "00080"}) {
    EXPECT_EQ(Lookup(service), Rc::kOk) << service;
  }
}

TEST_F(AddressTest, WhatStartsLikeANumberMustBeAPort) {
  EXPECT_CALL(transport, GetAddrInfo).Times(0);
  for (const char* service : {"", "65536", "70000", "-1", "+80", " 80", "\t80",
                              "7204x", "80 ", "99999999999999999999"}) {
    EXPECT_EQ(Lookup(service), Rc::kInval) << '"' << service << '"';
    EXPECT_THAT(log.Take(),
                ElementsAre(HasSubstr(std::string("port \"") + service + '"')));
  }
}

TEST_F(AddressTest, AnythingElseIsTheNameOfAService) {
  EXPECT_CALL(transport, GetAddrInfo(_, StrEq("http"), _, _));
  EXPECT_EQ(Lookup("http"), Rc::kOk);
}

TEST_F(AddressTest, FailedLookupIsExplained) {
  EXPECT_CALL(transport, GetAddrInfo)
      .WillOnce(Return(EAI_NONAME))
      .WillOnce(Return(ENOMEM));
  EXPECT_CALL(transport, WhyNoDevice).Times(0);
  EXPECT_EQ(Lookup("1"), Rc::kProvider);
  EXPECT_EQ(Lookup("2"), Rc::kProvider);
  EXPECT_THAT(
      log.Take(),
      ElementsAre("E rdma_getaddrinfo(node=host, port=1) failed: " +
                      std::string(gai_strerror(EAI_NONAME)),
                  "E rdma_getaddrinfo(node=host, port=2) failed: Cannot "
                  "allocate memory"));
}

TEST_F(AddressTest, TheTransportExplainsThatThereIsNoDevice) {
  EXPECT_CALL(transport, GetAddrInfo).WillRepeatedly(Return(ENODEV));
  EXPECT_CALL(transport, WhyNoDevice)
      .WillOnce(Return(nullptr))
      .WillRepeatedly(Return("none is plugged in"));
  EXPECT_EQ(Lookup("1"), Rc::kProvider);
  EXPECT_EQ(Lookup("2"), Rc::kProvider);
  EXPECT_THAT(
      log.Take(),
      ElementsAre(
          "E rdma_getaddrinfo(node=host, port=1) failed: No such device",
          "E rdma_getaddrinfo(node=host, port=2) failed: none is plugged in"));
}

TEST_F(AddressTest, BindsAndResolvesWithWhatWasFound) {
  rdma_addrinfo info = {};
  rdma_cm_id id = {};
  EXPECT_CALL(transport, GetAddrInfo)
      .WillOnce([&](auto, auto, auto, rdma_addrinfo** out) {
        *out = &info;
        return 0;
      });
  EXPECT_CALL(transport, FreeAddrInfo(&info)).WillOnce(Return());
  Address address;
  ASSERT_EQ(
      Address::Lookup(transport, Address::Side::kRemote, "host", "1", &address),
      Rc::kOk);
  EXPECT_CALL(transport, BindAddr(&id, Ref(info)))
      .WillOnce(Return(Errno::kOk))
      .WillOnce(Return(Errno{EADDRINUSE}));
  EXPECT_EQ(address.Bind(&id), Rc::kOk);
  EXPECT_EQ(address.Bind(&id), Rc::kProvider);
  EXPECT_CALL(transport, ResolveAddr(&id, Ref(info), 500))
      .WillOnce(Return(Errno::kOk))
      .WillOnce(Return(Errno{ETIMEDOUT}));
  EXPECT_EQ(address.Resolve(&id, 500), Rc::kOk);
  EXPECT_EQ(address.Resolve(&id, 500), Rc::kProvider);
  EXPECT_THAT(log.Take(),
              ElementsAre("E rdma_bind_addr(node=host, port=1) failed: Address "
                          "already in use",
                          "E rdma_resolve_addr(node=host, port=1, "
                          "timeout_ms=500) failed: Connection timed out"));
}

}  // namespace
}  // namespace rpma
