// SPDX-License-Identifier: BSD-3-Clause
// Which fault acts on which of many, what is counted, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FaultInjectorTest : public ::testing::Test {
 protected:
  // What became of `tries` WRITEs of the client and as many READs of the
  // server, one after the other: the numbers of those that a fault acted on.
  std::vector<int> ActedOn(const Fault& fault, int tries) {
    pair_.SetFaults({fault});
    std::vector<int> acted;
    for (int i = 1; i <= 2 * tries; ++i) {
      const bool write = i % 2 == 1;
      if (faults_
              .OnTry({.site = write ? FaultSite::kWrite : FaultSite::kRead,
                      .requester = write ? &client_ : &server_,
                      .responder = write ? &server_ : &client_},
                     /*hold=*/false)
              .has_value()) {
        acted.push_back(i);
      }
    }
    EXPECT_EQ(faults_.counts().requests, static_cast<uint64_t>(2 * tries));
    EXPECT_EQ(faults_.counts().fired, acted.size());
    EXPECT_EQ(faults_.fired(0), acted.size());
    EXPECT_EQ(faults_.fired(1), 0u);
    return acted;
  }

  std::string WrongWith(const Fault& fault) {
    std::string error;
    EXPECT_EQ(faults_.Set(
                  {fault}, [](std::string_view) { return nullptr; }, &error),
              EINVAL);
    return error;
  }

  ConnectedPair pair_;
  Device& client_ = pair_.client.device;
  Device& server_ = pair_.server.device;
  FaultInjector& faults_ = pair_.environment.faults();
};

TEST_F(FaultInjectorTest, TheNthOfItsSiteIsActedOn) {
  EXPECT_THAT(ActedOn({.site = FaultSite::kWrite}, 3), ElementsAre(1));
  EXPECT_THAT(ActedOn({.site = FaultSite::kWrite, .nth = 2}, 3),
              ElementsAre(3));
  EXPECT_THAT(ActedOn({.site = FaultSite::kRead, .nth = 2}, 3), ElementsAre(4));
  EXPECT_THAT(ActedOn({.site = FaultSite::kAnyRequest, .nth = 4}, 3),
              ElementsAre(4));
  EXPECT_THAT(ActedOn({.site = FaultSite::kSend}, 3), ElementsAre());
  EXPECT_THAT(ActedOn({.site = FaultSite::kWrite, .nth = 4}, 3), ElementsAre());
}

TEST_F(FaultInjectorTest, FromMeansAllLaterOnesToo) {
  EXPECT_THAT(ActedOn({.site = FaultSite::kWrite, .nth = 2, .from = true}, 3),
              ElementsAre(3, 5));
}

TEST_F(FaultInjectorTest, ADeviceNarrowsWhatIsCounted) {
  EXPECT_THAT(
      ActedOn({.site = FaultSite::kAnyRequest, .nth = 2, .device = "server"},
              3),
      ElementsAre(4));
}

TEST_F(FaultInjectorTest, TheFirstFaultOfTheListActs) {
  pair_.SetFaults({{.site = FaultSite::kWrite, .nth = 2, .rule = 7},
                   {.action = FaultAction::kDuplicate,
                    .site = FaultSite::kAnyRequest,
                    .from = true,
                    .rule = 8}});
  const FaultInjector::Try write{
      .site = FaultSite::kWrite, .requester = &client_, .responder = &server_};
  EXPECT_EQ(faults_.OnTry(write, /*hold=*/false)->rule, 8u);
  const auto second = faults_.OnTry(write, /*hold=*/false);
  EXPECT_EQ(second->action, FaultAction::kDrop);
  EXPECT_EQ(second->rule, 7u);
  EXPECT_EQ(faults_.fired(0), 1u);
  EXPECT_EQ(faults_.fired(1), 1u);
}

