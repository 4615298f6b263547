// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace rpma::test {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSharedBytes = size_t{16} << 30;

char* shared = nullptr;
std::mutex mutex;
// Of the shared pages: the parts in use, by where they begin and end.
std::map<char*, char*> used;

// The first gap that is large enough.
char* AllocateShared(size_t size) {
  const std::lock_guard lock(mutex);
  char* begin = shared;
  for (const auto& [other_begin, other_end] : used) {
    if (static_cast<size_t>(other_begin - begin) >= size) break;
    begin = other_end;
  }
  if (static_cast<size_t>(shared + kSharedBytes - begin) < size) {
    std::fprintf(stderr, "no %zu bytes of shared memory are left\n", size);
    std::abort();
  }
  used[begin] = begin + size;
  return begin;
}

// The next to have them finds zeros.
void FreeShared(void* pages) {
  const std::lock_guard lock(mutex);
  const auto gone = used.find(static_cast<char*>(pages));
  const auto size = static_cast<size_t>(gone->second - gone->first);
  if (madvise(pages, size, MADV_REMOVE) != 0) std::abort();
  used.erase(gone);
}

void* Map(size_t size, int flags) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return memory;
}

size_t RoundUp(size_t size) { return (size + kPage - 1) / kPage * kPage; }

}  // namespace

void SharePages() {
  shared = static_cast<char*>(Map(kSharedBytes, MAP_SHARED));
}

void* AllocatePages(size_t size) {
  const size_t rounded = RoundUp(size);
  void* const pages = shared != nullptr ? AllocateShared(rounded)
                                        : std::aligned_alloc(kPage, rounded);
  std::memset(pages, 0, rounded);
  return pages;
}

void FreePages(void* pages) {
  if (shared == nullptr) return std::free(pages);
  FreeShared(pages);
}

void* AllocateSparsePages(size_t size) {
  return shared != nullptr ? AllocateShared(RoundUp(size))
                           : Map(size, MAP_PRIVATE);
}

void FreeSparsePages(void* pages, size_t size) {
  if (shared == nullptr) {
    if (munmap(pages, size) != 0) std::abort();
  } else {
    FreeShared(pages);
  }
}

bool AreShared(const void* bytes, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(shared);
  const auto address = reinterpret_cast<uintptr_t>(bytes);
  return shared != nullptr && address >= begin && size <= kSharedBytes &&
         address - begin <= kSharedBytes - size;
}

}  // namespace rpma::test
