// SPDX-License-Identifier: BSD-3-Clause
// Finding devices by address, and what they can do.

#include <string>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kLocal = RPMA_UTIL_IBV_CONTEXT_LOCAL;
constexpr auto kRemote = RPMA_UTIL_IBV_CONTEXT_REMOTE;

class UtilsTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, UtilsTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

class RemoteHostTest : public ConformanceTest {
 protected:
  void Extend(Emulation& emulation) override {
    emulation.AddSilentHost("10.77.0.9");
  }
};

INSTANTIATE_TEST_SUITE_P(, RemoteHostTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

class LoopbackDeviceTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(
    , LoopbackDeviceTest,
    ::testing::ValuesIn(With(&Provider::serves_loopback_addresses,
                             Providers())),
    ProviderName);

TEST_P(LoopbackDeviceTest, IsThatOfTheHost) {
  for (const char* node : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    for (const auto type : {kLocal, kRemote}) {
      SCOPED_TRACE(node);
      ibv_context* found = nullptr;
      EXPECT_THAT(rpma_utils_get_ibv_context(node, type, &found), IsOk());
      EXPECT_EQ(found, context());
    }
  }
}

TEST_P(UtilsTest, ContextIsGenuine) {
  ASSERT_NE(context()->device, nullptr);
  EXPECT_NE(std::string(context()->device->name), "");
  EXPECT_GE(context()->async_fd, 0);
  EXPECT_GE(context()->num_comp_vectors, 1);
}

TEST_P(UtilsTest, AddressesOfNoDeviceAreRefused) {
  // TEST-NET-3 of RFC 5737, and the wildcards.
  for (const char* node : {"203.0.113.1", "0.0.0.0", "::"}) {
    SCOPED_TRACE(node);
    ibv_context* found = nullptr;
    EXPECT_THAT(rpma_utils_get_ibv_context(node, kLocal, &found),
                RcIs(RPMA_E_PROVIDER));
    EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr(node)));
    EXPECT_EQ(found, nullptr);
  }
  ibv_context* found = nullptr;
  EXPECT_THAT(rpma_utils_get_ibv_context("203.0.113.1", kRemote, &found),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("rdma_resolve_addr")));
  EXPECT_EQ(found, nullptr);
}

TEST_P(RemoteHostTest, LeadsToTheDeviceOfItsRoute) {
  ibv_context* found = nullptr;
  EXPECT_THAT(rpma_utils_get_ibv_context("10.77.0.9", kRemote, &found), IsOk());
  EXPECT_EQ(found, context());
  found = nullptr;
  EXPECT_THAT(rpma_utils_get_ibv_context("10.77.0.9", kLocal, &found),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("rdma_bind_addr")));
  EXPECT_EQ(found, nullptr);
}

TEST_P(UtilsTest, UnknownHostIsRefused) {
  // A label has at most 63 characters (RFC 1035 2.3.4), so nobody is asked.
  const std::string host(64, 'x');
  ibv_context* found = nullptr;
  EXPECT_THAT(rpma_utils_get_ibv_context(host.c_str(), kLocal, &found),
              RcIs(RPMA_E_PROVIDER));
  EXPECT_THAT(log().TakeErrors(), ElementsAre(HasSubstr("rdma_getaddrinfo")));
}

TEST_P(UtilsTest, InvalidArgumentsOfTheSearch) {
  ibv_context* found = nullptr;
  EXPECT_THAT(rpma_utils_get_ibv_context(nullptr, kLocal, &found),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_utils_get_ibv_context(address(), kLocal, nullptr),
              RcIs(RPMA_E_INVAL));
  for (const int type : {-1, 2}) {
    EXPECT_THAT(
        rpma_utils_get_ibv_context(
            address(), static_cast<rpma_util_ibv_context_type>(type), &found),
        RcIs(RPMA_E_INVAL));
  }
  EXPECT_EQ(found, nullptr);
  log().Discard();
}

TEST_P(UtilsTest, TellsWhetherTheDevicePagesOnDemand) {
  int capable = -1;
  ASSERT_THAT(rpma_utils_ibv_context_is_odp_capable(context(), &capable),
              IsOk());
  EXPECT_EQ(capable, provider().on_demand_paging ? 1 : 0);
  EXPECT_THAT(rpma_utils_ibv_context_is_odp_capable(nullptr, &capable),
              RcIs(RPMA_E_INVAL));
  EXPECT_THAT(rpma_utils_ibv_context_is_odp_capable(context(), nullptr),
              RcIs(RPMA_E_INVAL));
  log().Discard();
}

// A host without an RDMA device behind its loopback interface, as most are.
class StrictDevicesTest : public ::testing::TestWithParam<const Provider*> {
 protected:
  LogGuard log_;
  const Emulation emulation_{GetParam()->name, "strict_devices=on"};
};

INSTANTIATE_TEST_SUITE_P(, StrictDevicesTest,
                         ::testing::ValuesIn(EmulatedProviders()),
                         ProviderName);

TEST_P(StrictDevicesTest, LoopbackAddressesLeadNowhere) {
  for (const char* node : {"127.0.0.1", "::1", "localhost"}) {
    for (const auto type : {kLocal, kRemote}) {
      SCOPED_TRACE(node);
      ibv_context* found = nullptr;
      EXPECT_THAT(rpma_utils_get_ibv_context(node, type, &found),
                  RcIs(RPMA_E_PROVIDER));
      EXPECT_EQ(found, nullptr);
      EXPECT_THAT(
          log_.TakeErrors(),
          ElementsAre(AllOf(HasSubstr(node), HasSubstr("No such device"))));
    }
  }
}

}  // namespace
}  // namespace rpma::test
