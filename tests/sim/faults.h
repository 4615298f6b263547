// SPDX-License-Identifier: BSD-3-Clause
// Watches which faults of the plan have fired.

#ifndef RPMA_TESTS_SIM_FAULTS_H_
#define RPMA_TESTS_SIM_FAULTS_H_

#include <librpma_emu.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/sim/fault_plan.h"

namespace rpma::sim {

class Faults {
 public:
  // REQUIRES: the plan outlives this.
  explicit Faults(const std::vector<FaultRule>& plan);

  // Sets the plan, or ends all faults that end with it.
  void Start(rpma_emu_fabric* fabric);
  void Stop(rpma_emu_fabric* fabric);

  // Finds out what has fired since the last time.
  void Refresh(rpma_emu_fabric* fabric);
  const std::vector<const FaultRule*>& fired_now() const { return fired_now_; }

  // Whether a provider call was made to fail, of any name or of one.
  bool CallFailed() const;
  bool CallFailed(std::string_view name) const;
  bool FiredNow(FaultKind kind) const;
  uint64_t fired() const { return fired_; }  // in all

  // Takes one of the completions with `status` that faults have caused, or of
  // the events that they have changed; false: there was none.
  bool TakeCompletion(ibv_wc_status status);
  bool TakeEventAs();

 private:
  const std::vector<FaultRule>& plan_;
  std::vector<uint64_t> counts_;  // how often each rule has fired
  std::vector<const FaultRule*> fired_now_;
  uint64_t fired_ = 0;
  bool is_on_ = false;
  std::vector<ibv_wc_status> completions_;
  size_t events_as_ = 0;
};

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_FAULTS_H_
