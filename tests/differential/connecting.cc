// SPDX-License-Identifier: BSD-3-Clause
// How connections come about, or do not.

#include <poll.h>

#include <string>

#include "tests/differential/pair.h"
#include "tests/differential/scenarios.h"

namespace rpma::differential {
namespace {

void Await(int fd) {
  pollfd readable = {fd, POLLIN, 0};
  poll(&readable, 1, 1000 * static_cast<int>(kDeadline.count()));
}

void AwaitEvent(const Side& side) {
  int fd = -1;
  rpma_conn_get_event_fd(side.connection(), &fd);
  Await(fd);
}

// What MPA can carry: struct rdma_conn_param can say 255, of which siw takes 4.
constexpr uint8_t kMostOfMpa = 251;

// What is longer, siw sends and never delivers.
void PrivateDataOfRequest(World* world, uint8_t length) {
  Pair pair(world);
  if (pair.Request(length) != 0 || length > kMostOfMpa) return;
  rpma_conn_req* request = pair.Incoming();
  rpma_conn_private_data data = {};
  rpma_conn_req_get_private_data(request, &data);
  pair.server.Say(Describe(data));
  pair.Accept(request, 0);
  pair.client.Event();
  pair.server.Event();
  rpma_conn_get_private_data(pair.client.connection(), &data);
  pair.client.Say(Describe(data));
  pair.End();
}

void PrivateDataOfAcceptance(World* world, uint8_t length) {
  Pair pair(world);
  pair.Request(0);
  if (pair.Accept(pair.Incoming(), length) != 0) return pair.client.Event();
  pair.client.Event();
  pair.server.Event();
  rpma_conn_private_data data = {};
  rpma_conn_get_private_data(pair.client.connection(), &data);
  pair.client.Say(Describe(data));
  pair.End();
}

template <uint8_t kLength>
void Requested(World* world) {
  PrivateDataOfRequest(world, kLength);
}

template <uint8_t kLength>
void Accepted(World* world) {
  PrivateDataOfAcceptance(world, kLength);
}

// Of the server, which waits for the client to fetch its event, or not.
void WhoIsEstablishedFirst(World* world) {
  Pair pair(world);
  pair.Request(0);
  pair.Accept(pair.Incoming(), 0);
  AwaitEvent(world->iwarp ? pair.server : pair.client);
  pair.server.Say(pair.server.HasEvent() ? "has an event" : "has no event yet");
  pair.client.Event();
  pair.server.Event();
  pair.End();
}

void NobodyListens(World* world) {
  Pair pair(world);
  pair.server.Result("shut down", rpma_ep_shutdown(&pair.endpoint));
  if (pair.Request(0) != 0) return;
  pair.client.Event();
  pair.client.Disconnect();
}

void Refused(World* world) {
  Pair pair(world);
  pair.Request(0);
  rpma_conn_req* request = pair.Incoming();
  pair.server.Result("refuse", rpma_conn_req_delete(&request));
  pair.client.Event();
  pair.client.Disconnect();
  pair.client.Disconnect();
}

void ReceivePostedAndRefused(World* world) {
  Pair pair(world);
  pair.Request(0);
  pair.client.Recv(0, 64);
  rpma_conn_req* request = pair.Incoming();
  pair.server.Result("refuse", rpma_conn_req_delete(&request));
  pair.client.Event();
  pair.client.Rest(world->iwarp ? 1 : 0);
}

void ShutDownWithRequest(World* world) {
  Pair pair(world);
  pair.Request(0);
  int fd = -1;
  rpma_ep_get_fd(pair.endpoint, &fd);
  Await(fd);
  pair.server.Result("shut down", rpma_ep_shutdown(&pair.endpoint));
  pair.client.Event();
}

void ShutDownBeforeAcceptance(World* world) {
  Pair pair(world);
  pair.Request(0);
  rpma_conn_req* request = pair.Incoming();
  pair.server.Result("shut down", rpma_ep_shutdown(&pair.endpoint));
  pair.Accept(request, 0);
  pair.client.Event();
  pair.server.Event();
  pair.End();
}

void PortTaken(World* world) {
  Pair pair(world);
  rpma_ep* other = nullptr;
  pair.server.Result("listen where another does",
                     rpma_ep_listen(pair.server.peer(), world->address,
                                    pair.port.c_str(), &other));
  rpma_ep_shutdown(&other);
}

void NoSuchAddress(World* world) {
  Pair pair(world);
  rpma_ep* other = nullptr;
  pair.server.Result(
      "listen on 198.51.100.1",
      rpma_ep_listen(pair.server.peer(), "198.51.100.1", "7", &other));
  rpma_ep_shutdown(&other);
}

void RequestNotSent(World* world) {
  Pair pair(world);
  rpma_conn_req* request = nullptr;
  rpma_conn_req_new(pair.client.peer(), world->address, pair.port.c_str(),
                    nullptr, &request);
  pair.client.Result("delete a request", rpma_conn_req_delete(&request));
}

void FirstMessageFindsReceive(World* world) {
  Pair pair(world);
  pair.Request(0);
  rpma_conn_req* request = pair.Incoming();
  pair.server.Post("receive", [&](const void* id) {
    return rpma_conn_req_recv(request, pair.server.region(), 0, 64, id);
  });
  pair.Accept(request, 0);
  pair.client.Event();
  pair.server.Event();
  pair.client.Send(0, 16);
  pair.client.Completion();
  pair.server.Completion();
  pair.server.Bytes(0, 20);
  pair.End();
}

}  // namespace

std::vector<Scenario> ScenariosOfConnecting() {
  return {
      {"request with no private data", Requested<0>},
      {"request with 1 byte of private data", Requested<1>},
      {"request with 56 bytes of private data", Requested<56>},
      {"request with 57 bytes of private data", Requested<57>},
      {"request with 251 bytes of private data", Requested<251>},

      {"request with 252 bytes of private data", Requested<252>},
      {"acceptance with 1 byte of private data", Accepted<1>},
      {"acceptance with 196 bytes of private data", Accepted<196>},
      {"acceptance with 197 bytes of private data", Accepted<197>},
      {"acceptance with 251 bytes of private data", Accepted<251>},
      {"acceptance with 255 bytes of private data", Accepted<255>},
      {"server established before the client asks", WhoIsEstablishedFirst},
      {"nobody listens", NobodyListens},
      {"request refused", Refused},
      {"request refused, a receive posted", ReceivePostedAndRefused},
      {"endpoint shut down with a request", ShutDownWithRequest},
      {"endpoint shut down before the acceptance", ShutDownBeforeAcceptance},
      {"port taken", PortTaken},
      {"address of no device", NoSuchAddress},
      {"request deleted before it is sent", RequestNotSent},
      {"first message finds a receive", FirstMessageFindsReceive},
  };
}

}  // namespace rpma::differential
