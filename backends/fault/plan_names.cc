// SPDX-License-Identifier: BSD-3-Clause
// The names of calls and errnos.

#include "backends/fault/plan_names.h"

#include <cerrno>
#include <cstring>

namespace rpma::fault {
namespace {

constexpr int kLastErrno = 133;  // of Linux

// What strerrorname_np() does not say, as it has one name for each number.
constexpr Named<int> kSecondNames[] = {
    {"EWOULDBLOCK", EWOULDBLOCK},
    {"EDEADLOCK", EDEADLOCK},
    {"ENOTSUP", ENOTSUP},
};

}  // namespace

std::string NamesOfCalls() {
  std::string names;
  for (size_t i = 0; i < kCallsThatCanFail; ++i) {
    if (i > 0) names += ", ";
    names += NameOf(static_cast<Call>(i));
  }
  return names;
}

std::optional<Errno> FindErrno(std::string_view name) {
  int number = 0;
  if (FindValue(kSecondNames, name, &number)) return Errno{number};
  for (number = 1; number <= kLastErrno; ++number) {
    const char* const known = strerrorname_np(number);
    if (known != nullptr && name == known) return Errno{number};
  }
  return std::nullopt;
}

std::string_view NameOfErrno(Errno error) {
  const char* const name = strerrorname_np(static_cast<int>(error));
  return name != nullptr ? name : std::string_view();
}

}  // namespace rpma::fault
