// SPDX-License-Identifier: BSD-3-Clause

#include "emulator/user_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rpma::emu {
namespace {

constexpr uint64_t kFewPages = 16;

uintptr_t PageSize() { return static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)); }

// Of whole pages: msync(2) says so, and MS_ASYNC does nothing else. By its
// number, as the function is a cancellation point.
bool AreMapped(uintptr_t start, uint64_t bytes) {
  return syscall(SYS_msync, start, bytes, MS_ASYNC) == 0;
}

// Has the kernel bring whole pages without a change of their bytes. False if
// there is one that cannot be accessed.
bool Populate(uintptr_t start, uint64_t bytes, bool writable) {
  return madvise(reinterpret_cast<void*>(start), bytes,
                 writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0;
}

// Linux before 5.14 cannot, and refuses such advice even about nothing.
bool CanPopulate() {
  static const bool can = Populate(0, 0, true);
  return can;
}

}  // namespace

uint64_t PagesAround(uintptr_t start, size_t length) {
  const uintptr_t page = PageSize();
  const uintptr_t first = start / page;
  return ((start + length - 1) / page - first + 1) * page;
}

bool CanBePinned(uintptr_t start, size_t length, bool writable) {
  const uintptr_t page = PageSize();
  const uintptr_t first = start / page * page;
  const uint64_t bytes = PagesAround(start, length);
  if (!CanPopulate()) return AreMapped(first, bytes);
  if (bytes <= kFewPages * page) return Populate(first, bytes, writable);
  return AreMapped(first, bytes) && Populate(first, page, writable) &&
         Populate(first + bytes - page, page, writable);
}

}  // namespace rpma::emu
