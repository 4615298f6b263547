// SPDX-License-Identifier: BSD-3-Clause

#include "tools/bench/figures.h"

#include <algorithm>
#include <cstdio>

#include "tools/bench/side.h"

namespace rpma::bench {
namespace {

// Microseconds for 1 MiB as 10^9 bytes a second.
double Gigabytes(double microseconds) {
  return static_cast<double>(kBulk) / microseconds / 1000;
}

std::optional<double> Gigabytes(std::optional<double> microseconds) {
  if (!microseconds) return std::nullopt;
  return Gigabytes(*microseconds);
}

std::optional<double> Share(double whole, std::optional<double> part) {
  if (!part) return std::nullopt;
  return 100 * whole / *part;
}

template <typename... Arguments>
std::string Format(const char* format, Arguments... arguments) {
  char text[160];
  std::snprintf(text, sizeof(text), format, arguments...);
  return text;
}

std::string Number(double value, int digits) {
  return Format("%.*f", digits, value);
}

std::string NumberOrDash(std::optional<double> value, int digits) {
  return value ? Number(*value, digits) : "-";
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string TargetOf(const Row& row) {
  if (!row.target) return "";
  return Format("%s %g", row.is_at_least ? ">=" : "<=", *row.target);
}

}  // namespace

std::vector<Row> MakeRows(Figures& figures, const UcxFigures& ucx) {
  const auto at = [&](Figure figure) { return At(figures, figure); };
  const double memcpy_time = at(Figure::kMemcpy);
  return {
      {.id = "write_8_one_way",
       .text = "2 processes: 8 bytes written until seen, both poll, p50",
       .unit = "us",
       .value = at(Figure::kWriteOneWay),
       .target = 1,
       .machine = at(Figure::kMachineOneWay),
       .ucx = ucx.one_way},
      {.id = "write_8_completed",
       .text = "2 processes: 8 bytes written until completed, p50",
       .unit = "us",
       .value = at(Figure::kWriteCompleted)},
      {.id = "write_8_completed_p99",
       .text = "2 processes: 8 bytes written until completed, p99",
       .unit = "us",
       .value = at(Figure::kWriteCompleted99)},
      {.id = "wake",
       .text = "2 processes: message until a wait for it returns, p50",
       .unit = "us",
       .value = at(Figure::kWake),
       .target = 15,
       .machine = at(Figure::kMachineWake),
       .ucx = ucx.wake},
      {.id = "wake_later",
       .text = "2 processes: the same after 1 ms of silence, p50",
       .unit = "us",
       .value = at(Figure::kWakeLater),
       .machine = at(Figure::kMachineWakeLater)},
      {.id = "write_1m",
       .text = "2 processes: 1 MiB written until completed, p50",
       .unit = "GB/s",
       .value = Gigabytes(at(Figure::kBulk)),
       .machine = Gigabytes(at(Figure::kMachineBulk)),
       .ucx = Gigabytes(ucx.bulk)},
      {.id = "write_1m_best",
       .text = "2 processes: 1 MiB written until completed, best",
       .unit = "GB/s",
       .value = Gigabytes(at(Figure::kBulkBest))},
      {.id = "memcpy_1m",
       .text = "memcpy of 1 MiB in turns with the above, p50",
       .unit = "GB/s",
       .value = Gigabytes(memcpy_time)},
      {.id = "write_1m_share",
       .text = "2 processes: 1 MiB written, share of memcpy",
       .unit = "%",
       .value = *Share(memcpy_time, at(Figure::kBulk)),
       .digits = 0,
       .target = 80,
       .is_at_least = true,
       .machine = Share(memcpy_time, at(Figure::kMachineBulk)),
       .ucx = Share(memcpy_time, ucx.bulk)},
      {.id = "idle_cpu",
       .text = "2 processes: processor time of both in an idle second",
       .unit = "ms",
       .value = at(Figure::kIdle) / 1000,
       .target = 1},
      {.id = "write_8_rate",
       .text = "1 process: 8 bytes written and completed",
       .unit = "M/s",
       .value = at(Figure::kWriteRate) / 1e6,
       .target = 10,
       .is_at_least = true},
      {.id = "write_1m_inside",
       .text = "1 process: 1 MiB written and completed, p50",
       .unit = "GB/s",
       .value = Gigabytes(at(Figure::kBulkInside))},
      {.id = "write_1m_inside_share",
       .text = "1 process: 1 MiB written, share of memcpy",
       .unit = "%",
       .value = *Share(at(Figure::kMemcpyInside), at(Figure::kBulkInside)),
       .digits = 0,
       .target = 95,
       .is_at_least = true},
      {.id = "connection_rate",
       .text = "1 process: connections set up and ended",
       .unit = "1/s",
       .value = at(Figure::kConnectionRate),
       .digits = 0,
       .target = 20'000,
       .is_at_least = true},
  };
}

std::string ToPlainText(const std::vector<Row>& rows, const std::string& note) {
  std::string text = Format("%-57s %9s %-5s %-9s %-7s %9s %9s\n", "", "librpma",
                            "", "target", "", "machine", "UCX shm");
  for (const Row& row : rows) {
    text += Format("%-57s %9s %-5s %-9s %-7s %9s %9s\n", row.text.c_str(),
                   Number(row.value, row.digits).c_str(), row.unit.c_str(),
                   TargetOf(row).c_str(),
                   !row.target ? "" : (row.IsMet() ? "met" : "MISSED"),
                   NumberOrDash(row.machine, row.digits).c_str(),
                   NumberOrDash(row.ucx, row.digits).c_str());
  }
  const auto missed = std::count_if(
      rows.begin(), rows.end(), [](const Row& row) { return !row.IsMet(); });
  text += Format("%d of the targets missed; ", static_cast<int>(missed));
  return text + note + "\n";
}

std::string ToJson(const std::vector<Row>& rows, const std::string& note) {
  std::string text = "{\"rows\": [";
  for (const Row& row : rows) {
    if (&row != &rows.front()) text += ",";
    text += "\n  {\"id\": " + Quoted(row.id) +
            ", \"text\": " + Quoted(row.text) +
            ", \"unit\": " + Quoted(row.unit) +
            Format(", \"value\": %.6g", row.value);
    if (row.target) {
      text +=
          Format(", \"target\": %s, \"met\": %s", Quoted(TargetOf(row)).c_str(),
                 row.IsMet() ? "true" : "false");
    }
    if (row.machine) text += Format(", \"machine\": %.6g", *row.machine);
    if (row.ucx) text += Format(", \"ucx\": %.6g", *row.ucx);
    text += "}";
  }
  return text + "\n],\n\"ucx\": " + Quoted(note) + "}\n";
}

}  // namespace rpma::bench
