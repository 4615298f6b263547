// SPDX-License-Identifier: BSD-3-Clause
//
// Testing programs on librpma with GoogleTest, on the emulated network: a sweep
// that runs a scenario once for each fault that may happen in it, and matchers.
// docs/testing-your-application.md is the tour.

#ifndef RPMA_TESTING_H_
#define RPMA_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>
#include <librpma_emu.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace rpma_testing {

// --- Faults ------------------------------------------------------------------

// What can happen to a program that makes no mistake itself, as templates for
// FaultSweepOptions::rules:
//   - a provider call fails, once or from then on;
//   - a request completes with an error, and nothing happens at the target;
//   - a request or its acknowledgement is lost, once or from then on; a request
//     is late, or arrives twice;
//   - a message of the connection manager is lost, once or from then on;
//   - of each of `devices`: its link goes down, for a second or for good; its
//     process ends; it loses power; it is removed.
// A device is a node. Name those whose failure the scenario is meant to
// survive: in general not the one that the program under test runs on.
std::vector<std::string> FaultRules(
    const std::vector<std::string>& devices = {});

struct FaultSweepOptions {
  // The options of the fabric that each run gets. Stepped: a wait that cannot
  // end is reported, and a plan does the same whenever it is run.
  std::string fabric = "";
  // Called on each fabric before the scenario, for example to add devices.
  std::function<void(rpma_emu_fabric*)> prepare = {};
  // Plans of faults (docs/fault-plans.md). One with "%k" in it is run with 1,
  // 2, 3, ... in its place until a run in which nothing fired; another one is
  // run once.
  std::vector<std::string> rules = FaultRules();
  // The sweep ends after this many plans have failed.
  size_t max_failures = 1;
  // Whether a plan that fails makes the test fail.
  bool report = true;
  // More runs than this make the test fail in any case.
  uint64_t max_runs = 100'000;
};

struct FailedPlan {
  std::string plan = {};  // "": the scenario fails without faults
  std::vector<std::string> failures = {};  // what went wrong
  std::string log = {};                    // what librpma logged, in lines
};

void PrintTo(const FailedPlan& failed, std::ostream* out);

struct FaultSweepResult {
  uint64_t runs = 0;
  uint64_t fired = 0;  // runs in which a fault fired
  std::vector<FailedPlan> failures;
  // Rules that never fired: nothing in the scenario can suffer them.
  std::vector<std::string> unfired;
};

// Runs `scenario` without faults, and then for every fault that `options.rules`
// describe. Each run has a fabric of its own, which is selected: librpma finds
// its devices. The scenario uses librpma as a program does, and checks with
// GoogleTest what must be true whatever happens.
//
// A run fails if the scenario records a failure of GoogleTest, on any thread,
// or throws; if it leaves an object of librpma behind; if a wait had no end,
// which stepped fabrics log with level FATAL. Each failed plan is reported with
// the text that repeats it. Whatever options.report says, the test fails if a
// run in which no fault fired does, and if no fault fires in any run.
//
// If the environment variable RPMA_EMU_FAULTS names a file, `scenario` is run
// under the plan in that file only, and librpma's log goes to stderr.
//
// librpma's log function is replaced during the sweep and is the default one
// afterwards; no fabric is selected any more. One sweep at a time in a process.
FaultSweepResult ForEachFault(const std::function<void()>& scenario,
                              const FaultSweepOptions& options = {});

// In a scenario:
// How many faults have fired in this run. As long as none has, everything must
// succeed, which a scenario should check: a program that does nothing survives
// every fault. 0 if no sweep is under way.
uint64_t FaultsFired();
// The fabric of this run, nullptr if no sweep is under way. For
// rpma_emu_thread_attach(), rpma_emu_step() and others.
rpma_emu_fabric* CurrentFabric();

// In FaultSweepOptions::prepare: adds a device that owns `address` to a fabric.
// Connections to it leave through the fabric's first device, "emu0".
void AddHost(rpma_emu_fabric* fabric, const std::string& device,
             const std::string& address);

// --- Matchers ----------------------------------------------------------------

// "RPMA_E_INVAL", ...; "0"; the number if it is no result of librpma.
std::string RcName(int rc);

// What a function of librpma returned, by its name in messages.
::testing::Matcher<int> RcIs(int rc);
inline ::testing::Matcher<int> IsOk() { return RcIs(0); }

// "IBV_WC_RETRY_EXC_ERR", ...
std::string StatusName(ibv_wc_status status);

using CompletionMatcher = ::testing::Matcher<const ibv_wc&>;

// Completions. Only fields that are valid then are looked at (librpma.h, 5),
// and qp_num only if one is given.

// A request other than a receive.
CompletionMatcher Succeeded(uint64_t wr_id, ibv_wc_opcode opcode,
                            std::optional<uint32_t> qp_num = {});
// A READ that brought `byte_len` bytes.
CompletionMatcher ReadSucceeded(uint64_t wr_id, uint32_t byte_len,
                                std::optional<uint32_t> qp_num = {});
// A receive that took a message of `byte_len` bytes without immediate data.
CompletionMatcher Received(uint64_t wr_id, uint32_t byte_len,
                           std::optional<uint32_t> qp_num = {});
// A receive with the immediate data `imm`, in host order; `opcode` is
// IBV_WC_RECV or IBV_WC_RECV_RDMA_WITH_IMM.
CompletionMatcher ReceivedWithImm(uint64_t wr_id, ibv_wc_opcode opcode,
                                  uint32_t byte_len, uint32_t imm,
                                  std::optional<uint32_t> qp_num = {});
// A request or a receive that ended with this status, well or not.
CompletionMatcher EndedWith(uint64_t wr_id, ibv_wc_status status,
                            std::optional<uint32_t> qp_num = {});
// One that ended with an error.
CompletionMatcher FailedWith(uint64_t wr_id, ibv_wc_status status,
                             std::optional<uint32_t> qp_num = {});
inline CompletionMatcher Flushed(uint64_t wr_id,
                                 std::optional<uint32_t> qp_num = {}) {
  return FailedWith(wr_id, IBV_WC_WR_FLUSH_ERR, qp_num);
}

}  // namespace rpma_testing

// How values print in messages; in the namespace of their types, where
// GoogleTest looks.
void PrintTo(const ibv_wc& wc, std::ostream* out);
void PrintTo(rpma_conn_event event, std::ostream* out);

#endif  // RPMA_TESTING_H_
