// SPDX-License-Identifier: BSD-3-Clause
// A scenario under one fault after the other.

#ifndef RPMA_TESTS_FAULTS_SWEEP_H_
#define RPMA_TESTS_FAULTS_SWEEP_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tests/faults/scenario.h"
#include "tests/faults/stage.h"

namespace rpma::faults {

// Whether runs share a world, or each has its own. They must not share one
// where the order of events matters, as the replay of one would differ then;
// and runs are made with several seeds.
enum class World { kShared, kOwn };

// Counts its runs under its name in the summary that the program prints at its
// end.
class Sweep {
 public:
  Sweep(const char* name, const Scenario& scenario, World world);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  // No descriptor may be left of the sweep.
  ~Sweep();

  // Runs the scenario under the fault and then, unless that breaks the world,
  // without one. Fails the test, with the arguments of //tests/faults:replay,
  // for whatever was found wrong. After some failures nothing runs any more.
  Execution Run(const Fault& fault);

  // Runs it under a plan in which "#" stands for 1, 2 and so on until nothing
  // fires. Fails the test if nothing ever does.
  void RunEach(const std::string& plan);
  // The same; it may be that nothing fires.
  void RunAny(const std::string& plan);

 private:
  Stage& StageFor(const Fault& fault);
  void Report(const Fault& fault, const Findings& findings);
  uint64_t RunUntilNothingFires(const std::string& plan);

  const char* const name_;
  const Scenario& scenario_;
  const World world_;
  std::optional<Stage> stage_;
  bool apart_ = false;
  uint64_t seed_ = Stage::kDefaultSeed;
  uint64_t executions_ = 0;
  uint64_t fired_ = 0;
  int failures_ = 0;
};

// A test for each scenario.
class ScenarioTest : public testing::TestWithParam<Scenario> {};

std::string NameOf(const testing::TestParamInfo<Scenario>& info);

#define RPMA_FOR_EACH_SCENARIO(suite)                                     \
  INSTANTIATE_TEST_SUITE_P(                                               \
      , suite, testing::ValuesIn(Scenarios().begin(), Scenarios().end()), \
      NameOf)

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_SWEEP_H_
