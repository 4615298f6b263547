// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/failing_allocator.h"

#include "backends/fault/fault_injecting_transport.h"

namespace rpma::test {
namespace {

bool IsProviders() { return fault::FaultInjectingTransport::InsideCall(); }

}  // namespace

void FailingAllocator::ArmNth(uint64_t k) {
  until_failure_ = k;
  and_later_ = false;
  fired_ = false;
}

void FailingAllocator::ArmFrom(uint64_t k) {
  ArmNth(k);
  and_later_ = true;
}

bool FailingAllocator::MayAllocate() {
  if (IsProviders()) return true;
  ++allocations_;
  if (until_failure_ > 0 && --until_failure_ == 0) {
    fired_ = true;
    if (and_later_) until_failure_ = 1;
    return false;
  }
  return true;
}

void FailingAllocator::Allocated() {
  if (!IsProviders()) ++live_;
}

void FailingAllocator::Freed() {
  if (!IsProviders()) --live_;
}

}  // namespace rpma::test
