// SPDX-License-Identifier: BSD-3-Clause
// Queues that are full, and those that connections share.

#include <string>

#include "tests/differential/pair.h"
#include "tests/differential/scenarios.h"

namespace rpma::differential {
namespace {

// What a queue of 4 takes at most; providers may round it up.
constexpr int kMany = 200;

void CompletionQueueOverruns(World* world) {
  Pair pair(world);
  pair.Connect({.cq = 2});
  for (size_t i = 0; i < 8; ++i) pair.client.Write(i, 25, 1);
  pair.server.AwaitByte(7, 'Z');
  pair.client.Queued();
}

// Posts until the queue refuses; tells whether it has the size asked for, or is
// larger, which it may be. Gives how many it took.
template <typename Call>
int Fill(Side* side, int size, Call post) {
  const size_t before = side->world->history.size();
  int posted = 0;
  while (posted < kMany && post() == 0) ++posted;
  const std::string refusal = side->world->history.back();
  side->world->history.resize(before);
  side->Say(posted < size ? "the queue is too small" : "the queue is full");
  side->world->history.push_back(refusal.substr(refusal.find_last_of(':') + 2));
  return posted;
}

// Lets so many requests complete, all in the same way, which is told once.
void Complete(Side* side, int count) {
  const size_t before = side->world->history.size();
  side->Completion(count);
  const std::string last = side->world->history.back();
  side->world->history.resize(before);
  side->Say(last.substr(last.find("completes")));
}

void SendQueueIsFull(World* world) {
  Pair pair(world);
  pair.Connect({.cq = 64, .sq = 4}, {.cq = 64, .rq = 64});
  if (world->iwarp) return;  // there, nothing waits for a receive
  const int sent =
      Fill(&pair.client, 4, [&] { return pair.client.Send(0, 8); });
  for (int i = 0; i < sent; ++i) {
    rpma_recv(pair.server.connection(), pair.server.region(), 0, 8, nullptr);
  }
  Complete(&pair.client, sent);
  Complete(&pair.server, sent);
  pair.client.Write(0, 0, 8);
  pair.client.Completion();
}

// Slots of the send queue are to be freed by completions that are fetched.
void UnsignalledWrites(World* world) {
  Pair pair(world);
  pair.Connect({.sq = 4});
  int accepted = 0;
  for (; accepted < kMany; ++accepted) {
    char* const source = pair.client.memory() + accepted;
    *source = static_cast<char>(accepted);
    const size_t offset = static_cast<size_t>(accepted);
    if (rpma_write(pair.client.connection(), pair.client.remote(), offset,
                   pair.client.region(), offset, 1, RPMA_F_COMPLETION_ON_ERROR,
                   nullptr) != 0) {
      break;
    }
    while (*static_cast<volatile char*>(pair.server.memory() + offset) !=
           *source) {
    }
  }
  pair.client.Say(accepted == kMany ? "200 writes are accepted"
                                    : "the send queue is full");
}

void ReceiveQueueIsFull(World* world) {
  Pair pair(world);
  pair.Connect({}, {.cq = 64, .rq = 4});
  const int posted =
      Fill(&pair.server, 4, [&] { return pair.server.Recv(0, 8); });
  pair.client.Disconnect();
  pair.server.Event();
  pair.server.Disconnect();
  Complete(&pair.server, posted);
}

// A server with a shared receive queue of `size`.
class Shared : public Pair {
 public:
  Shared(World* world, uint32_t size) : Pair(world) {
    rpma_srq_cfg* cfg = nullptr;
    rpma_srq_cfg_new(&cfg);
    rpma_srq_cfg_set_rq_size(cfg, size);
    rpma_srq_cfg_set_rcq_size(cfg, 0);
    rpma_srq_new(server.peer(), cfg, &srq);
    rpma_srq_cfg_delete(&cfg);
    Connect({}, {.srq = srq});
  }
  ~Shared() {
    server.Delete();
    server.Result("delete the shared receive queue", rpma_srq_delete(&srq));
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  int Recv(size_t offset, size_t length) {
    return server.Post("receive", [&](const void* id) {
      return rpma_srq_recv(srq, server.region(), offset, length, id);
    });
  }

  rpma_srq* srq = nullptr;
};

void SharedReceiveQueue(World* world) {
  Shared pair(world, 10);
  pair.Recv(0, 64);
  pair.Recv(64, 64);
  pair.Recv(128, 64);
  pair.client.Send(0, 16);
  pair.client.Completion();
  pair.server.Completion();
  pair.client.Send(16, 16);
  pair.client.Completion();
  pair.server.Completion();
  pair.server.Bytes(0, 20);
  pair.server.Bytes(64, 20);
  pair.End(0, 1);
}

void SharedReceiveQueueIsFull(World* world) {
  Shared pair(world, 4);
  Fill(&pair.server, 4, [&] { return pair.Recv(0, 8); });
}

// siw's user-space driver crashes.
void ReceiveOfItsOwn(World* world) {
  if (world->iwarp) return;
  Shared pair(world, 4);
  if (pair.server.Recv(0, 8) == 0) pair.server.Say("which is accepted");
}

}  // namespace

std::vector<Scenario> ScenariosOfLimits() {
  return {
      {"completion queue overruns", CompletionQueueOverruns},
      {"send queue is full", SendQueueIsFull},
      {"unsignalled writes without polling", UnsignalledWrites},
      {"receive queue is full", ReceiveQueueIsFull},
      {"shared receive queue", SharedReceiveQueue},
      {"shared receive queue is full", SharedReceiveQueueIsFull},
      {"receive of a connection with a shared queue", ReceiveOfItsOwn},
  };
}

}  // namespace rpma::differential
