// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/scenario.h"

#include <algorithm>
#include <iterator>

#include "tests/sim/random.h"
#include "tests/sim/violation.h"

namespace rpma::sim {
namespace {

struct Action {
  const char* name;
  unsigned weight;
  bool may_be_off;  // some runs do without
};

// In the order of the enumerators.
constexpr Action kActions[] = {
    {"new_peer", 4, false},       {"delete_peer", 2, true},
    {"register", 12, false},      {"deregister", 4, true},
    {"new_srq", 4, true},         {"delete_srq", 2, true},
    {"srq_recv", 16, false},      {"listen", 8, false},
    {"shutdown", 3, true},        {"new_request", 30, false},
    {"delete_request", 2, true},  {"request_recv", 10, true},
    {"connect", 40, false},       {"next_request", 40, false},
    {"accept", 40, false},        {"next_event", 40, false},
    {"disconnect", 4, true},      {"delete_connection", 16, false},
    {"recv", 40, false},          {"send", 40, false},
    {"write", 40, false},         {"read", 30, true},
    {"flush", 20, true},          {"atomic_write", 15, true},
    {"invalid_request", 4, true}, {"apply_peer_cfg", 5, true},
    {"poll", 90, false},          {"wait", 30, true},
    {"step", 120, false},         {"settle", 3, true},
};
static_assert(std::size(kActions) == kActionKinds);

std::vector<unsigned> DrawWeights(Random& random) {
  std::vector<unsigned> weights;
  for (const Action& action : kActions) {
    unsigned weight = action.weight;
    if (action.may_be_off && random.OneIn(5)) weight = 0;
    if (random.OneIn(6)) weight *= 4;
    weights.push_back(weight);
  }
  return weights;
}

NodeOptions DrawNode(Random& random, const std::string& profile) {
  NodeOptions node;
  node.options =
      "profile=" + profile + " max_qp_wr=32 max_cqe=64 max_srq_wr=64";
  node.native_flush = random.OneIn(3);
  node.native_atomic_write = random.OneIn(3);
  node.limits_rnr_retries = profile != "iwarp" && random.OneIn(8);
  if (node.native_flush) node.options += " native_flush=on";
  if (node.native_atomic_write) node.options += " native_atomic_write=on";
  if (node.limits_rnr_retries) {
    node.options += Text(" rnr_retry=", random.Below(7));
  }
  if (random.OneIn(3)) node.options += " reads=late";
  if (random.OneIn(6)) node.options += " max_qp_init_rd_atom=1";
  if (random.OneIn(6)) node.options += " max_qp_rd_atom=1";
  if (random.OneIn(6)) node.options += " cq_overrun=drop";
  return node;
}

unsigned Chance(Random& random, unsigned percent) {
  return random.OneIn(2) ? 0 : percent;
}

// Whether the fault of this number is asked for.
bool IsAsked(const RunOptions& asked, size_t rule) {
  return !asked.rules.has_value() ||
         std::find(asked.rules->begin(), asked.rules->end(), rule) !=
             asked.rules->end();
}

}  // namespace

const char* ToText(Schedule schedule) {
  return schedule == Schedule::kInline ? "inline" : "stepped";
}

const char* ToText(ActionKind kind) {
  return kActions[static_cast<size_t>(kind)].name;
}

Scenario Draw(const RunOptions& asked) {
  constexpr const char* kProfiles[] = {"roce", "ib", "iwarp"};
  Random random(asked.seed, "scenario");
  Scenario scenario;
  scenario.asked = asked;
  const char* const drawn = random.Pick(kProfiles);
  scenario.profile = asked.profile.empty() ? drawn : asked.profile;
  const size_t nodes = random.Between(1, 3);
  for (size_t i = 0; i < nodes; ++i) {
    scenario.nodes.push_back(DrawNode(random, scenario.profile));
  }
  scenario.weights = DrawWeights(random);
  scenario.max_regions = random.Between(2, 10);
  scenario.max_ends = random.Between(2, 12);
  scenario.max_endpoints = random.Between(1, 4);
  scenario.wrong_region = Chance(random, 4);
  scenario.small_queue = Chance(random, 10);
  scenario.short_receive = Chance(random, 5);
  scenario.unsignaled = random.OneIn(4) ? 0 : 40;
  Random faults(asked.seed, "faults");
  if (!asked.faults) return scenario;
  const std::vector<FaultRule> plan = DrawPlan(faults, nodes);
  for (size_t i = 0; i < plan.size(); ++i) {
    if (IsAsked(asked, i)) scenario.plan.push_back(plan[i]);
  }
  return scenario;
}

std::string ToText(const Scenario& scenario) {
  std::string text = Text(
      "seed ", scenario.asked.seed, ", ", scenario.asked.steps,
      " steps, profile ", scenario.profile, ", schedule ",
      ToText(scenario.asked.schedule), ", up to ", scenario.max_regions,
      " regions, ", scenario.max_ends, " ends, ", scenario.max_endpoints,
      " endpoints; in percent: ", scenario.wrong_region, " wrong regions, ",
      scenario.small_queue, " small queues, ", scenario.short_receive,
      " short receives, ", scenario.unsignaled, " unsignalled");
  for (size_t i = 0; i < scenario.nodes.size(); ++i) {
    text += Text("\nnode ", i, ": ", scenario.nodes[i].options);
  }
  if (!scenario.plan.empty()) text += "\nplan: " + ToText(scenario.plan);
  text += "\nweights:";
  for (size_t i = 0; i < kActionKinds; ++i) {
    text += Text(" ", kActions[i].name, "=", scenario.weights[i]);
  }
  return text;
}

}  // namespace rpma::sim
