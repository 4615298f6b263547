// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing the other side's memory.

#include <arpa/inet.h>

#include "tests/faults/conversation.h"
#include "tests/faults/scenario.h"

namespace rpma::faults {
namespace {

constexpr size_t kSize = 256;
constexpr int kOnError = RPMA_F_COMPLETION_ON_ERROR;

// What is flushed is in the server's memory.
bool WriteAndFlush(Program& program) {
  Conversation talk(program);
  if (!talk.Start()) return false;
  Side& client = talk.client;
  client.Fill(0, kSize, 0x30);
  return client.Write(1, 0, kSize, kOnError) && client.Flush(2, 0, kSize) &&
         client.Completes(2) && talk.server.Holds(0, kSize, 0x30);
}

// Where the number of records is that are complete, and where they are.
constexpr size_t kUsed = 0;
constexpr uint8_t kRecords = 3;
size_t PlaceOf(uint8_t record) { return kSize * record; }

// Writes one record of a log and commits it.
bool Append(Conversation& talk, uint8_t record, uintptr_t* number) {
  Side& client = talk.client;
  const char used[8] = {static_cast<char>(record)};
  const size_t place = PlaceOf(record);
  client.Fill(place, kSize, record);
  return client.Write(++*number, place, kSize, kOnError) &&
         client.Flush(++*number, place, kSize, RPMA_FLUSH_TYPE_PERSISTENT) &&
         client.Completes(*number) &&
         client.AtomicWrite(++*number, kUsed, used) &&
         client.Completes(*number) && talk.server.Holds(kUsed, 1, record) &&
         talk.server.Holds(place, kSize, record);
}

// A log of records, each committed before the next one is written.
bool AppendToALog(Program& program) {
  Conversation talk(program, {}, {.direct_write_to_pmem = true});
  uintptr_t number = 0;
  if (!talk.Start()) return false;
  for (uint8_t record = 1; record <= kRecords; ++record) {
    if (!Append(talk, record, &number)) return false;
  }
  return true;
}

// Goes on behind what the server has, which is at least what was acknowledged.
bool AppendTheRest(Program& program, Conversation& talk,
                   uint8_t* acknowledged) {
  uintptr_t number = 1;
  if (!talk.client.Read(number, kUsed, 8) || !talk.client.Completes(number)) {
    return false;
  }
  const uint8_t used = talk.client.At(kUsed);
  if (used < *acknowledged || used > *acknowledged + 1) {
    program.findings().Add("%u records were acknowledged and %u are there",
                           *acknowledged, used);
  }
  for (uint8_t record = 1; record <= used; ++record) {
    if (!talk.server.Holds(PlaceOf(record), kSize, record)) return false;
  }
  for (uint8_t record = static_cast<uint8_t>(used + 1); record <= kRecords;
       ++record) {
    if (!Append(talk, record, &number)) return false;
    *acknowledged = record;
  }
  return true;
}

// A log that outlives its connections.
bool ResumeALog(Program& program) {
  constexpr int kTries = 2;
  Conversation talk(program, {}, {.direct_write_to_pmem = true});
  talk.server.Fill(kUsed, 1, 0);
  uint8_t acknowledged = 0;
  if (!talk.Listen()) return false;
  for (int i = 0; i < kTries; ++i) {
    if (talk.Connect() && AppendTheRest(program, talk, &acknowledged)) {
      return true;
    }
    talk.HangUp();
  }
  if (program.policy().fails_once) {
    program.findings().Add("a log is not resumed after one failure");
  }
  return false;
}

// The server's memory arrives at the client.
bool Read(Program& program) {
  Conversation talk(program);
  if (!talk.Start()) return false;
  talk.server.Fill(kSize, kSize, 0x40);
  talk.client.Fill(kSize, kSize, 0);
  ibv_wc wc = {};
  if (!talk.client.Read(1, kSize, kSize) || !talk.client.Completes(1, &wc)) {
    return false;
  }
  if (wc.opcode != IBV_WC_RDMA_READ || wc.byte_len != kSize) {
    program.findings().Add("a read completed as something else");
  }
  return talk.client.Holds(kSize, kSize, 0x40);
}

// A write of which the server is told.
bool WriteWithImmediate(Program& program) {
  constexpr uint32_t kImm = 0x12345678;
  Conversation talk(program);
  if (!talk.Start() || !talk.server.Receive(1, 0, 0)) return false;
  talk.client.Fill(0, kSize, 0x50);
  if (!talk.client.WriteWithImm(2, 0, kSize, kImm) ||
      !talk.client.Completes(2)) {
    return false;
  }
  ibv_wc wc = {};
  if (!talk.server.Receives(1, &wc)) return false;
  if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || wc.imm_data != htonl(kImm)) {
    program.findings().Add("the write told something else");
  }
  return talk.server.Holds(0, kSize, 0x50);
}

// The server ends the registration while the client still writes.
bool ServerDeregisters(Program& program) {
  Conversation talk(program);
  if (!talk.Start()) return false;
  talk.client.Fill(0, kSize, 0x60);
  if (!talk.client.Write(1, 0, kSize) || !talk.client.Completes(1))
    return false;
  return talk.server.mr.End() && talk.client.Write(2, 0, kSize) &&
         talk.client.FailsToComplete(2, IBV_WC_REM_ACCESS_ERR);
}

constexpr Scenario kScenarios[] = {
    {"write_and_flush", WriteAndFlush},
    {"write_and_flush_iwarp", WriteAndFlush, "profile=iwarp"},
    {"write_and_flush_native", WriteAndFlush, "native_flush=on"},
    {"append_to_a_log", AppendToALog},
    {"resume_a_log", ResumeALog},
    {"resume_a_log_native", ResumeALog,
     "native_flush=on native_atomic_write=on"},
    {"read", Read},
    {"write_with_immediate", WriteWithImmediate},
    {"server_deregisters", ServerDeregisters},
};

}  // namespace

std::span<const Scenario> RemoteMemoryScenarios() { return kScenarios; }

}  // namespace rpma::faults
