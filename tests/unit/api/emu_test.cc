// SPDX-License-Identifier: BSD-3-Clause
// The control of the emulator: every function of librpma_emu.h, its errors, and
// which fabric rpma_utils_get_ibv_context() uses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>
#include <librpma_emu.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "emulator/options.h"

namespace rpma {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> logged;

void Log(enum rpma_log_level, const char*, int, const char*, const char* format,
         ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  logged.emplace_back(text);
}

ibv_context* Local(const char* address) {
  ibv_context* context = nullptr;
  const int result = rpma_utils_get_ibv_context(
      address, RPMA_UTIL_IBV_CONTEXT_LOCAL, &context);
  EXPECT_EQ(result == 0, context != nullptr);
  return context;
}

rpma_emu_census Census(const rpma_emu_fabric* fabric) {
  rpma_emu_census census{};
  EXPECT_EQ(rpma_emu_get_census(fabric, &census), 0);
  return census;
}

class EmuTest : public testing::Test {
 protected:
  void SetUp() override {
    logged.clear();
    ASSERT_EQ(rpma_log_set_function(Log), 0);
    ASSERT_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_ERROR),
              0);
    ASSERT_EQ(rpma_emu_fabric_new(nullptr, &fabric_), 0);
    ASSERT_EQ(rpma_emu_fabric_select(fabric_), 0);
  }

  void TearDown() override {
    EXPECT_EQ(rpma_emu_fabric_delete(&fabric_), 0);
    EXPECT_EQ(fabric_, nullptr);
    EXPECT_EQ(rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION), 0);
  }

  rpma_emu_fabric* fabric_ = nullptr;
};

TEST_F(EmuTest, WrongOptionsAreRefusedAndTheLogSaysWhy) {
  auto* const untouched = reinterpret_cast<rpma_emu_fabric*>(0x1);
  rpma_emu_fabric* fabric = untouched;
  EXPECT_EQ(rpma_emu_fabric_new("profile=rxe", &fabric), RPMA_E_INVAL);
  EXPECT_EQ(fabric, untouched);
  EXPECT_THAT(logged, Contains(HasSubstr("allowed are roce, ib, iwarp")));
  EXPECT_EQ(rpma_emu_fabric_reset(fabric_, "timers=slow"), RPMA_E_INVAL);
  EXPECT_THAT(logged, Contains(HasSubstr("allowed are inline, hardware")));
  EXPECT_EQ(rpma_emu_device_add(fabric_, "emu1", "timers=inline"),
            RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_device_add(fabric_, "emu0", nullptr), RPMA_E_INVAL);
  EXPECT_THAT(logged, Contains(HasSubstr("\"emu0\" already")));
  EXPECT_NE(Local("127.0.0.1"), nullptr);
}

