// SPDX-License-Identifier: BSD-3-Clause
// Fabrics: their devices, addresses, options and census.

#include "emulator/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/syslog.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

namespace rpma::emu {
namespace {

std::unique_ptr<Fabric> Make(std::string_view options = "") {
  std::unique_ptr<Fabric> fabric;
  std::string error;
  EXPECT_EQ(Fabric::Create(options, &fabric, &error), 0) << error;
  return fabric;
}

Device* Owner(Fabric& fabric, const char* text) {
  IpAddress ip;
  EXPECT_TRUE(ParseIp(text, &ip));
  sockaddr_storage address;
  ToSocketAddress(ip, &address);
  return fabric.DeviceOwning(reinterpret_cast<sockaddr&>(address));
}

TEST(FabricTest, HasOneDeviceWithTheLoopbackAddresses) {
  const auto fabric = Make("profile=ib max_cqe=77");
  Device* const device = fabric->FindDevice("emu0");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->name(), "emu0");
  EXPECT_EQ(device->profile().name, "ib");
  EXPECT_EQ(device->profile().limits.max_cqe, 77u);
  EXPECT_EQ(Owner(*fabric, "127.0.0.1"), device);
  EXPECT_EQ(Owner(*fabric, "::1"), device);
  EXPECT_EQ(fabric->FindDevice(device->context()), device);
  EXPECT_EQ(fabric->FindDevice("emu1"), nullptr);
  EXPECT_EQ(fabric->FindDevice(static_cast<const ibv_context*>(nullptr)),
            nullptr);
  EXPECT_EQ(fabric->FindDeviceOfQp(1), nullptr);
}

TEST(FabricTest, StrictDevicesOwnNoLoopbackAddress) {
  const auto fabric = Make("strict_devices=on");
  EXPECT_EQ(Owner(*fabric, "127.0.0.1"), nullptr);
  EXPECT_EQ(Owner(*fabric, "::1"), nullptr);
}

TEST(FabricTest, BadOptionsMakeNoFabric) {
  std::unique_ptr<Fabric> fabric;
  std::string error;
  EXPECT_EQ(Fabric::Create("profile=rxe", &fabric, &error), EINVAL);
  EXPECT_EQ(error, "profile=rxe: allowed are roce, ib, iwarp");
  EXPECT_EQ(fabric, nullptr);
}

TEST(FabricTest, MoreDevicesAndAddressesAreAdded) {
  const auto fabric = Make();
  std::string error;
  ASSERT_EQ(fabric->AddDevice("emu1", "profile=iwarp", &error), 0) << error;
  EXPECT_EQ(fabric->AddDevice("emu1", "", &error), EEXIST);
  EXPECT_EQ(error, "there is a device \"emu1\" already");
  EXPECT_EQ(fabric->AddDevice("emu2", "timers=inline", &error), EINVAL);
  EXPECT_EQ(fabric->FindDevice("emu2"), nullptr);
  Device* const emu1 = fabric->FindDevice("emu1");
  ASSERT_NE(emu1, nullptr);
  EXPECT_TRUE(emu1->profile().iwarp);

  EXPECT_EQ(fabric->AddAddress("192.0.2.1", "emu1", &error), 0);
  EXPECT_EQ(Owner(*fabric, "192.0.2.1"), emu1);
  EXPECT_EQ(fabric->AddAddress("localhost", "emu1", &error), EINVAL);
  EXPECT_EQ(error, "\"localhost\" is no numeric IPv4 or IPv6 address");
  EXPECT_EQ(fabric->AddAddress("192.0.2.2", "emu2", &error), ENODEV);
  EXPECT_EQ(error, "there is no device \"emu2\"");
  EXPECT_EQ(fabric->AddRoute("192.0.2.2", "emu2", &error), ENODEV);
  EXPECT_EQ(fabric->AddRoute("", "emu1", &error), EINVAL);
}

TEST(FabricTest, TakesNoMoreDevicesThanQpNumbersTellApart) {
  const auto fabric = Make();
  std::string error;
  for (size_t i = 1; i < kMaxDevices; ++i) {
    ASSERT_EQ(fabric->AddDevice("more" + std::to_string(i), "", &error), 0)
        << error;
  }
  EXPECT_EQ(fabric->AddDevice("toomany", "", &error), EINVAL);
  EXPECT_EQ(error, "a fabric takes up to 256 devices");
  EXPECT_EQ(fabric->FindDevice("toomany"), nullptr);
}

TEST(FabricTest, DeviceThatGetsNoDescriptorIsRefused) {
  const auto fabric = Make();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string error;
  const int refused = fabric->AddDevice("emu1", "", &error);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused, EMFILE);
  EXPECT_EQ(error, "eventfd: Too many open files");
  EXPECT_EQ(fabric->FindDevice("emu1"), nullptr);
}

