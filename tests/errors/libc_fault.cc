// SPDX-License-Identifier: BSD-3-Clause

#include "tests/errors/libc_fault.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace {

using rpma::test::LibcFunction;

thread_local std::optional<LibcFunction> failing;
thread_local int calls_of_it = 0;

bool Fails(LibcFunction function) {
  if (failing != function) return false;
  ++calls_of_it;
  errno = EINVAL;
  return true;
}

// That of libc, or of a sanitizer in between.
template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* mmap(void* address, size_t length, int protection, int flags, int fd,
           off_t offset) noexcept {
  if (Fails(LibcFunction::kMmap)) return MAP_FAILED;
  static auto* const next = Next<decltype(mmap)>("mmap");
  return next(address, length, protection, flags, fd, offset);
}

int munmap(void* address, size_t length) noexcept {
  if (Fails(LibcFunction::kMunmap)) return -1;
  static auto* const next = Next<decltype(munmap)>("munmap");
  return next(address, length);
}

long sysconf(int name) noexcept {
  if (Fails(LibcFunction::kSysconf)) return -1;
  static auto* const next = Next<decltype(sysconf)>("sysconf");
  return next(name);
}

}  // extern "C"

namespace rpma::test {

LibcFault::LibcFault(LibcFunction function) {
  calls_of_it = 0;
  failing = function;
}

LibcFault::~LibcFault() { failing.reset(); }

int LibcFault::calls() { return calls_of_it; }

}  // namespace rpma::test
