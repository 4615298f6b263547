// SPDX-License-Identifier: BSD-3-Clause
// Draws what to do with connection requests and connections.

#include <algorithm>

#include "tests/sim/actions.h"
#include "tests/sim/connecting.h"
#include "tests/sim/receiving.h"

namespace rpma::sim {
namespace {

constexpr size_t kMaxPrivateData = 255;

size_t LiveEnds(const World& world) {
  return World::CountOf(world.ends,
                        [](const End& end) { return !end.is_gone(); });
}

uint32_t Between(Random& random, size_t low, size_t high) {
  return static_cast<uint32_t>(random.Between(low, high));
}

// Sizes so that nothing overruns, unless it is to.
void DrawCqSizes(World& world, Config* config) {
  Random& random = world.parameters;
  const bool has_rcq = random.OneIn(2);
  const auto receives = static_cast<uint32_t>(
      config->srq != nullptr ? config->srq->size : config->rq_size);
  config->rcq_size = has_rcq ? std::max(receives, 1u) : 0;
  config->cq_size = std::max(config->sq_size + (has_rcq ? 0 : receives), 1u);
  if (random.Percent(world.scenario.small_queue)) {
    config->cq_size = Between(random, 1, config->cq_size);
  }
  if (has_rcq && random.Percent(world.scenario.small_queue)) {
    config->rcq_size = Between(random, 1, config->rcq_size);
  }
}

void DrawWrongSize(Random& random, Config* config) {
  switch (random.Below(4)) {
    case 0:
      config->cq_size = random.OneIn(2) ? 0 : 65;
      break;
    case 1:
      config->rcq_size = 65;
      break;
    case 2:
      config->sq_size = 33;
      break;
    default:
      config->rq_size = 33;
  }
}

Config DrawConfig(World& world, const Peer& peer) {
  Random& random = world.parameters;
  Config config;
  if (random.OneIn(5)) {
    config.is_default = true;
    return config;
  }
  config.sq_size = Between(random, 1, 16);
  config.rq_size = Between(random, 1, 16);
  config.shared_channel = random.OneIn(4);
  if (random.OneIn(2)) {
    config.srq = world.PickOne(world.srqs, [&](const Srq& srq) {
      return srq.handle != nullptr && srq.peer == &peer;
    });
  }
  // Both together are refused, which shows early enough.
  if (config.srq != nullptr && config.srq->rcq != nullptr && !random.OneIn(8)) {
    config.shared_channel = false;
  }
  DrawCqSizes(world, &config);
  if (random.OneIn(25)) DrawWrongSize(random, &config);
  return config;
}

Destination DrawDestination(World& world, const Peer& peer) {
  Random& random = world.parameters;
  const auto pick_node = [&]() -> const Node& {
    return *world.nodes[random.Below(world.nodes.size())];
  };
  const Endpoint* const endpoint = world.PickOne(
      world.endpoints,
      [](const Endpoint& candidate) { return candidate.handle != nullptr; });
  Destination to;
  to.through = peer.node;
  to.owner = &pick_node();
  to.port = "7003";
  if (endpoint != nullptr && random.Percent(90)) {
    to.port = endpoint->port;
    to.owner = endpoint->peer->node;
    if (random.OneIn(20)) to.owner = &pick_node();
  }
  if (random.OneIn(30)) to.through = &pick_node();
  to.address = World::AddressOf(*to.through, *to.owner);
  if (random.OneIn(25)) {
    to.owner = nullptr;
    to.address = World::SilentAddress(*to.through);
  }
  return to;
}

bool DrawRequest(World& world) {
  if (LiveEnds(world) >= world.scenario.max_ends) return false;
  Peer* const peer = world.PickOne(world.peers, [](const Peer& candidate) {
    return candidate.handle != nullptr && !candidate.node->is_gone;
  });
  if (peer == nullptr) return false;
  const Destination to = DrawDestination(world, *peer);
  NewRequest(world, *peer, to, DrawConfig(world, *peer));
  return true;
}

bool DrawNextRequest(World& world) {
  const auto fits = [&](const Endpoint& endpoint) {
    return endpoint.handle != nullptr && !endpoint.is_struck &&
           (!endpoint.callers.empty() || world.parameters.OneIn(10));
  };
  std::vector<Endpoint*> candidates;
  for (const auto& endpoint : world.endpoints) {
    if (fits(*endpoint)) candidates.push_back(endpoint.get());
  }
  if (candidates.empty()) return false;
  Endpoint& endpoint = *candidates[world.parameters.Below(candidates.size())];
  NextRequest(world, endpoint, DrawConfig(world, *endpoint.peer));
  return true;
}

// What an active request sends must begin with its tag.
PrivateData DrawPrivateData(World& world, const End& end) {
  Random& random = world.parameters;
  const size_t limit = end.is_active() ? world.rules.max_request_data
                                       : world.rules.max_accept_data;
  if (random.OneIn(40)) return std::vector<uint8_t>();
  if (!end.is_active() && random.OneIn(3)) return std::nullopt;
  std::vector<uint8_t> bytes = TagOf(end);
  size_t size = random.Between(bytes.size(), limit);
  if (random.OneIn(40) && limit < kMaxPrivateData) {
    size = random.Between(limit + 1, kMaxPrivateData);
  }
  const size_t tag_size = bytes.size();
  bytes.resize(size);
  world.data.Fill(std::span(bytes).subspan(tag_size));
  return bytes;
}

bool DrawConnect(World& world, Side side) {
  End* const end = world.PickOne(world.ends, [&](const End& candidate) {
    return candidate.stage == Stage::kRequest && candidate.side == side;
  });
  if (end == nullptr) return false;
  Connect(world, *end, DrawPrivateData(world, *end));
  return true;
}

bool DrawRequestToDelete(World& world) {
  End* const end = world.PickOne(world.ends, [](const End& candidate) {
    return candidate.stage == Stage::kRequest;
  });
  if (end == nullptr) return false;
  DeleteRequest(world, *end);
  return true;
}

End* AnyConnection(World& world) {
  return world.PickOne(world.ends,
                       [](const End& end) { return end.is_connection(); });
}

bool DrawNextEvent(World& world) {
  End* end = nullptr;
  if (!world.parameters.OneIn(5)) {
    end = world.PickOne(world.ends, [&](const End& candidate) {
      return candidate.is_connection() && MustHaveEvent(world.rules, candidate);
    });
  }
  if (end == nullptr) end = AnyConnection(world);
  if (end == nullptr) return false;
  NextEvent(world, *end);
  return true;
}

bool DrawDisconnect(World& world) {
  End* end = nullptr;
  if (!world.parameters.OneIn(4)) {
    end = world.PickOne(world.ends, [](const End& candidate) {
      return candidate.is_connection() && candidate.established &&
             !candidate.disconnected;
    });
  }
  if (end == nullptr) end = AnyConnection(world);
  if (end == nullptr) return false;
  Disconnect(world, *end);
  return true;
}

// Those whose connection is over are deleted first.
bool DrawConnectionToDelete(World& world) {
  End* end = nullptr;
  if (!world.parameters.OneIn(4)) {
    end = world.PickOne(world.ends, [](const End& candidate) {
      return candidate.is_connection() &&
             (candidate.ended || candidate.closed > 0 || candidate.failed);
    });
  }
  if (end == nullptr) end = AnyConnection(world);
  if (end == nullptr) return false;
  DeleteConnection(world, *end);
  return true;
}

bool DrawPeerCfg(World& world) {
  End* const end = world.PickOne(world.ends, [](const End& candidate) {
    return candidate.is_connection() && candidate.other != nullptr;
  });
  if (end == nullptr) return false;
  ApplyPeerCfg(world, *end, !world.parameters.OneIn(4));
  return true;
}

}  // namespace

bool ActOnConnections(World& world, ActionKind kind) {
  switch (kind) {
    case ActionKind::kNewRequest:
      return DrawRequest(world);
    case ActionKind::kDeleteRequest:
      return DrawRequestToDelete(world);
    case ActionKind::kConnect:
      return DrawConnect(world, Side::kActive);
    case ActionKind::kNextRequest:
      return DrawNextRequest(world);
    case ActionKind::kAccept:
      return DrawConnect(world, Side::kPassive);
    case ActionKind::kNextEvent:
      return DrawNextEvent(world);
    case ActionKind::kDisconnect:
      return DrawDisconnect(world);
    case ActionKind::kDeleteConnection:
      return DrawConnectionToDelete(world);
    case ActionKind::kApplyPeerCfg:
      return DrawPeerCfg(world);
    default:
      return false;
  }
}

}  // namespace rpma::sim