TEST_F(FaultInjectorTest, WhatIsHeldIsNotCounted) {
  pair_.SetFaults({{.site = FaultSite::kWrite, .nth = 2}});
  const FaultInjector::Try write{
      .site = FaultSite::kWrite, .requester = &client_, .responder = &server_};
  EXPECT_FALSE(faults_.OnTry(write, /*hold=*/true).has_value());
  EXPECT_TRUE(faults_.OnTry(write, /*hold=*/true)->held);
  EXPECT_TRUE(faults_.OnTry(write, /*hold=*/true)->held);
  EXPECT_EQ(faults_.counts().requests, 1u);
  EXPECT_FALSE(faults_.OnTry(write, /*hold=*/false)->held);
  EXPECT_EQ(faults_.counts().requests, 2u);
}

TEST_F(FaultInjectorTest, WithoutAPlanNothingIsCounted) {
  EXPECT_FALSE(faults_.active());
  ASSERT_EQ(pair_.client.Write(1, 0, 8, pair_.server, 0), 0);
  EXPECT_EQ(faults_.counts().requests, 0u);

  pair_.SetFaults({});
  EXPECT_TRUE(faults_.active());
  ASSERT_EQ(pair_.client.Write(1, 0, 8, pair_.server, 0), 0);
  EXPECT_EQ(faults_.counts().requests, 1u);
  EXPECT_EQ(faults_.counts().completions, 1u);

  faults_.Clear();
  EXPECT_FALSE(faults_.active());
  EXPECT_EQ(faults_.counts().requests, 0u);
}

TEST_F(FaultInjectorTest, SettingCountsFromZero) {
  const Fault second{.site = FaultSite::kWrite, .nth = 2};
  EXPECT_THAT(ActedOn(second, 2), ElementsAre(3));
  EXPECT_THAT(ActedOn(second, 2), ElementsAre(3));
}

TEST_F(FaultInjectorTest, ContradictionsAreRefusedAndChangeNothing) {
  pair_.SetFaults({{.site = FaultSite::kWrite}});
  EXPECT_THAT(WrongWith({.site = FaultSite::kWrite, .nth = 0}),
              HasSubstr("number 1"));
  EXPECT_THAT(
      WrongWith({.action = FaultAction::kDelay, .site = FaultSite::kWrite}),
      HasSubstr("needs a time"));
  EXPECT_THAT(WrongWith({.action = FaultAction::kRnr}),
              HasSubstr("needs a time"));
  EXPECT_THAT(
      WrongWith({.action = FaultAction::kComplete, .site = FaultSite::kWrite}),
      HasSubstr("SUCCESS"));
  EXPECT_THAT(WrongWith({.action = FaultAction::kComplete,
                         .site = FaultSite::kReq,
                         .status = IBV_WC_GENERAL_ERR}),
              HasSubstr("only requests and receives"));
  EXPECT_THAT(WrongWith({.site = FaultSite::kReceive}),
              HasSubstr("only requests and CM messages"));
  EXPECT_THAT(WrongWith({.site = FaultSite::kReq, .response = true}),
              HasSubstr("no response"));
  EXPECT_THAT(WrongWith({.action = FaultAction::kShowEventAs,
                         .as = RDMA_CM_EVENT_CONNECT_REQUEST}),
              HasSubstr("CONNECT_REQUEST"));
  EXPECT_THAT(WrongWith({.action = FaultAction::kExit, .from = true}),
              HasSubstr("once"));
  EXPECT_THAT(WrongWith({.action = FaultAction::kExit, .device = "emu9"}),
              HasSubstr("no device \"emu9\""));
  EXPECT_THAT(WrongWith({.site = FaultSite::kWrite, .device = "emu9"}),
              HasSubstr("no device \"emu9\""));
  ASSERT_EQ(pair_.client.Write(1, 0, 8, pair_.server, 0), 0);
  EXPECT_EQ(faults_.fired(0), 1u);
}

TEST_F(FaultInjectorTest, OnlyWhatHappensToADeviceIsInjected) {
  std::string error;
  EXPECT_EQ(faults_.Inject(
                {.site = FaultSite::kWrite},
                [this](std::string_view) { return &client_; }, &error),
            EINVAL);
  EXPECT_THAT(error, HasSubstr("a device"));
}

}  // namespace
}  // namespace rpma::emu
