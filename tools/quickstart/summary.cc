// SPDX-License-Identifier: BSD-3-Clause
// Formats the summary.

#include "tools/quickstart/summary.h"

#include <cstdio>

#include "tools/quickstart/failure.h"

namespace rpma::quickstart {
namespace {

std::string Seconds(Clock::duration time) {
  char text[32];
  snprintf(text, sizeof text, "%.3f",
           std::chrono::duration<double>(time).count());
  return text;
}

// As a JSON string (RFC 8259, section 7). The text is ASCII.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      snprintf(escaped, sizeof escaped, "\\%c", c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
    } else {
      snprintf(escaped, sizeof escaped, "%c", c);
    }
    quoted += escaped;
  }
  return quoted + "\"";
}

}  // namespace

std::string ForPeople(const Summary& s) {
  return Text(
      "\nThe file is in the peer's memory, flushed to persistence and "
      "committed.",
      "\n  size        ", s.bytes, " bytes", "\n  time        ",
      Seconds(s.write_time), " s to write, flush, commit; ",
      Seconds(s.read_time), " s to read back", "\n  speed       ",
      Rate(s.bytes, s.write_time), " written, ", Rate(s.bytes, s.read_time),
      " read back, hashing included", "\n  operations  ", s.writes, " writes, ",
      s.reads, " reads, ", s.flushes, " flushes, ", s.atomic_writes,
      " atomic write", "\n  SHA-256     ", Hex(s.source), " source",
      "\n              ", Hex(s.memory), " peer's memory", "\n              ",
      Hex(s.read_back), " read back", "\n              all the same",
      "\n\nA fault: a write to a region that the peer has deregistered.",
      "\n  completion   ", s.fault_status, "\n  device says  ",
      s.fault_explanation,
      "\n  then         both sides disconnected, and each got "
      "RPMA_CONN_CLOSED\n");
}

std::string ForPrograms(const Summary& s) {
  return Text("{\"bytes\": ", s.bytes,  //
              ", \"write_seconds\": ", Seconds(s.write_time),
              ", \"read_seconds\": ", Seconds(s.read_time),
              ", \"writes\": ", s.writes, ", \"reads\": ", s.reads,
              ", \"flushes\": ", s.flushes,
              ", \"atomic_writes\": ", s.atomic_writes,
              ", \"sha256\": {\"source\": ", Quoted(Hex(s.source)),
              ", \"memory\": ", Quoted(Hex(s.memory)),
              ", \"read_back\": ", Quoted(Hex(s.read_back)),
              "}, \"fault\": {\"status\": ", Quoted(s.fault_status),
              ", \"explanation\": ", Quoted(s.fault_explanation), "}}\n");
}

}  // namespace rpma::quickstart
