// SPDX-License-Identifier: BSD-3-Clause

#include "tools/sim/summary.h"

#include <cstdio>

#include "tests/sim/report.h"
#include "tests/sim/violation.h"

namespace rpma::sim {
namespace {

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", seconds);
  return text;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x",
                    static_cast<unsigned>(c));
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace

void Summary::Add(const RunOptions& options, const RunResult& result) {
  ++seeds_;
  steps_ += result.steps;
  fired_ += result.fired;
  for (const auto& [what, count] : result.marks) marks_[what] += count;
  if (result.passed()) return;
  failures_.push_back({options.seed, result.violation, ReplayCommand(options)});
}

std::string Summary::ToPlainText(double seconds) const {
  std::string text;
  for (const auto& [what, count] : marks_) {
    char line[120];
    std::snprintf(line, sizeof(line), "  %-36s %10llu\n", what.c_str(),
                  static_cast<unsigned long long>(count));
    text += line;
  }
  for (const Failure& failure : failures_) {
    text += Text("seed ", failure.seed, ": ", failure.violation, "\n  ",
                 failure.again, "\n");
  }
  return text + Text(seeds_, " seeds, ", steps_, " steps, ", fired_,
                     " faults, ", Seconds(seconds), " s: ", failures_.size(),
                     " failed\n");
}

std::string Summary::ToJson(double seconds) const {
  std::string text = Text(
      "{\"seeds\": ", seeds_, ", \"steps\": ", steps_, ", \"faults\": ", fired_,
      ", \"seconds\": ", Seconds(seconds), ", \"failures\": [");
  for (size_t i = 0; i < failures_.size(); ++i) {
    const Failure& failure = failures_[i];
    text += Text(i > 0 ? ", " : "", "{\"seed\": ", failure.seed,
                 ", \"violation\": ", Quoted(failure.violation),
                 ", \"again\": ", Quoted(failure.again), "}");
  }
  text += "], \"counts\": {";
  const char* comma = "";
  for (const auto& [what, count] : marks_) {
    text += Text(comma, Quoted(what), ": ", count);
    comma = ", ";
  }
  return text + "}}\n";
}

}  // namespace rpma::sim
