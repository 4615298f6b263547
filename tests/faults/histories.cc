// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/histories.h"

#include "tests/faults/stage.h"

namespace rpma::faults {
namespace {

constexpr uint64_t kSeeds = 4;

// In which "#" stands for the seed, so that each seed also has faults of its
// own.
constexpr const char* kPlans[] = {
    "",
    "fail any nth=#",
    "fail any from=#",
    "fail ibv_poll_cq nth=#; fail rdma_get_cm_event nth=#",
    "drop any nth=#",
    "drop any what=response from=#",
    "delay any time=1s nth=#; duplicate any nth=#",
    "rnr time=1us nth=#",
    "complete any status=REM_ACCESS_ERR nth=#",
    "drop REQ; drop REP; drop RTU; drop DREQ",
    "delay REP time=10s; duplicate REQ; duplicate DREQ",
    "event ESTABLISHED delay=10ms; event DISCONNECTED ahead",
    "link device=emu0 state=down time=1s nth=#",
    "exit device=emu0 nth=#",
    "power device=emu1 nth=#",
    "remove device=emu1 nth=#",
    "overrun nth=#",
    "foreign_cq nth=#",
};

std::string With(std::string plan, uint64_t seed) {
  for (size_t at = plan.find('#'); at != plan.npos; at = plan.find('#')) {
    plan.replace(at, 1, std::to_string(seed));
  }
  return plan;
}

}  // namespace

std::string History::Name() const {
  return std::string(scenario->name) + " seed=" + std::to_string(seed) + " \"" +
         plan + "\"";
}

std::vector<History> HistoriesOf(const Scenario& scenario) {
  std::vector<History> all;
  for (const char* plan : kPlans) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      all.push_back({&scenario, With(plan, seed), seed});
    }
  }
  return all;
}

uint64_t HashOf(const History& history) {
  constexpr bool kApart = true;  // whatever breaks, the bystander goes on
  Stage stage(*history.scenario, history.seed, kApart);
  stage.Run({.plan = history.plan});
  return stage.TraceHash();
}

}  // namespace rpma::faults
