// SPDX-License-Identifier: BSD-3-Clause
// The names that stand for values in a plan of faults.

#ifndef RPMA_BACKENDS_FAULT_PLAN_NAMES_H_
#define RPMA_BACKENDS_FAULT_PLAN_NAMES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "backends/fault/call_fault.h"

namespace rpma::fault {

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

template <typename T, size_t kSize>
bool FindValue(const Named<T> (&table)[kSize], std::string_view name,
               T* value) {
  for (const Named<T>& each : table) {
    if (each.name != name) continue;
    *value = each.value;
    return true;
  }
  return false;
}

// Empty if the table does not have the value.
template <typename T, size_t kSize>
std::string_view FindName(const Named<T> (&table)[kSize], T value) {
  for (const Named<T>& each : table) {
    if (each.value == value) return each.name;
  }
  return {};
}

// "a, b, c"
template <typename T, size_t kSize>
std::string NamesIn(const Named<T> (&table)[kSize]) {
  std::string names;
  for (const Named<T>& each : table) {
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return names;
}

inline constexpr Named<Outcome> kOutcomes[] = {
    {"freed", Outcome::kFreed},
    {"excess", Outcome::kExcess},
};

inline constexpr std::string_view kAny = "any";
inline constexpr std::string_view kNoCauseName = "none";

// The names of all calls that can fail.
std::string NamesOfCalls();

// EIO and so on, as in <errno.h>.
std::optional<Errno> FindErrno(std::string_view name);
std::string_view NameOfErrno(Errno error);

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_PLAN_NAMES_H_
