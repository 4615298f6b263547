// SPDX-License-Identifier: BSD-3-Clause
// How this program gives up: any step throws a Failure, destructors undo what
// was set up, and main() prints its one line and exits with its code.

#ifndef RPMA_TOOLS_QUICKSTART_FAILURE_H_
#define RPMA_TOOLS_QUICKSTART_FAILURE_H_

#include <sstream>
#include <stdexcept>
#include <string>

namespace rpma::quickstart {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitSignal = 128;  // plus the signal's number, as in a shell

class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& message, int exit_code = kExitFailure)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// The parts, one after the other, as they print.
template <typename... Part>
std::string Text(const Part&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_FAILURE_H_
