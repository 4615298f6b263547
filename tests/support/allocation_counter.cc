// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/allocation_counter.h"

#include <cstdlib>
#include <new>

namespace {

thread_local size_t allocations = 0;

void* OrThrow(void* memory) {
  ++allocations;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The other forms of new and delete call these.
void* operator new(size_t size) { return OrThrow(std::malloc(size)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept {
  std::free(memory);
}

void* operator new(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  const size_t rounded = (size + align - 1) / align * align;
  return OrThrow(std::aligned_alloc(align, rounded));
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t /*size*/,
                     std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

namespace rpma::test {

size_t AllocationsOfThisThread() { return allocations; }

}  // namespace rpma::test
