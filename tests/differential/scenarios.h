// SPDX-License-Identifier: BSD-3-Clause
// What is tried on an emulated and on a real device, to compare the histories.

#ifndef RPMA_TESTS_DIFFERENTIAL_SCENARIOS_H_
#define RPMA_TESTS_DIFFERENTIAL_SCENARIOS_H_

#include <vector>

#include "tests/differential/side.h"

namespace rpma::differential {

struct Scenario {
  const char* name;
  // Adds to the history what happens. Whatever a provider leaves open, such as
  // which of two independent events comes first, must not show.
  void (*play)(World* world);
  bool slow = false;  // waits for time-outs; runs beside the others
};

std::vector<Scenario> ScenariosOfConnecting();
std::vector<Scenario> ScenariosOfEnding();
std::vector<Scenario> ScenariosOfOperations();
std::vector<Scenario> ScenariosOfRefusals();
std::vector<Scenario> ScenariosOfLimits();

}  // namespace rpma::differential

#endif  // RPMA_TESTS_DIFFERENTIAL_SCENARIOS_H_
