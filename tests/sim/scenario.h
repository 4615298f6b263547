// SPDX-License-Identifier: BSD-3-Clause
// What a run is like: asked for in part, the rest drawn from its seed.

#ifndef RPMA_TESTS_SIM_SCENARIO_H_
#define RPMA_TESTS_SIM_SCENARIO_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/fault_plan.h"

namespace rpma::sim {

enum class Schedule : uint8_t { kInline, kStepped };
const char* ToText(Schedule schedule);

// What the caller decides; everything that it leaves open depends on the seed.
struct RunOptions {
  uint64_t seed = 1;
  size_t steps = 500;
  std::string profile = {};  // "roce", "ib" or "iwarp"; empty: drawn
  Schedule schedule = Schedule::kStepped;
  bool faults = true;
  // Of the faults that the seed draws, only those with these numbers, from 0.
  std::optional<std::vector<size_t>> rules = std::nullopt;
  std::string trace = {};  // a file for the history of a stepped fabric
};

struct NodeOptions {
  std::string options;  // of the device
  bool native_flush = false;
  bool native_atomic_write = false;
  bool limits_rnr_retries = false;
};

// How often the walk does something; 0: never.
enum class ActionKind : uint8_t {
  kNewPeer,
  kDeletePeer,
  kRegister,
  kDeregister,
  kNewSrq,
  kDeleteSrq,
  kSrqRecv,
  kListen,
  kShutdown,
  kNewRequest,
  kDeleteRequest,
  kRequestRecv,
  kConnect,
  kNextRequest,
  kAccept,
  kNextEvent,
  kDisconnect,
  kDeleteConnection,
  kRecv,
  kSend,
  kWrite,
  kRead,
  kFlush,
  kAtomicWrite,
  kInvalidRequest,
  kApplyPeerCfg,
  kPoll,
  kWait,
  kStep,
  kSettle,
};
inline constexpr size_t kActionKinds = 30;
const char* ToText(ActionKind kind);

struct Scenario {
  RunOptions asked;
  std::string profile;
  std::vector<NodeOptions> nodes;
  std::vector<unsigned> weights;  // of the actions
  size_t max_regions = 8;
  size_t max_ends = 8;
  size_t max_endpoints = 3;
  // Chances, in percent, of what goes wrong by the walk's own doing.
  unsigned wrong_region = 0;   // a request on memory that does not allow it
  unsigned small_queue = 0;    // a completion queue that may overrun
  unsigned short_receive = 0;  // that may not take the next message
  unsigned unsignaled = 0;
  std::vector<FaultRule> plan;
};

Scenario Draw(const RunOptions& asked);

// One line.
std::string ToText(const Scenario& scenario);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_SCENARIO_H_
