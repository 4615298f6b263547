// SPDX-License-Identifier: BSD-3-Clause
// How connections end.

#include <chrono>

#include "tests/differential/pair.h"
#include "tests/differential/scenarios.h"

namespace rpma::differential {
namespace {

// More than the eight tries of a request take.
constexpr std::chrono::seconds kRetries{20};

void ClientFirst(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Recv(0, 64);
  pair.client.Recv(64, 64);
  pair.server.Recv(0, 64);
  pair.server.Recv(64, 64);
  pair.End();
}

void ServerFirst(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Recv(0, 64);
  pair.server.Recv(0, 64);
  pair.server.Disconnect();
  pair.server.Rest();
  pair.client.Event();
  pair.client.Disconnect();
  pair.server.Event();
  pair.client.Rest();
}

// The initiator's requests end at once, whatever the other side does.
void OwnReceives(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Recv(0, 64);
  pair.client.Disconnect();
  pair.client.Completion();
  pair.server.Event();
  pair.server.Disconnect();
  pair.client.Event();
}

void Both(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Recv(0, 64);
  pair.server.Recv(0, 64);
  pair.client.Disconnect();
  pair.server.Disconnect();
  pair.client.Event();
  pair.server.Event();
  pair.client.Rest();
  pair.server.Rest();
}

void Again(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Disconnect();
  pair.client.Disconnect();
  pair.server.Event();
  pair.server.Disconnect();
  pair.server.Disconnect();
  pair.client.Event();
  pair.client.Disconnect();
}

void Deleted(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Recv(0, 64);
  pair.client.Delete();
  pair.server.Event();
  pair.server.Disconnect();
  pair.server.Rest();
}

void SendAfterOwnDisconnect(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Disconnect();
  pair.server.Event();
  pair.client.Send(0, 8);
  pair.client.Recv(0, 8);
  pair.server.Disconnect();
  pair.client.Event();
  pair.client.Rest(world->iwarp ? 2 : 0, kBrief);
}

void ReceiveAfterOwnDisconnect(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.client.Disconnect();
  pair.server.Event();
  pair.server.Disconnect();
  pair.client.Event();
  pair.server.Recv(0, 8);
  pair.server.Rest(world->iwarp ? 1 : 0, kBrief);
}

// Nobody acknowledges the message; on InfiniBand and RoCE it is tried again
// until the retries are used up.
void SendToDisconnected(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.server.Recv(0, 64);
  pair.client.Disconnect();
  pair.server.Event();
  if (world->iwarp) pair.server.Completion();
  pair.server.Send(0, 8);
  if (!world->iwarp) pair.server.Completion(1, kRetries);
  pair.server.Disconnect();
  pair.server.Rest(world->iwarp ? 1 : 0);
}

void SecondClosed(World* world) {
  Pair pair(world);
  pair.Connect();
  pair.End();
  if (world->iwarp) return;
  pair.client.Event();
  pair.server.Event();
}

}  // namespace

std::vector<Scenario> ScenariosOfEnding() {
  return {
      {"client disconnects", ClientFirst},
      {"server disconnects", ServerFirst},
      {"client disconnects, its own receives", OwnReceives},
      {"both disconnect", Both},
      {"disconnect again", Again},
      {"client deletes the connection", Deleted},
      {"send and receive after the own disconnect", SendAfterOwnDisconnect},
      {"receive after both disconnected", ReceiveAfterOwnDisconnect},
      {"send after the peer disconnected", SendToDisconnected, true},
      {"second CLOSED", SecondClosed, true},
  };
}

}  // namespace rpma::differential
