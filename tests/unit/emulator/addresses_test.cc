// SPDX-License-Identifier: BSD-3-Clause
// Addresses, the table of their owners, and name resolution.

#include "emulator/addresses.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>

#include <memory>
#include <string>
#include <vector>

#include "emulator/addr_info.h"

namespace rpma::emu {
namespace {

// Devices are only compared.
Device* const kFirst = reinterpret_cast<Device*>(0x10);
Device* const kSecond = reinterpret_cast<Device*>(0x20);

IpAddress Ip(const char* text) {
  IpAddress ip;
  EXPECT_TRUE(ParseIp(text, &ip)) << text;
  return ip;
}

TEST(AddressesTest, NumericAddressesAreParsed) {
  EXPECT_EQ(Ip("127.0.0.1").family, AF_INET);
  EXPECT_EQ(Ip("127.0.0.1").bytes[0], 127);
  EXPECT_EQ(Ip("::1").family, AF_INET6);
  EXPECT_EQ(Ip("::1").bytes[15], 1);
  for (const char* text : {"", "localhost", "127.0.0", "1.2.3.4:5", ":::"}) {
    IpAddress ip;
    EXPECT_FALSE(ParseIp(text, &ip)) << text;
    EXPECT_EQ(ip.family, AF_UNSPEC);
  }
}

TEST(AddressesTest, ASocketAddressHasIpPortAndText) {
  sockaddr_storage storage;
  auto& address = reinterpret_cast<sockaddr&>(storage);
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) {
    ToSocketAddress(Ip(text), &storage);
    EXPECT_TRUE(IsInternet(&address));
    EXPECT_FALSE(IsWildcard(address));
    EXPECT_EQ(PortOf(address), 0);
    SetPort(address, 7204);
    EXPECT_EQ(PortOf(address), 7204);
    EXPECT_EQ(IpOf(address), Ip(text));
    sockaddr_storage copy;
    CopyAddress(address, &copy);
    EXPECT_EQ(ToText(reinterpret_cast<sockaddr&>(copy)), ToText(address));
  }
  EXPECT_EQ(ToText(address), "[2001:db8::1]:7204");
  ToSocketAddress(Ip("192.0.2.1"), &storage);
  EXPECT_EQ(ToText(address), "192.0.2.1:0");
  for (const char* text : {"0.0.0.0", "::"}) {
    ToSocketAddress(Ip(text), &storage);
    EXPECT_TRUE(IsWildcard(address));
  }
  address.sa_family = AF_UNIX;
  EXPECT_FALSE(IsInternet(&address));
  EXPECT_FALSE(IsInternet(nullptr));
}

TEST(AddressesTest, OwnersRoutesAndLoopback) {
  AddressTable table;
  EXPECT_EQ(table.Owner(Ip("127.0.0.1")), nullptr);
  table.AddLoopback(kFirst);
  EXPECT_EQ(table.Owner(Ip("127.0.0.1")), kFirst);
  EXPECT_EQ(table.Owner(Ip("127.255.0.9")), kFirst);
  EXPECT_EQ(table.Owner(Ip("::1")), kFirst);
  EXPECT_EQ(table.Owner(Ip("::2")), nullptr);
  EXPECT_EQ(table.Owner(Ip("128.0.0.1")), nullptr);
  EXPECT_EQ(table.Owner(Ip("0.0.0.0")), nullptr);

  table.AddOwner(Ip("127.0.0.2"), kSecond);
  EXPECT_EQ(table.Owner(Ip("127.0.0.2")), kSecond);
  EXPECT_EQ(table.Owner(Ip("127.0.0.1")), kFirst);
  table.AddRoute(Ip("192.0.2.1"), kSecond);
  EXPECT_EQ(table.Owner(Ip("192.0.2.1")), nullptr);
  EXPECT_EQ(table.Towards(Ip("192.0.2.1")), kSecond);
  EXPECT_EQ(table.Towards(Ip("127.0.0.1")), kFirst);
  EXPECT_EQ(table.AnyOf(kSecond, AF_INET), Ip("127.0.0.2"));
  EXPECT_EQ(table.AnyOf(kSecond, AF_INET6), Ip("::"));
  table.AddOwner(Ip("127.0.0.2"), kFirst);
  EXPECT_EQ(table.Owner(Ip("127.0.0.2")), kFirst);
}

struct FreeList {
  void operator()(rdma_addrinfo* info) const { FreeAddrInfo(info); }
};

std::unique_ptr<rdma_addrinfo, FreeList> LookUp(const char* node,
                                                const char* service,
                                                bool passive) {
  rdma_addrinfo* info = nullptr;
  EXPECT_EQ(LookUpAddrInfo(node, service, passive, &info), 0);
  return std::unique_ptr<rdma_addrinfo, FreeList>(info);
}

TEST(AddrInfoTest, AnActiveLookUpGivesADestination) {
  const auto info = LookUp("127.0.0.1", "7204", /*passive=*/false);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->ai_flags, 0);
  EXPECT_EQ(info->ai_family, AF_INET);
  EXPECT_EQ(info->ai_qp_type, IBV_QPT_RC);
  EXPECT_EQ(info->ai_port_space, RDMA_PS_TCP);
  EXPECT_EQ(info->ai_src_addr, nullptr);
  EXPECT_EQ(info->ai_src_len, 0u);
  EXPECT_EQ(info->ai_dst_len, sizeof(sockaddr_in));
  EXPECT_EQ(ToText(*info->ai_dst_addr), "127.0.0.1:7204");
  EXPECT_EQ(info->ai_dst_canonname, nullptr);
  EXPECT_EQ(info->ai_src_canonname, nullptr);
  EXPECT_EQ(info->ai_next, nullptr);
}

TEST(AddrInfoTest, APassiveLookUpGivesASource) {
  const auto info = LookUp("::1", nullptr, /*passive=*/true);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->ai_flags, RAI_PASSIVE);
  EXPECT_EQ(info->ai_family, AF_INET6);
  EXPECT_EQ(info->ai_dst_addr, nullptr);
  EXPECT_EQ(info->ai_src_len, sizeof(sockaddr_in6));
  EXPECT_EQ(ToText(*info->ai_src_addr), "[::1]:0");
}

TEST(AddrInfoTest, WithoutANodeThePassiveSideIsTheWildcards) {
  const auto info = LookUp(nullptr, "7204", /*passive=*/true);
  for (const rdma_addrinfo* entry = info.get(); entry != nullptr;
       entry = entry->ai_next) {
    EXPECT_TRUE(IsWildcard(*entry->ai_src_addr));
    EXPECT_EQ(PortOf(*entry->ai_src_addr), 7204);
  }
}

TEST(AddrInfoTest, LocalhostIsLoopback) {
  const auto info = LookUp("localhost", nullptr, /*passive=*/false);
  ASSERT_NE(info, nullptr);
  AddressTable table;
  table.AddLoopback(kFirst);
  EXPECT_EQ(table.Owner(IpOf(*info->ai_dst_addr)), kFirst);
}

TEST(AddrInfoTest, WhatTheResolverDoesNotKnowIsItsError) {
  auto* const untouched = reinterpret_cast<rdma_addrinfo*>(0x1);
  rdma_addrinfo* info = untouched;
  EXPECT_EQ(LookUpAddrInfo(nullptr, nullptr, true, &info), EAI_NONAME);
  EXPECT_EQ(LookUpAddrInfo("127.0.0.1", "no such service", false, &info),
            EAI_SERVICE);
  EXPECT_EQ(info, untouched);
  FreeAddrInfo(nullptr);
}

}  // namespace
}  // namespace rpma::emu
