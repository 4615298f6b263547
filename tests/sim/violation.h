// SPDX-License-Identifier: BSD-3-Clause
// How a check of the simulation fails: something happened that must not, or did
// not happen that must.

#ifndef RPMA_TESTS_SIM_VIOLATION_H_
#define RPMA_TESTS_SIM_VIOLATION_H_

#include <sstream>
#include <stdexcept>
#include <string>

namespace rpma::sim {

// Ends the walk; what() says what was violated.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The parts, one after the other, as they print.
template <typename... Part>
std::string Text(const Part&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

template <typename... Part>
[[noreturn]] void Violated(const Part&... parts) {
  throw Violation(Text(parts...));
}

template <typename... Part>
void Require(bool condition, const Part&... parts) {
  if (!condition) Violated(parts...);
}

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_VIOLATION_H_
