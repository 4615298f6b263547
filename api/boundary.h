// SPDX-License-Identifier: BSD-3-Clause
//
// What all entry points share: argument checks, results, the exception barrier.
//
// Conventions of the boundary:
//   - An entry point checks its pointers and ranges, calls one method of the
//     core, and converts the result. It decides nothing else.
//   - Out-pointers are written on success only.
//   - std::bad_alloc becomes RPMA_E_NOMEM. Nothing else is caught: the core
//     throws nothing else, and the unwinding by which a cancelled thread leaves
//     a blocking call must pass. So entry points are not noexcept.

#ifndef RPMA_API_BOUNDARY_H_
#define RPMA_API_BOUNDARY_H_

#include <librpma.h>

#include <cstring>
#include <new>

#include "core/rc.h"

// Leaves the entry point with RPMA_E_INVAL, logged, unless `condition` holds.
#define RPMA_REQUIRE(condition)                                                \
  do {                                                                         \
    if (!(condition)) [[unlikely]] {                                           \
      return ::rpma::InvalidArgument(                                          \
          __FILE__, __LINE__, static_cast<const char*>(__func__), #condition); \
    }                                                                          \
  } while (false)

namespace rpma {

// Logs what the call needs. Returns RPMA_E_INVAL.
[[gnu::cold]] int InvalidArgument(const char* file, int line,
                                  const char* function, const char* condition);

// Logs that memory ran out. Returns RPMA_E_NOMEM.
[[gnu::cold]] int OutOfMemory();

constexpr int ToC(Rc rc) { return static_cast<int>(rc); }

// What the program gave for an enumeration. A C program may pass any number,
// and C++ must not read one that is outside the enumeration as its type.
template <typename Enum>
int NumberOf(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

// Runs `body`, a function to Rc, behind the exception barrier.
template <typename Body>
int Guarded(Body body) {
  try {
    return ToC(body());
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

}  // namespace rpma

#endif  // RPMA_API_BOUNDARY_H_