TEST(FabricTest, TimersPassAThousandTimesFasterUnlessToldOtherwise) {
  using std::chrono::seconds;
  EXPECT_EQ(Make()->Scale(seconds(4)), std::chrono::milliseconds(4));
  EXPECT_EQ(Make("timers=hardware")->Scale(seconds(4)), seconds(4));
}

TEST(FabricTest, TheCensusSumsUpAllDevices) {
  const auto fabric = Make();
  std::string error;
  ASSERT_EQ(fabric->AddDevice("emu1", "", &error), 0);
  ProtectionDomain* pds[2] = {};
  CompletionQueue* cqs[2] = {};
  CompletionChannel* channel = nullptr;
  SharedReceiveQueue* srq = nullptr;
  MemoryRegion* mr = nullptr;
  char byte = 0;
  Device* const devices[] = {fabric->FindDevice("emu0"),
                             fabric->FindDevice("emu1")};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(devices[i]->AllocPd(&pds[i]), 0);
    ASSERT_EQ(devices[i]->CreateCq(1, nullptr, &cqs[i]), 0);
  }
  ASSERT_EQ(devices[0]->CreateCompChannel(&channel), 0);
  ASSERT_EQ(devices[0]->RegMr(pds[0], &byte, 1, 0, &mr), 0);
  ASSERT_EQ(devices[1]->CreateSrq(pds[1], 1, 1, 0, &srq), 0);
  rdma_event_channel* events = nullptr;
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(fabric->cm().CreateEventChannel(&events), 0);
  ASSERT_EQ(fabric->cm().CreateId(nullptr, &id), 0);

  const Fabric::Census census = fabric->TakeCensus();
  EXPECT_EQ(census.verbs.pds, 2u);
  EXPECT_EQ(census.verbs.cqs, 2u);
  EXPECT_EQ(census.verbs.comp_channels, 1u);
  EXPECT_EQ(census.verbs.mrs, 1u);
  EXPECT_EQ(census.verbs.srqs, 1u);
  EXPECT_EQ(census.verbs.qps, 0u);
  EXPECT_EQ(census.cm.ids, 1u);
  EXPECT_EQ(census.cm.event_channels, 1u);
  EXPECT_EQ(census.cm.unacked_events, 0u);

  EXPECT_EQ(fabric->cm().DestroyId(id), 0);
  fabric->cm().DestroyEventChannel(events);
  EXPECT_EQ(devices[1]->DestroySrq(srq), 0);
  EXPECT_EQ(devices[0]->DeregMr(mr), 0);
  EXPECT_EQ(devices[0]->DestroyCompChannel(channel), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(devices[i]->DestroyCq(cqs[i]), 0);
    EXPECT_EQ(devices[i]->DeallocPd(pds[i]), 0);
  }
}

TEST(FabricTest, TheLogSinkHearsWhatTheFabricSays) {
  static std::string logged;
  const auto fabric = Make();
  fabric->Log(LOG_INFO, "nobody listens");
  fabric->SetLogSink([](int level, const char* text) {
    logged = std::to_string(level) + text;
  });
  fabric->Log(LOG_ERR, " heard");
  EXPECT_EQ(logged, std::to_string(LOG_ERR) + " heard");
}

}  // namespace
}  // namespace rpma::emu