TEST_F(EmuTest, MissingArgumentsAreInvalid) {
  EXPECT_EQ(rpma_emu_fabric_new("", nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_fabric_delete(nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_device_add(fabric_, nullptr, ""), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_device_add(fabric_, "", ""), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_address_add(fabric_, nullptr, "emu0"), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_address_add(fabric_, "192.0.2.1", nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_route_add(fabric_, nullptr, "emu0"), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_route_add(fabric_, "192.0.2.1", nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_get_census(fabric_, nullptr), RPMA_E_INVAL);
  char text[8] = "before";
  EXPECT_EQ(rpma_emu_explain(fabric_, 0, nullptr, 8), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_explain(fabric_, 0, text, 0), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_explain(fabric_, 0xffffff, text, 8), RPMA_E_INVAL);
  EXPECT_STREQ(text, "before");
  EXPECT_EQ(rpma_emu_get_async_event(fabric_, Local("::1"), nullptr),
            RPMA_E_INVAL);
  ibv_async_event event{};
  EXPECT_EQ(rpma_emu_get_async_event(fabric_, nullptr, &event), RPMA_E_INVAL);
  EXPECT_EQ(logged.size(), 14u);
}

TEST_F(EmuTest, DeletingNothingIsNoError) {
  rpma_emu_fabric* none = nullptr;
  EXPECT_EQ(rpma_emu_fabric_delete(&none), 0);
}

TEST_F(EmuTest, DevicesGetTheirAddresses) {
  EXPECT_EQ(Local("192.0.2.1"), nullptr);
  ASSERT_EQ(rpma_emu_device_add(fabric_, "second", "profile=ib"), 0);
  ASSERT_EQ(rpma_emu_address_add(fabric_, "192.0.2.1", "second"), 0);
  ibv_context* const second = Local("192.0.2.1");
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second, Local("127.0.0.1"));
  EXPECT_STREQ(second->device->name, "second");
  int odp = 0;
  ASSERT_EQ(rpma_utils_ibv_context_is_odp_capable(second, &odp), 0);
  EXPECT_EQ(odp, 1);

  logged.clear();
  EXPECT_EQ(rpma_emu_address_add(fabric_, "host", "second"), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_address_add(fabric_, "192.0.2.1", "third"), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_route_add(fabric_, "192.0.2.1", "third"), RPMA_E_INVAL);
  EXPECT_EQ(logged.size(), 3u);
}

TEST_F(EmuTest, ARouteLeadsToADevice) {
  ibv_context* context = nullptr;
  EXPECT_EQ(rpma_utils_get_ibv_context("192.0.2.1",
                                       RPMA_UTIL_IBV_CONTEXT_REMOTE, &context),
            RPMA_E_PROVIDER);
  ASSERT_EQ(rpma_emu_route_add(fabric_, "192.0.2.1", "emu0"), 0);
  ASSERT_EQ(rpma_utils_get_ibv_context("192.0.2.1",
                                       RPMA_UTIL_IBV_CONTEXT_REMOTE, &context),
            0);
  EXPECT_EQ(context, Local("127.0.0.1"));
}

TEST_F(EmuTest, StrictDevicesOwnNoLoopbackAddress) {
  ASSERT_EQ(rpma_emu_fabric_reset(fabric_, "strict_devices=on"), 0);
  EXPECT_EQ(Local("127.0.0.1"), nullptr);
  EXPECT_EQ(Local("::1"), nullptr);
  EXPECT_THAT(logged, Contains(HasSubstr("127.0.0.1")));
  ASSERT_EQ(rpma_emu_fabric_reset(fabric_, nullptr), 0);
  EXPECT_NE(Local("127.0.0.1"), nullptr);
}

TEST_F(EmuTest, TheCensusCountsWhatLives) {
  rpma_peer* peer = nullptr;
  rpma_mr_local* mr = nullptr;
  rpma_srq* srq = nullptr;
  rpma_ep* ep = nullptr;
  rpma_conn_req* request = nullptr;
  char byte = 0;
  ASSERT_EQ(rpma_peer_new(Local("127.0.0.1"), &peer), 0);
  ASSERT_EQ(rpma_mr_reg(peer, &byte, 1, RPMA_MR_USAGE_READ_SRC, &mr), 0);
  ASSERT_EQ(rpma_srq_new(peer, nullptr, &srq), 0);
  ASSERT_EQ(rpma_ep_listen(peer, "127.0.0.1", "7204", &ep), 0);
  ASSERT_EQ(rpma_conn_req_new(peer, "127.0.0.1", "7204", nullptr, &request), 0);

  const rpma_emu_census census = Census(fabric_);
  EXPECT_EQ(census.pds, 1u);
  EXPECT_EQ(census.mrs, 1u);
  EXPECT_EQ(census.srqs, 1u);
  EXPECT_EQ(census.qps, 1u);
  EXPECT_EQ(census.cqs, 2u);            // the request's and the SRQ's
  EXPECT_EQ(census.comp_channels, 2u);  // of these two
  EXPECT_EQ(census.cm_ids, 2u);         // the endpoint's and the request's
  EXPECT_EQ(census.event_channels, 1u);
  EXPECT_EQ(census.unacked_events, 0u);

  rpma_emu_fabric* fabric = fabric_;
  EXPECT_EQ(rpma_emu_fabric_delete(&fabric), RPMA_E_INVAL);
  EXPECT_EQ(fabric, fabric_);
  EXPECT_EQ(rpma_emu_fabric_reset(fabric_, ""), RPMA_E_INVAL);
  EXPECT_EQ(logged.size(), 2u);
  EXPECT_THAT(logged, testing::Each(HasSubstr("1 PDs, 1 MRs")));

  EXPECT_EQ(rpma_conn_req_delete(&request), 0);
  EXPECT_EQ(rpma_ep_shutdown(&ep), 0);
  EXPECT_EQ(rpma_srq_delete(&srq), 0);
  EXPECT_EQ(rpma_mr_dereg(&mr), 0);
  EXPECT_EQ(rpma_peer_delete(&peer), 0);
  const rpma_emu_census none = Census(fabric_);
  EXPECT_EQ(none.pds + none.mrs + none.srqs + none.qps + none.cqs, 0u);
  EXPECT_EQ(none.comp_channels + none.cm_ids + none.event_channels, 0u);
}

TEST_F(EmuTest, EachFabricIsAWorldOfItsOwn) {
  rpma_emu_fabric* other = nullptr;
  ASSERT_EQ(rpma_emu_fabric_new("profile=iwarp", &other), 0);
  ibv_context* const here = Local("127.0.0.1");
  ASSERT_EQ(rpma_emu_fabric_select(other), 0);
  ibv_context* const there = Local("127.0.0.1");
  EXPECT_NE(here, there);
  EXPECT_EQ(here->device->transport_type, IBV_TRANSPORT_IB);
  EXPECT_EQ(there->device->transport_type, IBV_TRANSPORT_IWARP);

  // A peer stays on the fabric of its context, whatever is selected.
  rpma_peer* peer = nullptr;
  ASSERT_EQ(rpma_peer_new(here, &peer), 0);
  EXPECT_EQ(Census(fabric_).pds, 1u);
  EXPECT_EQ(Census(other).pds, 0u);
  EXPECT_EQ(rpma_peer_delete(&peer), 0);
  ibv_async_event event{};
  EXPECT_EQ(rpma_emu_get_async_event(fabric_, there, &event), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_fabric_delete(&other), 0);
}

TEST_F(EmuTest, NullIsTheDefaultFabric) {
  ASSERT_EQ(rpma_emu_fabric_select(nullptr), 0);
  ibv_context* const context = Local("127.0.0.1");
  ASSERT_NE(context, nullptr);
  rpma_peer* peer = nullptr;
  ASSERT_EQ(rpma_peer_new(context, &peer), 0);
  EXPECT_EQ(Census(nullptr).pds, 1u);
  EXPECT_EQ(Census(fabric_).pds, 0u);
  EXPECT_EQ(rpma_emu_fabric_reset(nullptr, ""), RPMA_E_INVAL);
  EXPECT_EQ(rpma_peer_delete(&peer), 0);
  EXPECT_EQ(rpma_emu_device_add(nullptr, "added", nullptr), 0);
  EXPECT_EQ(rpma_emu_device_add(nullptr, "added", nullptr), RPMA_E_INVAL);
  EXPECT_EQ(rpma_emu_fabric_reset(nullptr, nullptr), 0);
  EXPECT_EQ(rpma_emu_device_add(nullptr, "added", nullptr), 0);
}

rpma_emu_fabric* selected_when_logging = nullptr;

void SelectAFabric(enum rpma_log_level, const char*, int, const char*,
                   const char* format, ...) {
  std::fputs(format, stderr);
  if (rpma_emu_fabric_select(selected_when_logging) == 0) {
    std::fputs("selected", stderr);
  }
}

using EmuDeathTest = EmuTest;

// In a process of its own, whose default fabric does not exist yet: death tests
// run before all others.
TEST_F(EmuDeathTest, TheLogFunctionMayUseFabricsWhenTheEnvironmentIsWrong) {
  const auto use_wrong_environment = [this] {
    selected_when_logging = fabric_;
    rpma_log_set_function(SelectAFabric);
    setenv("RPMA_EMU", "profile=token_ring", 1);
    rpma_emu_census census;
    std::_Exit(rpma_emu_get_census(nullptr, &census) == RPMA_E_INVAL ? 0 : 1);
  };
  EXPECT_EXIT(use_wrong_environment(), testing::ExitedWithCode(0), "selected");
}

TEST_F(EmuTest, NoAsynchronousEventWaitsAtFirst) {
  ibv_async_event event{};
  EXPECT_EQ(rpma_emu_get_async_event(fabric_, Local("127.0.0.1"), &event),
            RPMA_E_NO_EVENT);
  EXPECT_THAT(logged, IsEmpty());
}

TEST_F(EmuTest, AFailedOperationIsExplainedAndRaisesAnEvent) {
  rpma_peer* peer = nullptr;
  rpma_ep* ep = nullptr;
  rpma_conn_req* active_request = nullptr;
  rpma_conn_req* passive_request = nullptr;
  rpma_conn* active = nullptr;
  rpma_conn* passive = nullptr;
  rpma_mr_local* mr = nullptr;
  rpma_mr_remote* remote = nullptr;
  char memory[64] = {};
  char descriptor[64] = {};
  size_t size = 0;
  ibv_context* const context = Local("127.0.0.1");
  ASSERT_EQ(rpma_peer_new(context, &peer), 0);
  ASSERT_EQ(rpma_ep_listen(peer, "127.0.0.1", "7204", &ep), 0);
  ASSERT_EQ(
      rpma_conn_req_new(peer, "127.0.0.1", "7204", nullptr, &active_request),
      0);
  ASSERT_EQ(rpma_conn_req_connect(&active_request, nullptr, &active), 0);
  ASSERT_EQ(rpma_ep_next_conn_req(ep, nullptr, &passive_request), 0);
  ASSERT_EQ(rpma_conn_req_connect(&passive_request, nullptr, &passive), 0);
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  ASSERT_EQ(rpma_conn_next_event(active, &event), 0);
  ASSERT_EQ(rpma_conn_next_event(passive, &event), 0);
  uint32_t qp_num = 0;
  ASSERT_EQ(rpma_conn_get_qp_num(active, &qp_num), 0);
  char text[200] = "before";
  EXPECT_EQ(rpma_emu_explain(fabric_, qp_num, text, sizeof(text)), 0);
  EXPECT_STREQ(text, "");

  // Writes to a region that was deregistered.
  ASSERT_EQ(rpma_mr_reg(peer, memory, sizeof(memory),
                        RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_WRITE_SRC, &mr),
            0);
  ASSERT_EQ(rpma_mr_get_descriptor_size(mr, &size), 0);
  ASSERT_EQ(rpma_mr_get_descriptor(mr, descriptor), 0);
  ASSERT_EQ(rpma_mr_remote_from_descriptor(descriptor, size, &remote), 0);
  ASSERT_EQ(rpma_mr_dereg(&mr), 0);
  ASSERT_EQ(
      rpma_mr_reg(peer, memory, sizeof(memory), RPMA_MR_USAGE_WRITE_SRC, &mr),
      0);
  ASSERT_EQ(rpma_write(active, remote, 0, mr, 0, 8, RPMA_F_COMPLETION_ALWAYS,
                       nullptr),
            0);
  rpma_cq* cq = nullptr;
  ibv_wc wc{};
  ASSERT_EQ(rpma_conn_get_cq(active, &cq), 0);
  ASSERT_EQ(rpma_cq_get_wc(cq, 1, &wc, nullptr), 0);
  EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(rpma_emu_explain(fabric_, wc.qp_num, text, sizeof(text)), 0);
  EXPECT_THAT(text, HasSubstr("deregistered"));
  EXPECT_EQ(rpma_emu_explain(fabric_, wc.qp_num, text, 5), 0);
  EXPECT_EQ(std::string(text).size(), 4u);
  ibv_async_event async{};
  EXPECT_EQ(rpma_emu_get_async_event(fabric_, context, &async), 0);
  EXPECT_EQ(async.event_type, IBV_EVENT_QP_ACCESS_ERR);

  EXPECT_EQ(rpma_mr_remote_delete(&remote), 0);
  EXPECT_EQ(rpma_mr_dereg(&mr), 0);
  EXPECT_EQ(rpma_conn_delete(&active), 0);
  EXPECT_EQ(rpma_conn_delete(&passive), 0);
  EXPECT_EQ(rpma_ep_shutdown(&ep), 0);
  EXPECT_EQ(rpma_peer_delete(&peer), 0);
}

TEST_F(EmuTest, TheFabricsLogReachesTheLibrarys) {
  ASSERT_EQ(rpma_log_set_threshold(RPMA_LOG_THRESHOLD, RPMA_LOG_LEVEL_INFO), 0);
  rpma_peer* peer = nullptr;
  rpma_conn_req* request = nullptr;
  rpma_conn* conn = nullptr;
  ASSERT_EQ(rpma_peer_new(Local("127.0.0.1"), &peer), 0);
  ASSERT_EQ(rpma_conn_req_new(peer, "127.0.0.1", "7204", nullptr, &request), 0);
  ASSERT_EQ(rpma_conn_req_connect(&request, nullptr, &conn), 0);
  EXPECT_THAT(logged, Contains(HasSubstr("connection to 127.0.0.1:7204 "
                                         "rejected: no CM id listens there")));
  EXPECT_EQ(rpma_conn_delete(&conn), 0);
  EXPECT_EQ(rpma_peer_delete(&peer), 0);
}

TEST(EmuHeaderTest, DocumentsEveryOption) {
  std::ifstream file("api/librpma_emu.h");
  const std::string header((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  ASSERT_FALSE(header.empty());
  for (const emu::OptionInfo& option : emu::KnownOptions()) {
    EXPECT_THAT(header, ContainsRegex("[^a-z_]" + std::string(option.name) +
                                      "[^a-z_]"));
  }
}

}  // namespace
}  // namespace rpma
