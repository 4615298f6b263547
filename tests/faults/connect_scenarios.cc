// SPDX-License-Identifier: BSD-3-Clause
// Connections that come about, and those that come about again.

#include "tests/faults/conversation.h"
#include "tests/faults/scenario.h"

namespace rpma::faults {
namespace {

bool Connect(Program& program) {
  Conversation talk(program);
  return talk.Start();
}

// The server ends the connection.
bool ServerDisconnects(Program& program) {
  Conversation talk(program);
  talk.LetServerEnd();
  return talk.Start();
}

// Both sides end it before either hears of the other's wish.
bool BothDisconnect(Program& program) {
  Conversation talk(program);
  return talk.Start() && talk.client.Disconnect() && talk.server.Disconnect();
}

// A second connection of the same two programs, after the first has ended.
bool Reconnect(Program& program) {
  bool all = true;
  for (uint8_t i = 0; i < 2; ++i) {
    Conversation talk(program);
    talk.client.Fill(0, 64, i);
    all &= talk.Start() && talk.client.Write(1, 0, 64) &&
           talk.client.Completes(1) && talk.server.Holds(0, 64, i);
  }
  return all;
}

// A client that tries until it is connected, and a server that goes on
// listening whatever becomes of a request.
bool ConnectUntilItWorks(Program& program) {
  constexpr int kTries = 2;
  Conversation talk(program);
  if (!talk.Listen()) return false;
  for (int i = 0; i < kTries; ++i) {
    if (talk.Connect()) return true;
    talk.HangUp();
  }
  if (program.policy().fails_once) {
    program.findings().Add("no try works after one failure");
  }
  return false;
}

// The sides know the configuration of each other, and what it allows.
bool ExchangePeerConfigurations(Program& program) {
  constexpr char kCommit[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  Conversation talk(program, {}, {.direct_write_to_pmem = true});
  if (!talk.Start()) return false;
  Side& client = talk.client;
  client.Fill(64, 128, 0x20);
  return client.Write(1, 64, 128, RPMA_F_COMPLETION_ON_ERROR) &&
         client.Flush(2, 64, 128, RPMA_FLUSH_TYPE_PERSISTENT) &&
         client.AtomicWrite(3, 0, kCommit) && client.Completes(2) &&
         talk.server.Holds(64, 128, 0x20) && client.Completes(3) &&
         talk.server.Holds(0, 8, 1);
}

constexpr Scenario kScenarios[] = {
    {"connect", Connect},
    {"connect_iwarp", Connect, "profile=iwarp"},
    {"server_disconnects", ServerDisconnects},
    {"server_disconnects_iwarp", ServerDisconnects, "profile=iwarp"},
    {"both_disconnect", BothDisconnect},
    {"reconnect", Reconnect},
    {"connect_until_it_works", ConnectUntilItWorks},
    {"exchange_peer_configurations", ExchangePeerConfigurations},
    {"exchange_peer_configurations_native", ExchangePeerConfigurations,
     "native_flush=on native_atomic_write=on"},
};

}  // namespace

std::span<const Scenario> ConnectScenarios() { return kScenarios; }

}  // namespace rpma::faults
