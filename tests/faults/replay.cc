// SPDX-License-Identifier: BSD-3-Clause
// Runs one scenario under one fault, as a failing sweep says, with all that is
// logged.

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tests/faults/scenario.h"
#include "tests/faults/stage.h"

namespace rpma::faults {
namespace {

constexpr char kUsage[] =
    "usage: replay SCENARIO PLAN [seed=N] [apart] "
    "[allocation=K|allocations=K]\n"
    "Runs a scenario of tests/faults under a plan of faults and shows what is\n"
    "logged and what is wrong. A sweep that fails prints the arguments.\n"
    "  PLAN           as in docs/fault-plans.md; may be empty\n"
    "  seed=N         of the order of events\n"
    "  apart          the other connection has a device of its own\n"
    "  allocation=K   the K-th allocation of librpma fails\n"
    "  allocations=K  all from the K-th on\n"
    "Scenarios:\n";

struct Arguments {
  const Scenario* scenario = nullptr;
  Fault fault;
  uint64_t seed = Stage::kDefaultSeed;
  bool apart = false;
};

bool ParseNumber(std::string_view text, std::string_view name,
                 uint64_t* number) {
  if (!text.starts_with(name)) return false;
  text.remove_prefix(name.size());
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool Parse(int argc, char** argv, Arguments* arguments) {
  if (argc < 3) return false;
  arguments->scenario = FindScenario(argv[1]);
  arguments->fault.plan = argv[2];
  for (int i = 3; i < argc; ++i) {
    Fault& fault = arguments->fault;
    if (std::strcmp(argv[i], "apart") == 0) {
      arguments->apart = true;
    } else if (ParseNumber(argv[i], "allocations=", &fault.allocation)) {
      fault.and_later = true;
    } else if (!ParseNumber(argv[i], "allocation=", &fault.allocation) &&
               !ParseNumber(argv[i], "seed=", &arguments->seed)) {
      return false;
    }
  }
  return arguments->scenario != nullptr;
}

int Replay(const Arguments& arguments) {
  Stage stage(*arguments.scenario, arguments.seed, arguments.apart);
  stage.log().Echo();
  const Execution execution = stage.Run(arguments.fault);
  std::printf("%llu faults acted%s%s\n",
              static_cast<unsigned long long>(execution.fired),
              execution.first_struck != nullptr ? ", the first in " : "",
              execution.first_struck != nullptr ? execution.first_struck : "");
  std::printf("%s", execution.findings.empty() ? "nothing is wrong\n"
                                               : execution.findings.text());
  return execution.findings.empty() ? 0 : 1;
}

}  // namespace
}  // namespace rpma::faults

int main(int argc, char** argv) {
  rpma::faults::Arguments arguments;
  if (rpma::faults::Parse(argc, argv, &arguments)) {
    return rpma::faults::Replay(arguments);
  }
  std::fputs(rpma::faults::kUsage, stderr);
  for (const auto& scenario : rpma::faults::Scenarios()) {
    std::fprintf(stderr, "  %s\n", scenario.name);
  }
  return 2;
}
