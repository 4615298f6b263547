// SPDX-License-Identifier: BSD-3-Clause
// Connections that one side does not want.

#include "tests/faults/conversation.h"
#include "tests/faults/scenario.h"

namespace rpma::faults {
namespace {

// The server deletes the request.
bool ServerRefuses(Program& program) {
  Conversation talk(program);
  if (!talk.Listen() || !talk.Request() || !talk.TakeRequest()) return false;
  talk.server.GoAway();
  return talk.client.HearOfTheEnd();
}

// The endpoint is shut down while the request waits there.
bool EndpointShutsDown(Program& program) {
  Conversation talk(program);
  return talk.Listen() && talk.Request() && talk.endpoint.End() &&
         talk.client.HearOfTheEnd();
}

// Nobody listens where the client wants to connect to.
bool NobodyListens(Program& program) {
  Side client(program, Role::kClient);
  const bool heard = client.Open() && client.MakeRequest() &&
                     client.Connect() && client.HearOfTheEnd();
  client.GoAway();
  return heard;
}

// The client has prepared a request, and thinks better of it.
bool ClientDropsItsRequest(Program& program) {
  Conversation talk(program);
  if (!talk.Listen() || !talk.client.MakeRequest()) return false;
  talk.client.GoAway();
  return true;
}

// The client goes away before the server has fetched its request.
bool ClientGoesBeforeItsRequestIsTaken(Program& program) {
  Conversation talk(program);
  if (!talk.Listen() || !talk.Request()) return false;
  talk.client.GoAway();
  return talk.endpoint.End();
}

// The client goes away while the server looks at its request.
bool ClientGoesBeforeItIsAccepted(Program& program) {
  Conversation talk(program);
  if (!talk.Listen() || !talk.Request() || !talk.TakeRequest()) return false;
  talk.client.GoAway();
  const Program::Scope scope(program, Program::Leave::kToFail);
  // The news may still be on its way.
  return !talk.server.Connect() || talk.server.HearOfTheEnd();
}

// The client goes away after the server has accepted.
bool ClientGoesBeforeItIsConnected(Program& program) {
  Conversation talk(program);
  if (!talk.Listen() || !talk.Request() || !talk.TakeRequest() ||
      !talk.server.Connect()) {
    return false;
  }
  talk.client.GoAway();
  return talk.server.HearOfTheEnd();
}

// The server goes away after it has accepted.
bool ServerGoesBeforeItIsConnected(Program& program) {
  Conversation talk(program);
  if (!talk.Listen() || !talk.Request() || !talk.TakeRequest() ||
      !talk.server.Connect()) {
    return false;
  }
  talk.server.GoAway();
  return talk.client.HearOfTheEnd();
}

constexpr Scenario kScenarios[] = {
    {"server_refuses", ServerRefuses},
    {"server_refuses_iwarp", ServerRefuses, "profile=iwarp"},
    {"endpoint_shuts_down", EndpointShutsDown},
    {"nobody_listens", NobodyListens},
    {"client_drops_its_request", ClientDropsItsRequest},
    {"client_goes_before_its_request_is_taken",
     ClientGoesBeforeItsRequestIsTaken},
    {"client_goes_before_it_is_accepted", ClientGoesBeforeItIsAccepted},
    {"client_goes_before_it_is_connected", ClientGoesBeforeItIsConnected},
    {"server_goes_before_it_is_connected", ServerGoesBeforeItIsConnected},
};

}  // namespace

std::span<const Scenario> RefuseScenarios() { return kScenarios; }

}  // namespace rpma::faults
