// SPDX-License-Identifier: BSD-3-Clause
//
// The plan of faults of one fabric: set, counted, reported.

#ifndef RPMA_API_EMU_FAULT_CONTROL_H_
#define RPMA_API_EMU_FAULT_CONTROL_H_

#include <librpma_emu.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/fault/fault_injecting_transport.h"
#include "backends/fault/plan.h"
#include "emulator/fabric.h"

namespace rpma {

// Safe from any thread.
class FaultControl {
 public:
  // REQUIRES: both outlive this.
  FaultControl(fault::FaultInjectingTransport& calls, emu::Fabric& fabric)
      : calls_(calls), fabric_(fabric) {}

  // EINVAL: the plan is wrong, and *error says where and why; ENOMEM. The old
  // plan stays. Throws std::bad_alloc, with no effect.
  int Set(std::string_view plan, std::string* error);
  // The same with the plan in a file. EINVAL: it cannot be read, too.
  int SetFromFile(const char* path, std::string* error);
  void Clear();

  rpma_emu_fault_counts Counts() const;
  // false: there is no rule of this number.
  bool GetFired(size_t rule, uint64_t* fired) const;

  // See FaultInjectingTransport::Reclaim().
  bool Reclaim() { return calls_.Reclaim(); }
  bool ReclaimAll() { return calls_.ReclaimAll(); }

  // What the text, a rule on a device without a number, says happens at once.
  // Results as of Set().
  int Inject(std::string_view action, std::string* error);

  // Warns of each rule that has not fired.
  void LogUnfired() const;

 private:
  struct Rule {
    fault::Rule rule;
    size_t index = 0;  // among the rules of its kind
  };

  uint64_t FiredBy(const Rule& rule) const;

  fault::FaultInjectingTransport& calls_;
  emu::Fabric& fabric_;
  mutable std::mutex mutex_;
  std::vector<Rule> rules_;  // guarded by mutex_
};

}  // namespace rpma

#endif  // RPMA_API_EMU_FAULT_CONTROL_H_
