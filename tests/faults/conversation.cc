// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/conversation.h"

namespace rpma::faults {

Conversation::Conversation(Program& program, const SideOptions& client_options,
                           const SideOptions& server_options)
    : program_(program),
      client(program, Role::kClient, client_options),
      server(program, Role::kServer, server_options),
      endpoint(program) {}

bool Conversation::Connect() {
  return Request() && TakeRequest() && server.Connect() && AwaitEstablished();
}

bool Conversation::Listen() {
  if (!server.Open() || !client.Open()) return false;
  const int rc = RPMA_CREATE(program_, endpoint, rpma_ep_listen, server.peer,
                             program_.place().server.address, kPort);
  if (rc != 0) server.Fail();
  return rc == 0;
}

bool Conversation::Request() {
  return client.MakeRequest() && client.Connect();
}

bool Conversation::TakeRequest() {
  int endpoint_fd = -1;
  int client_fd = -1;
  if (RPMA_CALL(program_, rpma_ep_get_fd, endpoint, &endpoint_fd) != 0 ||
      RPMA_CALL(program_, rpma_conn_get_event_fd, client.conn, &client_fd) !=
          0) {
    return false;
  }
  const int readable = program_.AwaitReadable(endpoint_fd, client_fd);
  if (readable == endpoint_fd) return server.TakeRequest(endpoint);
  // The client is told first what became of its request.
  client.AwaitEstablished();
  return false;
}

void Conversation::HangUp() {
  client.GoAway();
  server.HearOfTheEnd();
  server.GoAway();
  RefuseWhatWaits();
  client.StartAnew();
  server.StartAnew();
}

void Conversation::RefuseWhatWaits() {
  int fd = -1;
  if (RPMA_CALL(program_, rpma_ep_get_fd, endpoint, &fd) != 0) return;
  // A client that has gone cannot be told.
  const Program::Scope scope(program_, Program::Leave::kToFail);
  constexpr int kMost = 4;  // fetching them may fail again and again
  for (int i = 0; i < kMost && Program::IsReadable(fd); ++i) {
    server.StartAnew();
    server.TakeRequest(endpoint);
    server.GoAway();
  }
}

bool Conversation::AwaitEstablished() {
  return client.AwaitEstablished() && server.AwaitEstablished();
}

void Conversation::TakeLeave(Side& side) {
  if (side.established() && side.Disconnect()) return;
  side.GoAway();
  if (&side == &server) endpoint.End();
}

void Conversation::End() {
  const bool server_first =
      client.failed() ? false : server.failed() || server_ends_;
  Side& first = server_first ? server : client;
  Side& second = server_first ? client : server;
  TakeLeave(first);
  second.HearOfTheEnd();
  if (second.conn != nullptr && second.established()) second.Disconnect();
  first.HearOfTheEnd();
  first.GoAway();
  second.GoAway();
  endpoint.End();
}

}  // namespace rpma::faults
