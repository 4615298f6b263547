// SPDX-License-Identifier: BSD-3-Clause
// The command line.

#ifndef RPMA_TOOLS_SIM_OPTIONS_H_
#define RPMA_TOOLS_SIM_OPTIONS_H_

#include <cstdint>
#include <stdexcept>

#include "tests/sim/scenario.h"

namespace rpma::sim {

extern const char kUsage[];

struct CommandLine {
  uint64_t seeds = 0;  // how many, from run.seed on
  RunOptions run;
  bool verbose = false;
  bool json = false;
  bool hashes = false;
  bool help = false;
};

// what() says what is wrong with the command line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws UsageError.
CommandLine ParseCommandLine(int argc, char* argv[]);

}  // namespace rpma::sim

#endif  // RPMA_TOOLS_SIM_OPTIONS_H_
