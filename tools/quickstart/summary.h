// SPDX-License-Identifier: BSD-3-Clause
// What a run has done, and how that is told.

#ifndef RPMA_TOOLS_QUICKSTART_SUMMARY_H_
#define RPMA_TOOLS_QUICKSTART_SUMMARY_H_

#include <cstdint>
#include <string>

#include "tools/quickstart/digest.h"
#include "tools/quickstart/progress.h"

namespace rpma::quickstart {

struct Summary {
  uint64_t bytes = 0;
  Clock::duration write_time{};  // reading the source, writing, flushing
  Clock::duration read_time{};   // reading back and hashing

  // Requests of the client.
  uint64_t writes = 0;
  uint64_t reads = 0;
  uint64_t flushes = 0;
  uint64_t atomic_writes = 0;

  Sha256 source{};
  Sha256 memory{};     // as the server finds it
  Sha256 read_back{};  // as the client reads it

  std::string fault_status;             // of the write to the stale region
  bool fault_ended_connection = false;  // as that of iWARP, and nothing else
  std::string fault_explanation;        // empty if the device gives none
};

std::string ForPeople(const Summary& summary);
std::string ForPrograms(const Summary& summary);  // one JSON object

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_SUMMARY_H_
