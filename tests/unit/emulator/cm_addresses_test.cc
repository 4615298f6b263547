// SPDX-License-Identifier: BSD-3-Clause
// Addresses, ports and devices of CM ids.

#include <gtest/gtest.h>
#include <ifaddrs.h>

#include <cerrno>
#include <memory>
#include <string>

#include "emulator/addresses.h"
#include "tests/unit/emulator/cm_fixture.h"

namespace rpma::emu {
namespace {

class CmAddressesTest : public CmFixture {
 protected:
  void SetUp() override { Start(""); }

  int Bind(const End& end, const char* ip, uint16_t port) {
    return cm().BindAddr(end.id(), Address(ip, port));
  }
};

uint16_t SourcePort(const End& end) { return PortOf(end->route.addr.src_addr); }

TEST_F(CmAddressesTest, AnUnboundIdHasNoDevice) {
  const End end(cm());
  EXPECT_EQ(end->verbs, nullptr);
  EXPECT_EQ(end->qp, nullptr);
  EXPECT_EQ(end->port_num, 0);
  EXPECT_EQ(end->ps, RDMA_PS_TCP);
  EXPECT_EQ(end->qp_type, IBV_QPT_RC);
  EXPECT_EQ(cm().CreateQp(end.id(), pd_, QpAttributes()), EINVAL);
}

TEST_F(CmAddressesTest, BindingToAnAddressBindsToItsDevice) {
  const End v4(cm());
  ASSERT_EQ(Bind(v4, "127.0.0.1", kPort), 0);
  EXPECT_EQ(v4->verbs, device_->context());
  EXPECT_EQ(v4->port_num, 1);
  EXPECT_EQ(SourcePort(v4), kPort);
  EXPECT_EQ(Bind(v4, "127.0.0.1", 1), EINVAL);
  const End v6(cm());
  ASSERT_EQ(Bind(v6, "::1", kPort), 0);
  EXPECT_EQ(v6->verbs, device_->context());
  const End other_loopback(cm());
  EXPECT_EQ(Bind(other_loopback, "127.3.2.1", 0), 0);
}

TEST_F(CmAddressesTest, EveryAddressOfThisHostHasADevice) {
  ifaddrs* list = nullptr;
  ASSERT_EQ(getifaddrs(&list), 0);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (!IsInternet(entry->ifa_addr)) continue;
    const End end(cm());
    EXPECT_EQ(cm().BindAddr(end.id(), entry->ifa_addr), 0)
        << ToText(*entry->ifa_addr);
  }
  freeifaddrs(list);
}

TEST_F(CmAddressesTest, AnotherLiteralHasNoDevice) {
  const End end(cm());
  EXPECT_EQ(Bind(end, "192.0.2.1", 0), ENODEV);
  EXPECT_EQ(Bind(end, "2001:db8::1", 0), ENODEV);
  EXPECT_EQ(end->verbs, nullptr);
  EXPECT_EQ(Bind(end, "127.0.0.1", 0), 0);
}

TEST_F(CmAddressesTest, OnlyInternetAddressesCanBeBoundAndResolved) {
  End end(cm());
  sockaddr_storage address{};
  address.ss_family = AF_UNIX;
  const auto* unix_address = reinterpret_cast<const sockaddr*>(&address);
  EXPECT_EQ(cm().BindAddr(end.id(), unix_address), EAFNOSUPPORT);
  EXPECT_EQ(cm().BindAddr(end.id(), nullptr), EAFNOSUPPORT);
  EXPECT_EQ(cm().ResolveAddr(end.id(), nullptr, unix_address), EAFNOSUPPORT);
  EXPECT_EQ(cm().ResolveAddr(end.id(), unix_address, Address("127.0.0.1", 1)),
            EAFNOSUPPORT);
  EXPECT_EQ(
      cm().ResolveAddr(end.id(), Address("::1", 0), Address("127.0.0.1", 1)),
      0);
  EXPECT_EQ(end.Next().status, -EINVAL);
}

TEST_F(CmAddressesTest, PortZeroStandsForAFreePort) {
  const End first(cm());
  const End second(cm());
  ASSERT_EQ(Bind(first, "127.0.0.1", 0), 0);
  ASSERT_EQ(Bind(second, "127.0.0.1", 0), 0);
  EXPECT_GE(SourcePort(first), 32768);
  EXPECT_GE(SourcePort(second), 32768);
  EXPECT_NE(SourcePort(first), SourcePort(second));
}

TEST_F(CmAddressesTest, APortIsTakenOnItsAddressAndByAWildcard) {
  auto holder = std::make_unique<End>(cm());
  const End other(cm());
  ASSERT_EQ(Bind(*holder, "127.0.0.1", kPort), 0);
  EXPECT_EQ(Bind(other, "127.0.0.1", kPort), EADDRINUSE);
  EXPECT_EQ(Bind(other, "0.0.0.0", kPort), EADDRINUSE);
  EXPECT_EQ(Bind(other, "::", kPort), EADDRINUSE);
  ASSERT_EQ(Bind(other, "127.0.0.2", kPort), 0);
  holder = nullptr;

  const End again(cm());
  EXPECT_EQ(Bind(again, "127.0.0.1", kPort), 0);
  const End wildcard(cm());
  ASSERT_EQ(Bind(wildcard, "0.0.0.0", kPort + 1), 0);
  const End late(cm());
  EXPECT_EQ(Bind(late, "::1", kPort + 1), EADDRINUSE);
}

TEST_F(CmAddressesTest, PortsRunOut) {
  std::vector<rdma_cm_id*> ids;
  int error = 0;
  while (error == 0) {
    rdma_cm_id* id = nullptr;
    ASSERT_EQ(cm().CreateId(nullptr, &id), 0);
    ids.push_back(id);
    error = cm().BindAddr(id, Address("127.0.0.1", 0));
  }
  EXPECT_EQ(error, EADDRNOTAVAIL);
  EXPECT_EQ(ids.size(), 28232u + 1);
  for (rdma_cm_id* id : ids) EXPECT_EQ(cm().DestroyId(id), 0);
}

TEST_F(CmAddressesTest, ListeningNeedsABoundId) {
  const End end(cm());
  EXPECT_EQ(cm().Listen(end.id(), 0), EINVAL);
  ASSERT_EQ(Bind(end, "0.0.0.0", kPort), 0);
  EXPECT_EQ(end->verbs, nullptr);
  EXPECT_EQ(cm().Listen(end.id(), 0), 0);
  EXPECT_EQ(cm().Listen(end.id(), 0), EINVAL);
}

TEST_F(CmAddressesTest, ASynchronousIdResolvesAtOnce) {
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm().CreateId(nullptr, &id), 0);
  EXPECT_EQ(cm().ResolveRoute(id), EINVAL);
  EXPECT_EQ(cm().ResolveAddr(id, nullptr, Address("192.0.2.1", 1)), ENODEV);
  EXPECT_EQ(cm().ResolveAddr(id, nullptr, Address("0.0.0.0", 1)), ENODEV);

