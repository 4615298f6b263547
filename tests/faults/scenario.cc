// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/scenario.h"

#include <vector>

namespace rpma::faults {
namespace {

std::vector<Scenario> Collect() {
  std::vector<Scenario> all;
  for (const auto subject :
       {ConnectScenarios(), RefuseScenarios(), RemoteMemoryScenarios(),
        MessageScenarios(), TeardownScenarios()}) {
    all.insert(all.end(), subject.begin(), subject.end());
  }
  return all;
}

}  // namespace

std::span<const Scenario> Scenarios() {
  static const std::vector<Scenario> all = Collect();
  return all;
}

const Scenario* FindScenario(std::string_view name) {
  for (const Scenario& scenario : Scenarios()) {
    if (name == scenario.name) return &scenario;
  }
  return nullptr;
}

}  // namespace rpma::faults
