// SPDX-License-Identifier: BSD-3-Clause
// Prints what happens in each scenario on the device at an address:
//
//   differential ADDRESS [SCENARIO]
//
// A history is the line "== SCENARIO" and a line for each thing that happened.

#include <librpma.h>

#include <cstdio>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include "tests/differential/scenarios.h"
#include "tests/differential/side.h"

namespace rpma::differential {
namespace {

using History = std::vector<std::string>;

struct Run {
  const char* name;
  std::future<History> history;
};

std::vector<Scenario> AllScenarios() {
  std::vector<Scenario> all;
  for (auto list :
       {ScenariosOfConnecting, ScenariosOfEnding, ScenariosOfOperations,
        ScenariosOfRefusals, ScenariosOfLimits}) {
    for (const Scenario& scenario : list()) all.push_back(scenario);
  }
  return all;
}

History Play(const Scenario& scenario, World world) {
  scenario.play(&world);
  return world.history;
}

// In the order of the list, but those that wait beside the others.
std::vector<Run> Start(const World& world, std::string_view only) {
  std::vector<Run> runs;
  for (const Scenario& scenario : AllScenarios()) {
    if (!only.empty() && scenario.name != only) continue;
    runs.push_back(
        {scenario.name,
         std::async(scenario.slow ? std::launch::async : std::launch::deferred,
                    Play, scenario, world)});
  }
  return runs;
}

}  // namespace
}  // namespace rpma::differential

int main(int argc, char** argv) {
  using namespace rpma::differential;
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: differential ADDRESS [SCENARIO]\n");
    return 2;
  }
  ibv_context* context = nullptr;
  const int result = rpma_utils_get_ibv_context(
      argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL, &context);
  if (result != 0) {
    std::fprintf(stderr, "%s: %s\n", argv[1], rpma_err_2str(result));
    return 2;
  }
  const World world = {
      .address = argv[1],
      .context = context,
      .iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP};
  for (auto& run : Start(world, argc == 3 ? argv[2] : "")) {
    std::printf("== %s\n", run.name);
    for (const std::string& line : run.history.get()) {
      std::printf("%s\n", line.c_str());
    }
    std::fflush(stdout);
  }
}
