// SPDX-License-Identifier: BSD-3-Clause
// Lets an allocation of librpma fail.

#ifndef RPMA_TESTS_SUPPORT_FAILING_ALLOCATOR_H_
#define RPMA_TESTS_SUPPORT_FAILING_ALLOCATOR_H_

#include <cstdint>

#include "tests/support/allocation_counter.h"

namespace rpma::test {

// As long as it lives it counts what its thread allocates and frees with
// operator new and delete. What happens inside the calls of a transport is the
// provider's matter: it neither counts nor fails, provided that the fabric has
// a plan (rpma_emu_set_faults()), be it an empty one. One at a time in a
// thread; another one, begun later, hides it.
class FailingAllocator final : private AllocationObserver {
 public:
  FailingAllocator() : before_(ObserveAllocations(this)) {}
  FailingAllocator(const FailingAllocator&) = delete;
  FailingAllocator& operator=(const FailingAllocator&) = delete;
  ~FailingAllocator() { ObserveAllocations(before_); }

  // Makes the k-th allocation from now on fail, from 1. 0: none.
  void ArmNth(uint64_t k);
  // Makes the k-th allocation and all after it fail.
  void ArmFrom(uint64_t k);
  void Disarm() { ArmNth(0); }
  // Whether one failed since it was armed.
  bool Fired() const { return fired_; }

  // How many allocations there were, failed ones included.
  uint64_t allocations() const { return allocations_; }
  // How many succeeded less how many were freed.
  int64_t live() const { return live_; }

 private:
  bool MayAllocate() override;
  void Allocated() override;
  void Freed() override;

  AllocationObserver* const before_;
  uint64_t allocations_ = 0;
  int64_t live_ = 0;
  uint64_t until_failure_ = 0;  // 0: none
  bool and_later_ = false;
  bool fired_ = false;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_FAILING_ALLOCATOR_H_
