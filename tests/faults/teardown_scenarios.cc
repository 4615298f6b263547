// SPDX-License-Identifier: BSD-3-Clause
// Connections that end in other ways than both sides agree on.

#include "tests/faults/conversation.h"
#include "tests/faults/scenario.h"

namespace rpma::faults {
namespace {

constexpr size_t kSize = 64;

// The client deletes the connection and has never disconnected it.
bool ClientJustDeletes(Program& program) {
  Conversation talk(program);
  if (!talk.Start()) return false;
  talk.client.GoAway();
  return talk.server.HearOfTheEnd();
}

bool ServerJustDeletes(Program& program) {
  Conversation talk(program);
  if (!talk.Start()) return false;
  talk.server.GoAway();
  return talk.client.HearOfTheEnd();
}

// The client deletes the connection without waiting for its end.
bool ClientDisconnectsAndDeletes(Program& program) {
  Conversation talk(program);
  if (!talk.Start() || !talk.client.Disconnect()) return false;
  talk.client.GoAway();
  return talk.server.HearOfTheEnd();
}

// There are requests and receives under way, and completions not fetched.
bool DeleteWithOutstandingWork(Program& program) {
  Conversation talk(program, {.rcq_size = 8}, {});
  if (!talk.Start()) return false;
  Side& client = talk.client;
  if (!client.Receive(1, 0, kSize) || !client.Receive(2, 0, kSize) ||
      !talk.server.Receive(3, 0, kSize) || !client.Write(4, 0, kSize) ||
      !client.Flush(5, 0, kSize) || !client.Read(6, 0, kSize)) {
    return false;
  }
  client.GoAway();
  return talk.server.HearOfTheEnd();
}

// What was posted is flushed, in order, by the end of the connection.
bool DisconnectWithOutstandingReceives(Program& program) {
  Conversation talk(program);
  if (!talk.Start()) return false;
  Side& server = talk.server;
  if (!server.Receive(1, 0, kSize) || !server.Receive(2, 0, kSize) ||
      !talk.client.Disconnect()) {
    return false;
  }
  return server.HearOfTheEnd() && server.Disconnect() &&
         server.FailsToComplete(1, IBV_WC_WR_FLUSH_ERR) &&
         server.FailsToComplete(2, IBV_WC_WR_FLUSH_ERR);
}

// The endpoint goes before the connection that came from it.
bool EndpointGoesFirst(Program& program) {
  Conversation talk(program);
  if (!talk.Start()) return false;
  talk.client.Fill(0, kSize, 0x70);
  return talk.endpoint.End() && talk.client.Write(1, 0, kSize) &&
         talk.client.Completes(1) && talk.server.Holds(0, kSize, 0x70);
}

constexpr Scenario kScenarios[] = {
    {"client_just_deletes", ClientJustDeletes},
    {"server_just_deletes", ServerJustDeletes},
    {"client_disconnects_and_deletes", ClientDisconnectsAndDeletes},
    {"delete_with_outstanding_work", DeleteWithOutstandingWork},
    {"delete_with_outstanding_work_iwarp", DeleteWithOutstandingWork,
     "profile=iwarp"},
    {"disconnect_with_outstanding_receives", DisconnectWithOutstandingReceives},
    {"endpoint_goes_first", EndpointGoesFirst},
};

}  // namespace

std::span<const Scenario> TeardownScenarios() { return kScenarios; }

}  // namespace rpma::faults
