// SPDX-License-Identifier: BSD-3-Clause
// The command line of rpma_bench.

#ifndef RPMA_TOOLS_BENCH_OPTIONS_H_
#define RPMA_TOOLS_BENCH_OPTIONS_H_

#include <stdexcept>
#include <string>

namespace rpma::bench {

struct Options {
  bool help = false;
  bool json = false;
  bool quick = false;
  bool ucx = true;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws UsageError.
Options ParseOptions(int argc, char* argv[]);

extern const char kUsage[];

}  // namespace rpma::bench

#endif  // RPMA_TOOLS_BENCH_OPTIONS_H_