  ASSERT_EQ(cm().ResolveAddr(id, nullptr, Address("127.0.0.1", kPort)), 0);

  EXPECT_EQ(id->verbs, device_->context());
  EXPECT_EQ(id->port_num, 1);
  EXPECT_EQ(ToText(id->route.addr.dst_addr), "127.0.0.1:7204");
  EXPECT_EQ(id->route.addr.src_sin.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  EXPECT_GE(PortOf(id->route.addr.src_addr), 32768);
  EXPECT_EQ(cm().ResolveAddr(id, nullptr, Address("127.0.0.1", 1)), EINVAL);
  EXPECT_EQ(cm().ResolveRoute(id), 0);
  EXPECT_EQ(cm().ResolveRoute(id), EINVAL);
  Channel channel(cm());
  ASSERT_EQ(cm().MigrateId(id, channel.get()), 0);
  EXPECT_TRUE(channel.IsEmpty());
  EXPECT_EQ(cm().DestroyId(id), 0);
}

TEST_F(CmAddressesTest, WithAChannelTheOutcomeIsAnEvent) {
  End end(cm());
  ASSERT_EQ(cm().ResolveAddr(end.id(), nullptr, Address("192.0.2.1", 1)), 0);
  const Seen failed = end.Next();
  EXPECT_EQ(failed.type, RDMA_CM_EVENT_ADDR_ERROR);
  EXPECT_EQ(failed.status, -ENODEV);
  EXPECT_EQ(failed.id, end.id());

  ASSERT_EQ(cm().ResolveAddr(end.id(), nullptr, Address("::1", kPort)), 0);
  const Seen resolved = end.Next();
  EXPECT_EQ(resolved.type, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(resolved.status, 0);
  EXPECT_EQ(end->verbs, device_->context());
  ASSERT_EQ(cm().ResolveRoute(end.id()), 0);
  EXPECT_EQ(end.Next().type, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

TEST_F(CmAddressesTest, TheSourceChoosesTheDevice) {
  std::string error;
  ASSERT_EQ(fabric().AddDevice("emu1", "", &error), 0);
  ASSERT_EQ(fabric().AddAddress("192.0.2.5", "emu1", &error), 0);
  Device* const emu1 = fabric().FindDevice("emu1");
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm().CreateId(nullptr, &id), 0);
  ASSERT_EQ(cm().ResolveAddr(id, Address("192.0.2.5", 4000),
                             Address("127.0.0.1", kPort)),
            0);
  EXPECT_EQ(id->verbs, emu1->context());
  EXPECT_EQ(ToText(id->route.addr.src_addr), "192.0.2.5:4000");
  EXPECT_EQ(cm().DestroyId(id), 0);

  // A wildcard gives no more than the port.
  ASSERT_EQ(cm().CreateId(nullptr, &id), 0);
  ASSERT_EQ(cm().ResolveAddr(id, Address("0.0.0.0", 4001),
                             Address("127.0.0.1", kPort)),
            0);
  EXPECT_EQ(id->verbs, device_->context());
  EXPECT_EQ(ToText(id->route.addr.src_addr), "127.0.0.1:4001");
  EXPECT_EQ(cm().DestroyId(id), 0);
}

TEST_F(CmAddressesTest, ARouteLeadsThroughItsDevice) {
  std::string error;
  ASSERT_EQ(fabric().AddDevice("emu1", "", &error), 0);
  ASSERT_EQ(fabric().AddAddress("192.0.2.5", "emu1", &error), 0);
  ASSERT_EQ(fabric().AddRoute("192.0.2.9", "emu1", &error), 0);
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(cm().CreateId(nullptr, &id), 0);
  ASSERT_EQ(cm().ResolveAddr(id, nullptr, Address("192.0.2.9", kPort)), 0);
  EXPECT_EQ(id->verbs, fabric().FindDevice("emu1")->context());
  EXPECT_EQ(id->route.addr.src_sin.sin_addr.s_addr,
            reinterpret_cast<const sockaddr_in*>(
                static_cast<const sockaddr*>(Address("192.0.2.5", 0)))
                ->sin_addr.s_addr);
  EXPECT_EQ(cm().DestroyId(id), 0);
}

TEST_F(CmAddressesTest, AQueuePairBelongsToItsId) {
  const auto active = NewActive();
  const rdma_cm_id& id = *active->id();
  EXPECT_EQ(id.pd, pd_);
  EXPECT_EQ(id.send_cq, cq_);
  EXPECT_EQ(id.recv_cq, cq_);
  EXPECT_EQ(id.srq, nullptr);
  EXPECT_EQ(active->qp().State(), IBV_QPS_INIT);
  EXPECT_EQ(fabric().FindDeviceOfQp(id.qp->qp_num), device_);
  EXPECT_EQ(cm().CreateQp(active->id(), pd_, QpAttributes()), EINVAL);
  QueuePairAttributes too_large = QpAttributes();
  too_large.max_send_wr = profile().limits.max_qp_wr + 1;
  ASSERT_EQ(cm().DestroyQp(active->id()), 0);
  EXPECT_NE(cm().CreateQp(active->id(), pd_, too_large), 0);
  EXPECT_EQ(active->id()->qp, nullptr);
}

}  // namespace
}  // namespace rpma::emu
