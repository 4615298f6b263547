// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/walk.h"

#include <numeric>

#include "tests/sim/actions.h"
#include "tests/sim/completing.h"
#include "tests/sim/ending.h"

namespace rpma::sim {
namespace {

// What holds after every action.
void CheckWorld(World& world) {
  NoteOverruns(world);
  world.CheckMemory();
  world.CheckCensus();
}

void ActAtRandom(World& world) {
  std::vector<unsigned> weights = world.scenario.weights;
  for (;;) {
    const size_t drawn = world.actions.Weighted(weights);
    const auto kind = static_cast<ActionKind>(drawn);
    if (Act(world, kind)) return world.Mark(ToText(kind));
    weights[drawn] = 0;
    bool any = false;
    for (const unsigned weight : weights) any = any || weight > 0;
    if (!any) return;
  }
}

void Walk(World& world) {
  for (size_t step = 0; step < world.scenario.asked.steps; ++step) {
    ++world.now;
    ActAtRandom(world);
    CheckWorld(world);
  }
  world.Say("--- no faults from here on; everything must come to an end");
  for (const EndingStep step : kEnding) {
    ++world.now;
    step(world);
    CheckWorld(world);
  }
}

}  // namespace

RunResult RunSeed(const RunOptions& options, const Api& api,
                  const std::function<void(const std::string&)>& listener) {
  const Scenario scenario = Draw(options);
  RunResult result;
  result.scenario = ToText(scenario);
  World world(scenario, api);
  world.listener = listener;
  try {
    Walk(world);
  } catch (const Violation& violation) {
    result.violation = violation.what();
    result.last_lines = world.last_lines();
    result.last_messages = world.log.last_messages();
  }
  result.hash = world.hash();
  result.trace_hash = world.TraceHash();
  result.fired = world.faults.fired();
  result.rules = scenario.plan.size();
  result.steps = world.now;
  result.marks = world.marks;
  return result;
}

RunOptions Shrunk(const RunOptions& options, const RunResult& result) {
  RunOptions shrunk = options;
  shrunk.trace.clear();
  if (!shrunk.rules.has_value()) {
    shrunk.rules.emplace(result.rules);
    std::iota(shrunk.rules->begin(), shrunk.rules->end(), size_t{0});
  }
  for (size_t i = shrunk.rules->size(); i-- > 0;) {
    RunOptions fewer = shrunk;
    fewer.rules->erase(fewer.rules->begin() + static_cast<ptrdiff_t>(i));
    if (!RunSeed(fewer).passed()) shrunk = fewer;
  }
  return shrunk;
}

}  // namespace rpma::sim
