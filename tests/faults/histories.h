// SPDX-License-Identifier: BSD-3-Clause
// Runs whose histories follow from scenario, plan and seed alone, whatever the
// process is like and whatever it did before.

#ifndef RPMA_TESTS_FAULTS_HISTORIES_H_
#define RPMA_TESTS_FAULTS_HISTORIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/faults/scenario.h"

namespace rpma::faults {

struct History {
  const Scenario* scenario;  // not nullptr
  std::string plan;          // may be empty
  uint64_t seed;

  // For messages: 'connect seed=3 "drop any nth=3"'.
  std::string Name() const;
};

// The scenario without faults and under those of all kinds, each in worlds of
// several seeds. The scenario outlives them.
std::vector<History> HistoriesOf(const Scenario& scenario);

// Runs it in a new world; stands for all that happened there.
uint64_t HashOf(const History& history);

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_HISTORIES_H_
