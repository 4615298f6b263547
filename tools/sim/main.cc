// SPDX-License-Identifier: BSD-3-Clause
// rpma_sim: runs seeds of the simulation and prints, for each that finds
// something wrong, what it was and the command that shows it again.

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/sim/report.h"
#include "tests/sim/walk.h"
#include "tools/sim/options.h"
#include "tools/sim/progress.h"
#include "tools/sim/summary.h"

namespace rpma::sim {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

using Clock = std::chrono::steady_clock;

void PrintLine(const std::string& line) { std::puts(line.c_str()); }

void PrintHashes(const RunOptions& options, const RunResult& result) {
  std::printf("seed %" PRIu64 " hash %016" PRIx64 " trace %016" PRIx64 "\n",
              options.seed, result.hash, result.trace_hash);
}

int RunSeeds(const CommandLine& line) {
  const Clock::time_point start = Clock::now();
  Summary summary;
  Progress progress(line.seeds);
  RunOptions options = line.run;
  for (; summary.seeds() < line.seeds; ++options.seed) {
    if (line.verbose) PrintLine(ToText(Draw(options)));
    const RunResult result =
        line.verbose ? RunSeed(options, {}, PrintLine) : RunSeed(options);
    summary.Add(options, result);
    if (line.hashes) PrintHashes(options, result);
    if (!result.passed()) {
      progress.Clear();
      std::fputs(ReportOf(options, result).c_str(), stderr);
      std::fprintf(stderr, "with the fewest faults: %s\n",
                   ReplayCommand(Shrunk(options, result)).c_str());
    }
    progress.Show(summary.seeds(), summary.failed());
  }
  progress.Clear();
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  std::fputs(
      (line.json ? summary.ToJson(seconds) : summary.ToPlainText(seconds))
          .c_str(),
      stdout);
  return summary.failed() == 0 ? EXIT_SUCCESS : kExitFailure;
}

int Main(int argc, char* argv[]) {
  const CommandLine line = ParseCommandLine(argc, argv);
  if (!line.help) return RunSeeds(line);
  std::fputs(kUsage, stdout);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace rpma::sim

int main(int argc, char* argv[]) {
  try {
    return rpma::sim::Main(argc, argv);
  } catch (const rpma::sim::UsageError& error) {
    std::fprintf(stderr, "rpma_sim: %s\n", error.what());
    return rpma::sim::kExitUsage;
  }
}
