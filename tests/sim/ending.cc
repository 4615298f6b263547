// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/ending.h"

#include "tests/sim/completing.h"
#include "tests/sim/connecting.h"
#include "tests/sim/receiving.h"
#include "tests/sim/sending.h"
#include "tests/sim/settle.h"
#include "tests/sim/setup.h"

namespace rpma::sim {
namespace {

constexpr int kAllUsages = 0xff;
constexpr size_t kMaxMessage = 64;  // bytes
constexpr size_t kRegionSize = 256;
constexpr char kFreshPort[] = "7100";

// --- What is outstanding ends

void EndFaults(World& world) { world.faults.Stop(world.fabric()); }

// The messages that wait get receives, so that all can complete.
void FeedOwnQueue(World& world, End& end) {
  if (!end.is_connection() || end.other == nullptr) return;
  if (end.config.srq != nullptr || end.may_fail) return;
  Region* const region = world.PickOne(world.regions, [&](const Region& r) {
    return r.registered() && r.peer == end.peer && r.usage == kAllUsages;
  });
  if (region == nullptr) return;
  while (end.receives_posted < end.other->messages.size() &&
         end.receives.size() < end.config.rq_size) {
    PostReceive(world, end, region, region->sources, kMaxMessage);
  }
}

void Feed(World& world) {
  bool waits = true;
  for (size_t rounds = 0; waits && rounds < 100; ++rounds) {
    waits = false;
    for (const auto& end : world.ends) FeedOwnQueue(world, *end);
    Settle(world);
    for (const auto& end : world.ends) {
      waits = waits || (end->is_connection() && !end->may_fail &&
                        !end->requests.empty());
    }
  }
}

void RefuseAll(World& world) {
  for (const auto& endpoint : world.endpoints) {
    if (endpoint->handle == nullptr || endpoint->is_struck) continue;
    while (End* const end = NextRequest(world, *endpoint, Config{})) {
      DeleteRequest(world, *end);
    }
    Shutdown(world, *endpoint);
  }
  for (const auto& end : world.ends) {
    if (end->stage == Stage::kRequest) DeleteRequest(world, *end);
  }
  Settle(world);
}

void DisconnectAll(World& world) {
  for (const auto& end : world.ends) {
    if (end->is_connection()) Disconnect(world, *end);
  }
  Settle(world);
}

// --- Everything is deleted

void DeleteConnections(World& world) {
  for (const auto& end : world.ends) {
    if (end->is_connection()) DeleteConnection(world, *end);
  }
}

void DeleteTheRest(World& world) {
  for (const auto& srq : world.srqs) {
    if (srq->handle != nullptr) DeleteSrq(world, *srq);
  }
  for (const auto& region : world.regions) {
    if (region->registered()) Deregister(world, *region);
  }
  for (const auto& endpoint : world.endpoints) {
    if (endpoint->handle != nullptr) Shutdown(world, *endpoint);
  }
  for (const auto& peer : world.peers) {
    if (peer->handle != nullptr) DeletePeer(world, *peer);
  }
}

// --- A connection made afresh works

struct FreshPair {
  End* client = nullptr;
  End* server = nullptr;
  Region* client_region = nullptr;
  Region* server_region = nullptr;
};

FreshPair ConnectAfresh(World& world, Node& client_node, Node& server_node) {
  Peer& client = *NewPeer(world, client_node);
  Peer& server = *NewPeer(world, server_node);
  Destination to;
  to.address = World::AddressOf(client_node, server_node);
  to.port = kFreshPort;
  to.through = &client_node;
  to.owner = &server_node;
  Endpoint& endpoint = *Listen(world, server, to.address, to.port);
  Config config;
  config.cq_size = 30;
  FreshPair pair;
  pair.client_region =
      RegisterRegion(world, client, kRegionSize, kAllUsages, 0);
  pair.server_region =
      RegisterRegion(world, server, kRegionSize, kAllUsages, 0);
  pair.client = NewRequest(world, client, to, config);
  Connect(world, *pair.client, TagOf(*pair.client));
  Settle(world);
  pair.server = NextRequest(world, endpoint, config);
  Require(pair.server != nullptr, "a fresh request does not come");
  PostReceive(world, *pair.server, pair.server_region,
              pair.server_region->sources, kMaxMessage);
  Connect(world, *pair.server, std::nullopt);
  Settle(world);
  Require(pair.client->established && pair.server->established,
          "a fresh connection is not established");
  return pair;
}

void ExchangeAfresh(World& world, const FreshPair& pair) {
  ApplyPeerCfg(world, *pair.client, true);
  Posting posting;
  posting.local = pair.client_region;
  posting.remote = pair.server_region;
  posting.remote_offset = pair.server_region->sources;
  posting.length = 40;
  posting.kind = OpKind::kWrite;
  PostRequest(world, *pair.client, posting);
  posting.kind = OpKind::kFlush;
  posting.flush_type = RPMA_FLUSH_TYPE_PERSISTENT;
  PostRequest(world, *pair.client, posting);
  posting.kind = OpKind::kRead;
  posting.local_offset = pair.client_region->sources;
  PostRequest(world, *pair.client, posting);
  posting.kind = OpKind::kSend;
  posting.local_offset = 0;
  PostRequest(world, *pair.client, posting);
  posting.kind = OpKind::kAtomicWrite;
  posting.length = RPMA_ATOMIC_WRITE_ALIGNMENT;
  PostRequest(world, *pair.client, posting);
  Settle(world);
  Require(pair.client->requests.empty() && pair.server->receives.empty() &&
              !pair.client->failed,
          "a fresh connection does not work");
}

void WorkAfresh(World& world) {
  std::vector<Node*> working;
  for (const auto& node : world.nodes) {
    if (!node->is_gone) working.push_back(node.get());
  }
  if (working.empty()) return;
  ExchangeAfresh(world,
                 ConnectAfresh(world, *working.front(), *working.back()));
}

void CheckNothingLives(World& world) {
  world.CheckCensus();
  rpma_emu_census census;
  Require(rpma_emu_get_census(world.fabric(), &census) == 0,
          "there is no census");
  const uint32_t others = census.pds + census.mrs + census.cqs + census.srqs +
                          census.qps + census.comp_channels;
  Require(census.cm_ids + census.event_channels + others == 0,
          "all was deleted, but on the fabric live ", census.cm_ids,
          " CM ids, ", census.event_channels, " event channels and ", others,
          " other objects");
}

}  // namespace

const std::vector<EndingStep> kEnding = {
    EndFaults,
    Settle,
    Feed,
    RefuseAll,
    DisconnectAll,
    DeleteConnections,
    DeleteTheRest,
    CheckNothingLives,
    WorkAfresh,
    DisconnectAll,
    DeleteConnections,
    DeleteTheRest,
    CheckNothingLives,
};

}  // namespace rpma::sim
