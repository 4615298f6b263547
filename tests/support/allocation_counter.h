// SPDX-License-Identifier: BSD-3-Clause
// Counts what a thread allocates with operator new, which this library
// replaces in the program that links it, and lets an observer refuse it.

#ifndef RPMA_TESTS_SUPPORT_ALLOCATION_COUNTER_H_
#define RPMA_TESTS_SUPPORT_ALLOCATION_COUNTER_H_

#include <cstddef>

namespace rpma::test {

// How often the calling thread has allocated so far.
size_t AllocationsOfThisThread();

// Told of all that one thread allocates and frees. No method may do so itself.
class AllocationObserver {
 public:
  // Whether an allocation may be tried.
  virtual bool MayAllocate() = 0;
  virtual void Allocated() = 0;
  virtual void Freed() = 0;

 protected:
  ~AllocationObserver() = default;
};

// Installs the observer of the calling thread, or none, and returns the one
// before.
AllocationObserver* ObserveAllocations(AllocationObserver* observer);

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_ALLOCATION_COUNTER_H_
