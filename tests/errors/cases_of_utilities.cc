// SPDX-License-Identifier: BSD-3-Clause
// Devices and the log.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/errors/cases.h"

namespace rpma::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- Devices -----------------------------------------------------------------

Call FindDevice(Stage& stage, rpma_util_ibv_context_type type) {
  return RPMA_CALL(rpma_utils_get_ibv_context, stage.client_address(), type,
                   stage.Out<ibv_context*>());
}

Call FindLocalDevice(Stage& stage) {
  return FindDevice(stage, RPMA_UTIL_IBV_CONTEXT_LOCAL);
}

Call FindRemoteDevice(Stage& stage) {
  return FindDevice(stage, RPMA_UTIL_IBV_CONTEXT_REMOTE);
}

// Finds a device of the default fabric while the k-th allocation fails. False
// if there were fewer.
bool FailsToFindDevice(FailingAllocator& allocator, LogGuard& log, uint64_t k) {
  ibv_context* context = nullptr;
  const size_t descriptors = CountDescriptors();
  const int64_t live = allocator.live();
  allocator.ArmNth(k);
  const int rc = rpma_utils_get_ibv_context(
      "127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &context);
  const bool fired = allocator.Fired();
  allocator.Disarm();
  const int64_t gained = allocator.live() - live;
  SCOPED_TRACE("allocation " + std::to_string(k));
  if (!fired) {
    EXPECT_THAT(rc, IsOk());
    EXPECT_NE(context, nullptr);
    return false;
  }
  EXPECT_THAT(rc, RcIs(RPMA_E_NOMEM));
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(gained, 0);
  EXPECT_EQ(CountDescriptors(), descriptors);
  EXPECT_THAT(log.TakeErrors(), ElementsAre(HasSubstr("out of memory")));
  return true;
}

// Looking up a device allocates only when that creates the default fabric.
void RunOutOfMemoryForTheDefaultFabric() {
  const std::string plan = ::testing::TempDir() + "/empty_plan";
  std::ofstream(plan).close();
  setenv("RPMA_EMU_FAULTS", plan.c_str(), 1);
  setenv("RPMA_TRANSPORT", "emulator", 1);
  // None is selected once this one is gone.
  { const Emulation other("roce", ""); }
  LogGuard log;
  FailingAllocator allocator;
  uint64_t k = 1;
  while (FailsToFindDevice(allocator, log, k)) ++k;
  EXPECT_GT(k, 1u) << "it allocates nothing";
}

// In a process of its own, as the default fabric is created once.
void InChild(void (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

void AddDevices(Registry& registry) {
  registry.Of("rpma_utils_get_ibv_context", FindLocalDevice)
      .Inval({"null:addr", "null:ibv_ctx_ptr"})
      .Add("RPMA_E_INVAL", "range:type:unknown",
           {WithNumber("type", 2), WithNumber("type", -1)})
      .Provider({"call:rdma_getaddrinfo", "call:rdma_create_id",
                 "call:rdma_bind_addr"});
  registry.Of("rpma_utils_get_ibv_context", FindRemoteDevice)
      .Provider({"call:rdma_resolve_addr"});
  registry.Add({"rpma_utils_get_ibv_context", "RPMA_E_NOMEM", "oom"},
               [] { InChild(RunOutOfMemoryForTheDefaultFabric); });
  registry
      .Of("rpma_utils_ibv_context_is_odp_capable",
          [](Stage& stage) {
            return RPMA_CALL(rpma_utils_ibv_context_is_odp_capable,
                             stage.context(), stage.Out<int>());
          })
      .Inval({"null:ibv_ctx", "null:is_odp_capable"})
      .Provider({"call:ibv_query_device_ex"});
}

// --- Log ---------------------------------------------------------------------

void Ignore(rpma_log_level, const char*, int, const char*, const char*, ...) {}

// Calls a function of the log over and over in several threads at once.
void ExpectNoContention(int (*function)(), int expected) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 1000;
  std::vector<int> others(kThreads, 0);
  std::vector<std::thread> threads;
  for (int& failed : others) {
    threads.emplace_back([&failed, function, expected] {
      for (int i = 0; i < kCalls; ++i) failed += function() != expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(others, ::testing::Each(0));
}

int DecisionOf(const Row& row) {
  return CodeOf(Table::Get().deviations.at(row).decision);
}

void AddContention(Registry& registry, const Row& row, int (*function)()) {
  registry.Add(row, [=] {
    ExpectNoContention(function, DecisionOf(row));
    rpma_log_set_function(RPMA_LOG_USE_DEFAULT_FUNCTION);
  });
}

void AddLog(Registry& registry) {
  registry
      .Of("rpma_log_set_threshold",
          [](Stage&) {
            return RPMA_CALL(rpma_log_set_threshold, RPMA_LOG_THRESHOLD,
                             RPMA_LOG_LEVEL_WARNING);
          })
      .Add("RPMA_E_INVAL", "range:threshold:unknown",
           {WithNumber("threshold", 2), WithNumber("threshold", -1)})
      .Add("RPMA_E_INVAL", "range:level:unknown",
           {WithNumber("level", 6), WithNumber("level", -2)});
  registry
      .Of("rpma_log_get_threshold",
          [](Stage& stage) {
            return RPMA_CALL(rpma_log_get_threshold, RPMA_LOG_THRESHOLD,
                             stage.Out<rpma_log_level>());
          })
      .Add("RPMA_E_INVAL", "range:threshold:unknown",
           {WithNumber("threshold", 2), WithNumber("threshold", -1)})
      .Inval({"null:level"});
  const std::string contention =
      "state:cas_contention if:built_without_C11_atomics";
  AddContention(registry, {"rpma_log_set_function", "RPMA_E_AGAIN", contention},
                [] { return rpma_log_set_function(&Ignore); });
  AddContention(registry,
                {"rpma_log_set_threshold", "RPMA_E_AGAIN", contention}, [] {
                  return rpma_log_set_threshold(RPMA_LOG_THRESHOLD,
                                                RPMA_LOG_LEVEL_WARNING);
                });
}

}  // namespace

void AddUtilityCases(Registry& registry) {
  AddDevices(registry);
  AddLog(registry);
}

}  // namespace rpma::test
