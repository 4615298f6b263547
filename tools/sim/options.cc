// SPDX-License-Identifier: BSD-3-Clause

#include "tools/sim/options.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/violation.h"

namespace rpma::sim {
namespace {

constexpr uint64_t kDefaultSeeds = 100;
constexpr uint64_t kMaxSteps = 1'000'000;

[[noreturn]] void Refuse(const std::string& message) {
  throw UsageError(message + " (--help lists the options)");
}

uint64_t ParseNumber(std::string_view option, std::string_view text,
                     uint64_t max) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < 1 || number > max) {
    Refuse(Text(option, " '", text, "' is not a number from 1 to ", max));
  }
  return number;
}

Schedule ParseSchedule(std::string_view text) {
  if (text == ToText(Schedule::kInline)) return Schedule::kInline;
  if (text == ToText(Schedule::kStepped)) return Schedule::kStepped;
  Refuse(Text("--schedule '", text, "' is neither inline nor stepped"));
}

std::string ParseProfile(std::string_view text) {
  if (text == "roce" || text == "ib" || text == "iwarp") {
    return std::string(text);
  }
  Refuse(Text("--profile '", text, "' is none of roce, ib and iwarp"));
}

std::vector<size_t> ParseRules(std::string_view text) {
  std::vector<size_t> rules;
  if (text == "none") return rules;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const char* const last = text.data() + end;
    size_t number = 0;
    const auto [stop, error] =
        std::from_chars(text.data() + begin, last, number);
    if (error != std::errc() || stop != last) {
      Refuse(Text("--rules '", text, "' is neither none nor like 0,2"));
    }
    rules.push_back(number);
    begin = end + 1;
  }
  return rules;
}

std::string ParsePath(std::string_view text) {
  if (!text.empty()) return std::string(text);
  Refuse("--trace needs the name of a file");
}

void Set(std::string_view option, std::string_view value, CommandLine* line) {
  if (option == "--seeds") {
    line->seeds = ParseNumber(option, value, UINT64_MAX);
  } else if (option == "--seed") {
    line->run.seed = ParseNumber(option, value, UINT64_MAX);
    if (line->seeds == 0) line->seeds = 1;
  } else if (option == "--steps") {
    line->run.steps = ParseNumber(option, value, kMaxSteps);
  } else if (option == "--profile") {
    line->run.profile = ParseProfile(value);
  } else if (option == "--schedule") {
    line->run.schedule = ParseSchedule(value);
  } else if (option == "--rules") {
    line->run.rules = ParseRules(value);
  } else if (option == "--trace") {
    line->run.trace = ParsePath(value);
  } else {
    const bool dashed = option.starts_with("-");
    Refuse(Text(dashed ? "unknown option '" : "unexpected argument '", option,
                "'"));
  }
}

// Options without a value.
bool SetFlag(std::string_view option, CommandLine* line) {
  if (option == "--no-faults") {
    line->run.faults = false;
  } else if (option == "--verbose") {
    line->verbose = true;
  } else if (option == "--json") {
    line->json = true;
  } else if (option == "--hashes") {
    line->hashes = true;
  } else if (option == "--help") {
    line->help = true;
  } else {
    return false;
  }
  return true;
}

}  // namespace

const char kUsage[] =
    R"(Usage: rpma_sim [OPTION]...
Walks at random over the API of librpma on the emulator, with a model that knows
what must be true, and says which seeds have found something wrong.

  --seeds N     how many seeds (default: 100; 1 with --seed)
  --seed S      the first seed (default: 1)
  --steps N     actions of a walk before everything must come to an end
                (default: 500)
  --profile P   roce, ib or iwarp (default: drawn from the seed)
  --schedule S  inline or stepped: whether the emulator does at once what it can,
                or a seeded choice of it step by step (default: stepped)
  --no-faults   nothing fails but by the walk's own doing
  --rules LIST  of the faults that the seed draws, only those with these
                numbers, from 0, as in 0,2; or none
  --trace FILE  write the history of the emulator to a file (schedule stepped)
  --verbose     print each call, each completion and what the walk is like
  --hashes      print for each seed hashes of what was called and answered, and
                of the history of the emulator (schedule stepped)
  --json        print the summary as one JSON object
  --help        print this text

Exit status: 0 nothing was wrong, 1 something was, 2 wrong usage.
)";

CommandLine ParseCommandLine(int argc, char* argv[]) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (SetFlag(argument, &line)) continue;
    const size_t equals = argument.find('=');
    if (equals != std::string_view::npos) {
      Set(argument.substr(0, equals), argument.substr(equals + 1), &line);
    } else if (i + 1 < argc) {
      Set(argument, argv[++i], &line);
    } else {
      Set(argument, "", &line);
      Refuse(Text(argument, " needs a value"));
    }
  }
  if (line.seeds == 0) line.seeds = kDefaultSeeds;
  return line;
}

}  // namespace rpma::sim
