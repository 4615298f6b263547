// SPDX-License-Identifier: BSD-3-Clause
// Formats the summary.

#include "tools/quickstart/summary.h"

#include <cstdio>
#include <sstream>

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

std::string Fault(const Summary& s) {
  std::ostringstream text;
  text << "  completion   " << s.fault_status
       << (s.fault_ended_connection ? ", as iWARP answers no write\n" : "\n");
  text << "  device says  "
       << (s.fault_explanation.empty()
               ? "nothing more; that of --transport=emulator says why"
               : s.fault_explanation)
       << "\n  then         "
       << (s.fault_ended_connection ? "the device ended the connection"
                                    : "both sides disconnected")
       << ", and each got RPMA_CONN_CLOSED\n";
  return text.str();
}

}  // namespace

std::string ForPeople(const Summary& s) {
  std::ostringstream text;
  text << "\nThe file is in the peer's memory, flushed to persistence and "
          "committed.\n";
  text << "  size        " << s.bytes << " bytes\n";
  text << "  time        " << Seconds(s.write_time)
       << " s to write, flush, commit; " << Seconds(s.read_time)
       << " s to read back\n";
  text << "  speed       " << Rate(s.bytes, s.write_time) << " written, "
       << Rate(s.bytes, s.read_time) << " read back, hashing included\n";
  text << "  operations  writes " << s.writes << ", reads " << s.reads
       << ", flushes " << s.flushes << ", atomic writes " << s.atomic_writes
       << "\n";
  text << "  SHA-256     " << Hex(s.source) << " source\n";
  text << "              " << Hex(s.memory) << " peer's memory\n";
  text << "              " << Hex(s.read_back) << " read back\n";
  text << "              all the same\n\n";
  text << "A fault: a write to a region that the peer has deregistered.\n";
  text << Fault(s);
  return text.str();
}

std::string ForPrograms(const Summary& s) {
  std::ostringstream json;
  json << "{\"bytes\": " << s.bytes;
  json << ", \"write_seconds\": " << Seconds(s.write_time);
  json << ", \"read_seconds\": " << Seconds(s.read_time);
  json << ", \"writes\": " << s.writes;
  json << ", \"reads\": " << s.reads;
  json << ", \"flushes\": " << s.flushes;
  json << ", \"atomic_writes\": " << s.atomic_writes;
  json << ", \"sha256\": {\"source\": " << Quoted(Hex(s.source));
  json << ", \"memory\": " << Quoted(Hex(s.memory));
  json << ", \"read_back\": " << Quoted(Hex(s.read_back));
  json << "}, \"fault\": {\"status\": " << Quoted(s.fault_status);
  json << ", \"ended_connection\": "
       << (s.fault_ended_connection ? "true" : "false");
  json << ", \"explanation\": " << Quoted(s.fault_explanation) << "}}\n";
  return json.str();
}

}  // namespace rpma::quickstart
