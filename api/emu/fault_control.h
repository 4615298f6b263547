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

namespace rpma {

// Safe from any thread.
class FaultControl {
 public:
  // REQUIRES: `calls` outlives this.
  explicit FaultControl(fault::FaultInjectingTransport& calls)
      : calls_(calls) {}

  // EINVAL: the plan is wrong, and *error says where and why; the old one
  // stays. Throws std::bad_alloc.
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

  // Warns of each rule that has not fired.
  void LogUnfired() const;

 private:
  uint64_t FiredBy(size_t rule) const;

  fault::FaultInjectingTransport& calls_;
  mutable std::mutex mutex_;
  std::vector<fault::Rule> rules_;  // guarded by mutex_
};

}  // namespace rpma

#endif  // RPMA_API_EMU_FAULT_CONTROL_H_
