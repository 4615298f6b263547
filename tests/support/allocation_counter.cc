// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/allocation_counter.h"

#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

thread_local size_t allocations = 0;
thread_local rpma::test::AllocationObserver* observer = nullptr;

template <typename Allocator>
void* Allocate(Allocator allocate) {
  ++allocations;
  if (observer == nullptr) return allocate();
  void* const memory = observer->MayAllocate() ? allocate() : nullptr;
  if (memory != nullptr) observer->Allocated();
  return memory;
}

void* Allocate(size_t size) {
  return Allocate([=] { return std::malloc(size); });
}

void* Allocate(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return Allocate([=]() -> void* {
    if (!std::has_single_bit(align)) return nullptr;  // as in libstdc++
    return std::aligned_alloc(align, (size + align - 1) / align * align);
  });
}

void* OrThrow(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Free(void* memory) {
  if (memory != nullptr && observer != nullptr) observer->Freed();
  std::free(memory);
}

}  // namespace

// AddressSanitizer has a version of its own of each form, so those without
// exceptions do not come here by themselves; those of arrays match each other.

void* operator new(size_t size) { return OrThrow(Allocate(size)); }
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return Allocate(size);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return OrThrow(Allocate(size, alignment));
}
void* operator new(size_t size, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
  return Allocate(size, alignment);
}

void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  Free(memory);
}
void operator delete(void* memory, size_t /*size*/,
                     std::align_val_t /*alignment*/) noexcept {
  Free(memory);
}

namespace rpma::test {

size_t AllocationsOfThisThread() { return allocations; }

AllocationObserver* ObserveAllocations(AllocationObserver* with) {
  return std::exchange(observer, with);
}

}  // namespace rpma::test
