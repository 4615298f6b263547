// SPDX-License-Identifier: BSD-3-Clause
// Draws what to do with peers, regions, shared receive queues and endpoints.

#include "tests/sim/actions.h"
#include "tests/sim/setup.h"

namespace rpma::sim {
namespace {

constexpr int kAllUsages = 0xff;
constexpr size_t kMaxPeersOfNode = 2;
constexpr const char* kPorts[] = {"7001", "7002", "7003"};
constexpr const char* kWrongPorts[] = {"", "70000", "12x", "-1", " 7"};

bool IsAlive(const Peer& peer) {
  return peer.handle != nullptr && !peer.node->is_gone;
}
bool IsAlive(const Srq& srq) { return srq.handle != nullptr; }
bool IsAlive(const Endpoint& endpoint) { return endpoint.handle != nullptr; }

Peer* AnyPeer(World& world) {
  return world.PickOne(world.peers,
                       [](const Peer& peer) { return IsAlive(peer); });
}

bool DrawPeer(World& world) {
  const auto has_room = [&](const Node& node) {
    return World::CountOf(world.peers,
                          [&](const Peer& peer) {
                            return IsAlive(peer) && peer.node == &node;
                          }) < kMaxPeersOfNode &&
           !node.is_gone;
  };
  const auto is_bare = [&](const Node& node) {
    return World::CountOf(world.peers,
                          [&](const Peer& peer) {
                            return IsAlive(peer) && peer.node == &node;
                          }) == 0 &&
           !node.is_gone;
  };
  Node* node = world.PickOne(world.nodes, is_bare);
  if (node == nullptr) node = world.PickOne(world.nodes, has_room);
  if (node == nullptr) return false;
  NewPeer(world, *node);
  return true;
}

bool DrawPeerToDelete(World& world) {
  const auto has_no_endpoint = [&](const Peer& peer) {
    return IsAlive(peer) &&
           World::CountOf(world.endpoints, [&](const Endpoint& endpoint) {
             return IsAlive(endpoint) && endpoint.peer == &peer;
           }) == 0;
  };
  Peer* const peer = world.PickOne(world.peers, has_no_endpoint);
  if (peer == nullptr) return false;
  DeletePeer(world, *peer);
  return true;
}

bool DrawRegion(World& world) {
  const size_t registered = World::CountOf(
      world.regions, [](const Region& region) { return region.registered(); });
  Peer* const peer = AnyPeer(world);
  if (peer == nullptr || registered >= world.scenario.max_regions) return false;
  Random& random = world.parameters;
  const bool full = random.Percent(75);
  const int usage =
      full ? kAllUsages : static_cast<int>(random.Between(1, kAllUsages));
  const size_t misalignment = random.OneIn(8) ? random.Below(8) : 0;
  RegisterRegion(world, *peer, random.Between(160, 400), usage, misalignment);
  return true;
}

bool DrawRegionToDeregister(World& world) {
  const bool even_if_used =
      world.parameters.Percent(world.scenario.wrong_region);
  Region* const region =
      world.PickOne(world.regions, [&](const Region& candidate) {
        return candidate.registered() &&
               (even_if_used || !IsInUse(world, candidate));
      });
  if (region == nullptr) return false;
  Deregister(world, *region);
  return true;
}

bool DrawSrq(World& world) {
  Random& random = world.parameters;
  Peer* const peer = AnyPeer(world);
  const size_t alive =
      World::CountOf(world.srqs, [](const Srq& srq) { return IsAlive(srq); });
  if (peer == nullptr || alive >= 3) return false;
  uint32_t rq_size = static_cast<uint32_t>(random.Between(1, 16));
  uint32_t rcq_size = random.OneIn(2) ? 0 : rq_size;
  if (random.Percent(world.scenario.small_queue) && rcq_size > 0) {
    rcq_size = static_cast<uint32_t>(random.Between(1, rcq_size));
  }
  if (random.OneIn(20)) rq_size = random.OneIn(2) ? 0 : 65;
  if (random.OneIn(20)) rcq_size = 65;
  NewSrq(world, *peer, rq_size, rcq_size);
  return true;
}

bool DrawSrqToDelete(World& world) {
  Srq* const srq = world.PickOne(world.srqs, [&](const Srq& candidate) {
    return IsAlive(candidate) &&
           World::CountOf(world.ends, [&](const End& end) {
             return !end.is_gone() && end.config.srq == &candidate;
           }) == 0;
  });
  if (srq == nullptr) return false;
  DeleteSrq(world, *srq);
  return true;
}

bool DrawEndpoint(World& world) {
  Random& random = world.parameters;
  Peer* const peer = AnyPeer(world);
  const size_t alive = World::CountOf(
      world.endpoints,
      [](const Endpoint& endpoint) { return IsAlive(endpoint); });
  if (peer == nullptr || alive >= world.scenario.max_endpoints) return false;
  const Node& from = *world.nodes[random.Below(world.nodes.size())];
  std::string address = World::AddressOf(from, *peer->node);
  if (random.OneIn(2)) address = "0.0.0.0";
  if (random.OneIn(30)) address = World::SilentAddress(from);
  const char* port = random.Pick(kPorts);
  if (random.OneIn(30)) port = random.Pick(kWrongPorts);
  Listen(world, *peer, address, port);
  return true;
}

bool DrawEndpointToShut(World& world) {
  Endpoint* const endpoint = world.PickOne(
      world.endpoints,
      [](const Endpoint& candidate) { return IsAlive(candidate); });
  if (endpoint == nullptr) return false;
  Shutdown(world, *endpoint);
  return true;
}

}  // namespace

bool ActOnSetup(World& world, ActionKind kind) {
  switch (kind) {
    case ActionKind::kNewPeer:
      return DrawPeer(world);
    case ActionKind::kDeletePeer:
      return DrawPeerToDelete(world);
    case ActionKind::kRegister:
      return DrawRegion(world);
    case ActionKind::kDeregister:
      return DrawRegionToDeregister(world);
    case ActionKind::kNewSrq:
      return DrawSrq(world);
    case ActionKind::kDeleteSrq:
      return DrawSrqToDelete(world);
    case ActionKind::kListen:
      return DrawEndpoint(world);
    case ActionKind::kShutdown:
      return DrawEndpointToShut(world);
    default:
      return false;
  }
}

}  // namespace rpma::sim
