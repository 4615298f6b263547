// SPDX-License-Identifier: BSD-3-Clause
//
// What all entry points share: argument checks, results, the exception barrier,
// creating and deleting.
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
#include <memory>
#include <new>

#include "api/opaque.h"
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

// The configuration that applies where the program may give none.
inline const ConnCfg& CfgOrDefault(const rpma_conn_cfg* cfg) {
  return cfg != nullptr ? *FromC(cfg) : ConnCfg::Default();
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

// Gives the program the object that `factory`, a function from
// std::unique_ptr<core class>* to Rc, makes.
template <typename Struct, typename Factory>
int Create(Struct** out, Factory factory) {
  return Guarded([&] {
    std::unique_ptr<CoreOf<Struct>> object;
    const Rc rc = factory(&object);
    if (rc == Rc::kOk) *out = ToC(object.release());
    return rc;
  });
}

// Takes the object back from the program, which may hold none.
template <typename Struct>
std::unique_ptr<CoreOf<Struct>> Take(Struct** handle) {
  std::unique_ptr<CoreOf<Struct>> object(FromC(*handle));
  *handle = nullptr;
  return object;
}

// Closes the object and deletes it; if closing fails the program keeps it.
template <typename Struct>
int DeleteIfClosed(Struct** handle) {
  if (*handle == nullptr) return 0;
  const Rc rc = FromC(*handle)->Close();
  if (rc == Rc::kOk) Take(handle);
  return ToC(rc);
}

// Closes the object and deletes it, whether or not closing fails.
template <typename Struct>
int CloseAndDelete(Struct** handle) {
  const auto object = Take(handle);
  return object != nullptr ? ToC(object->Close()) : 0;
}

}  // namespace rpma

#endif  // RPMA_API_BOUNDARY_H_
