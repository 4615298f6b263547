// SPDX-License-Identifier: BSD-3-Clause
// The world in which a scenario is run under faults, and what must hold after
// each run.

#ifndef RPMA_TESTS_FAULTS_STAGE_H_
#define RPMA_TESTS_FAULTS_STAGE_H_

#include <librpma_emu.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tests/faults/bystander.h"
#include "tests/faults/findings.h"
#include "tests/faults/log_watch.h"
#include "tests/faults/program.h"
#include "tests/faults/scenario.h"
#include "tests/support/failing_allocator.h"

namespace rpma::faults {

// What goes wrong in a run.
struct Fault {
  std::string plan;  // of the fabric; may be empty
  // The allocation of librpma that fails, from 1; 0: none.
  uint64_t allocation = 0;
  bool and_later = false;
};

// How a run went.
struct Execution {
  uint64_t fired = 0;                  // how many faults acted
  const char* first_struck = nullptr;  // the function in which the first did
  Findings findings;
};

// Two nodes, the client's and the server's, and a bystander. Can be used for
// many runs, unless one breaks a node.
class Stage {
 public:
  static constexpr uint64_t kDefaultSeed = 1;

  // `seed` orders the events of the stepped fabric. With `apart` the bystander
  // has nodes of its own.
  explicit Stage(const Scenario& scenario, uint64_t seed = kDefaultSeed,
                 bool apart = false);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  // Runs the scenario under the fault. Whatever it does:
  //   - every call keeps to what Program checks, and nothing waits for ever;
  //   - nothing is left: no object, no allocation of librpma;
  //   - the bystander still works.
  Execution Run(const Fault& fault);

  // Also that no descriptor is left, which takes long to find out.
  void CheckDescriptors(Findings* findings) const;

  // Stands for all that has happened in this world.
  uint64_t TraceHash() const;

  LogWatch& log() { return log_; }

 private:
  void SetFaults(const char* plan);
  void AddNode(const char* device, const char* address);
  // Lets time pass until nothing moves any more.
  void ComeToRest(Findings* findings);
  rpma_emu_census Census() const;
  void CheckCensus(const char* complaint, Findings* findings) const;

  const Scenario& scenario_;
  LogWatch log_;
  rpma_emu_fabric* fabric_ = nullptr;
  std::optional<Bystander> bystander_;
  rpma_emu_census census_ = {};
  size_t descriptors_ = 0;
};

}  // namespace rpma::faults

#endif  // RPMA_TESTS_FAULTS_STAGE_H_
