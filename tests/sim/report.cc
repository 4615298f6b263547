// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/report.h"

#include <deque>
#include <vector>

#include "tests/sim/violation.h"

namespace rpma::sim {
namespace {

std::string Listed(const std::vector<size_t>& numbers) {
  if (numbers.empty()) return "none";
  std::string text;
  for (const size_t number : numbers) {
    text += Text(text.empty() ? "" : ",", number);
  }
  return text;
}

std::string Section(const char* title, const std::deque<std::string>& lines) {
  std::string text = Text(title, ":\n");
  for (const std::string& line : lines) text += Text("  ", line, "\n");
  return text;
}

}  // namespace

std::string ReplayCommand(const RunOptions& options) {
  std::string command =
      Text("bazel run //tools:rpma_sim -- --seed ", options.seed);
  if (options.steps != RunOptions().steps) {
    command += Text(" --steps ", options.steps);
  }
  if (!options.profile.empty()) command += " --profile " + options.profile;
  if (options.schedule != RunOptions().schedule) {
    command += Text(" --schedule ", ToText(options.schedule));
  }
  if (!options.faults) command += " --no-faults";
  if (options.rules.has_value())
    command += " --rules " + Listed(*options.rules);
  command += " --verbose";
  const std::string plan = ToText(Draw(options).plan);
  return plan.empty() ? command : command + "  # " + plan;
}

std::string ReportOf(const RunOptions& options, const RunResult& result) {
  return Text("seed ", options.seed, ", step ", result.steps, ": ",
              result.violation, "\n", result.scenario, "\n",
              Section("the end of the walk", result.last_lines),
              Section("the end of librpma's log", result.last_messages),
              "again: ", ReplayCommand(options), "\n");
}

}  // namespace rpma::sim
