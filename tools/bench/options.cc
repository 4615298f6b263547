// SPDX-License-Identifier: BSD-3-Clause

#include "tools/bench/options.h"

#include <string_view>

namespace rpma::bench {

const char kUsage[] =
    R"(Usage: rpma_bench [OPTION]...
Measures the emulator over the API of librpma, between two processes and within
one, and says which targets were met. What two processes of this machine reach
with shared memory and no library is measured in the same run, and UCX's
shared-memory transports are if ucx_perftest is on the PATH.

Figures of a machine that does other things mean little; those of one run may be
compared with each other. Build with -c opt.

  --json    print one JSON object in place of the table
  --quick   measure few times, to see that all works
  --no-ucx  leave UCX out
  --help    print this text

Exit status: 0 all was measured, whatever the figures; 1 something failed;
2 wrong usage.
)";

Options ParseOptions(int argc, char* argv[]) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      options.help = true;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--no-ucx") {
      options.ucx = false;
    } else {
      const bool dashed = argument.starts_with("-");
      throw UsageError((dashed ? "unknown option '" : "unexpected argument '") +
                       std::string(argument) + "' (--help lists the options)");
    }
  }
  return options;
}

}  // namespace rpma::bench
