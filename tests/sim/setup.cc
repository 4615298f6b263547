// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/setup.h"

#include <algorithm>
#include <array>

#include "tests/sim/receiving.h"

namespace rpma::sim {
namespace {

constexpr char kAnyAddress[] = "0.0.0.0";
constexpr size_t kGuard = 64;
constexpr size_t kDescriptorSize = 21;

bool Names(const std::deque<Receive>& receives, const Region& region) {
  return std::any_of(
      receives.begin(), receives.end(),
      [&](const Receive& receive) { return receive.region == &region; });
}

bool Overlap(const std::string& a, const std::string& b) {
  return a == kAnyAddress || b == kAnyAddress || a == b;
}

bool HasChildren(const World& world, const Peer& peer) {
  for (const auto& region : world.regions) {
    if (region->peer == &peer && region->registered()) return true;
  }
  for (const auto& srq : world.srqs) {
    if (srq->peer == &peer && srq->handle != nullptr) return true;
  }
  for (const auto& end : world.ends) {
    if (end->peer == &peer && !end->is_gone()) return true;
  }
  return false;
}

bool IsPort(const std::string& port) {
  return !port.empty() && port.size() <= 5 &&
         port.find_first_not_of("0123456789") == std::string::npos &&
         std::stoul(port) <= 65535;
}

bool IsOwned(const World& world, const std::string& address) {
  if (address == kAnyAddress) return true;
  for (const auto& from : world.nodes) {
    for (const auto& to : world.nodes) {
      if (World::AddressOf(*from, *to) == address) return true;
    }
  }
  return false;
}

// A request that named the region and has not completed may fail for it.
void ForgetRegion(World& world, Region& region) {
  const Rules& rules = world.rules;
  for (const auto& end : world.ends) {
    for (Request& request : end->requests) {
      if (request.local == &region) request.errors.Add(IBV_WC_LOC_PROT_ERR);
      if (request.remote == &region) {
        request.errors.Add(rules.is_iwarp ? IBV_WC_WR_FLUSH_ERR
                                          : IBV_WC_REM_ACCESS_ERR);
        MarkMayFail(rules, *end->other);
      }
      if (request.local == &region || request.remote == &region) {
        MarkMayFail(rules, *end);
      }
    }
    ForgetBuffers(world, *end, region);
  }
  for (const auto& srq : world.srqs) ForgetBuffers(world, *srq, region);
}

using SrqCfg = Owned<rpma_srq_cfg, rpma_srq_cfg_delete>;

SrqCfg NewSrqCfg(uint32_t rq_size, uint32_t rcq_size) {
  rpma_srq_cfg* made = nullptr;
  Require(rpma_srq_cfg_new(&made) == 0,
          "no configuration of a shared receive queue");
  SrqCfg cfg(made);
  Require(rpma_srq_cfg_set_rq_size(made, rq_size) == 0 &&
              rpma_srq_cfg_set_rcq_size(made, rcq_size) == 0,
          "a configuration of a shared receive queue is refused");
  return cfg;
}

// Whether a request of `end` finds the endpoint when it arrives.
bool IsCalledBy(const Endpoint& endpoint, const End& end) {
  return end.sent && end.port == endpoint.port &&
         Overlap(endpoint.address, end.address);
}

// Requests that are under way may come to it.
void CatchRequests(World& world, const Endpoint& endpoint) {
  for (const auto& end : world.ends) {
    if (!end->is_under_way || !IsCalledBy(endpoint, *end)) continue;
    end->wanders = end->rejectable = true;
    end->reject_is_due = false;
  }
}

}  // namespace

Peer* NewPeer(World& world, Node& node) {
  Peer* const peer = World::Add(world.peers);
  peer->number = world.NewNumber("peer");
  peer->node = &node;
  world.Call("rpma_peer_new",
             [&] { return world.api.peer_new(node.context, &peer->handle); });
  world.Say(Text("peer ", peer->number, ": new on node ", node.number,
                 world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER, RPMA_E_NOMEM, RPMA_E_UNKNOWN});
    return nullptr;
  }
  world.Expect({0});
  return peer;
}

void DeletePeer(World& world, Peer& peer) {
  const bool has_children = HasChildren(world, peer);
  world.Call("rpma_peer_delete",
             [&] { return world.api.peer_delete(&peer.handle); });
  world.Say(Text("peer ", peer.number, ": delete", world.Result()));
  const bool stays = has_children || world.CallFailed();
  world.Expect({stays ? RPMA_E_PROVIDER : 0});
  Require((peer.handle != nullptr) == stays,
          "rpma_peer_delete() left a wrong handle");
}

Region* RegisterRegion(World& world, Peer& peer, size_t size, int usage,
                       size_t misalignment) {
  Region* const region = World::Add(world.regions);
  region->number = world.NewNumber("region");
  region->peer = &peer;
  region->usage = usage;
  region->size = size;
  region->sources = size / 2;
  region->memory.resize(size + 2 * kGuard + misalignment + 8);
  const auto address = reinterpret_cast<uintptr_t>(region->memory.data());
  region->guard = kGuard + (8 - address % 8) % 8 + misalignment;
  region->held.resize(region->sources);
  world.data.Fill(region->memory);
  region->model =
      std::make_unique<MemoryModel>(Text("region ", region->number, " (after ",
                                         region->guard, " bytes of guard)"),
                                    region->memory);

  world.Call("rpma_mr_reg", [&] {
    return world.api.mr_reg(peer.handle, region->data(), size, usage,
                            &region->local);
  });
  world.Say(Text("region ", region->number, ": register ", size,
                 " bytes on peer ", peer.number, " for usage ", usage,
                 world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    Require(!region->registered(), "rpma_mr_reg() failed and gave a region");
    return nullptr;
  }
  world.Expect({0});
  std::array<char, kDescriptorSize> descriptor;
  Require(rpma_mr_get_descriptor(region->local, descriptor.data()) == 0 &&
              rpma_mr_remote_from_descriptor(
                  descriptor.data(), descriptor.size(), &region->remote) == 0,
          "region ", region->number, " cannot be described");
  return region;
}

void Deregister(World& world, Region& region) {
  world.Call("rpma_mr_dereg",
             [&] { return world.api.mr_dereg(&region.local); });
  world.Say(Text("region ", region.number, ": deregister", world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    Require(region.registered(), "rpma_mr_dereg() failed and took the handle");
    return Deregister(world, region);
  }
  world.Expect({0});
  Require(region.local == nullptr, "rpma_mr_dereg() left a handle");
  ForgetRegion(world, region);
}

bool IsInUse(const World& world, const Region& region) {
  for (const auto& end : world.ends) {
    for (const Request& request : end->requests) {
      if (request.local == &region || request.remote == &region) return true;
    }
    if (Names(end->receives, region)) return true;
  }
  for (const auto& srq : world.srqs) {
    if (Names(srq->receives, region)) return true;
  }
  return false;
}

Srq* NewSrq(World& world, Peer& peer, uint32_t rq_size, uint32_t rcq_size) {
  Srq* const srq = World::Add(world.srqs);
  srq->number = world.NewNumber("srq");
  srq->peer = &peer;
  srq->size = rq_size;
  const SrqCfg cfg = NewSrqCfg(rq_size, rcq_size);
  const int rc = world.Call("rpma_srq_new", [&] {
    return world.api.srq_new(peer.handle, cfg.get(), &srq->handle);
  });
  world.Say(Text("srq ", srq->number, ": new on peer ", peer.number, " with ",
                 rq_size, " entries and an RCQ of ", rcq_size, world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    world.Reclaim();
    return nullptr;
  }
  const bool fits = rq_size > 0 && rq_size <= world.rules.max_srq_wr &&
                    rcq_size <= world.rules.max_cqe;
  world.Expect({fits ? 0 : RPMA_E_PROVIDER});
  if (rc != 0) return nullptr;
  if (rcq_size > 0) {
    srq->rcq = std::make_unique<Cq>();
    srq->rcq->number = world.NewNumber("cq");
    srq->rcq->size = rcq_size;
    int fd = -1;
    Require(rpma_srq_get_rcq(srq->handle, &srq->rcq->handle) == 0 &&
                rpma_cq_get_fd(srq->rcq->handle, &fd) == 0,
            "srq ", srq->number, " has no RCQ");
    MakeNonBlocking(fd);
  }
  return srq;
}

void DeleteSrq(World& world, Srq& srq) {
  world.Call("rpma_srq_delete",
             [&] { return world.api.srq_delete(&srq.handle); });
  world.Say(Text("srq ", srq.number, ": delete", world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    world.Reclaim();
  } else {
    world.Expect({0});
  }
  Require(srq.handle == nullptr, "rpma_srq_delete() left a handle");
  for (const Receive& receive : srq.receives) CloseReceive(receive);
  srq.receives.clear();
  srq.rcq.reset();
}

Endpoint* Listen(World& world, Peer& peer, const std::string& address,
                 const std::string& port) {
  Endpoint* const endpoint = World::Add(world.endpoints);
  endpoint->number = world.NewNumber("endpoint");
  endpoint->peer = &peer;
  endpoint->address = address;
  endpoint->port = port;
  const Endpoint* const other = FindListener(world, address, port);
  const int rc = world.Call("rpma_ep_listen", [&] {
    return world.api.ep_listen(peer.handle, address.c_str(), port.c_str(),
                               &endpoint->handle);
  });
  world.Say(Text("endpoint ", endpoint->number, ": listen on ", address, ":",
                 port, " for peer ", peer.number, world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    world.Reclaim();
  } else if (!IsPort(port)) {
    world.Expect({RPMA_E_INVAL});
  } else if (!IsOwned(world, address)) {
    world.Expect({RPMA_E_PROVIDER});
  } else if (other != nullptr) {
    if (other->is_struck) {
      world.Expect({0, RPMA_E_PROVIDER});
    } else {
      world.Expect({RPMA_E_PROVIDER});
    }
  } else {
    world.Expect({0});
  }
  if (rc != 0) return nullptr;
  int fd = -1;
  Require(rpma_ep_get_fd(endpoint->handle, &fd) == 0, "endpoint ",
          endpoint->number, " has no descriptor");
  MakeNonBlocking(fd);
  CatchRequests(world, *endpoint);
  return endpoint;
}

void Shutdown(World& world, Endpoint& endpoint) {
  world.Call("rpma_ep_shutdown",
             [&] { return world.api.ep_shutdown(&endpoint.handle); });
  world.Say(Text("endpoint ", endpoint.number, ": shut down", world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    Require(endpoint.handle != nullptr,
            "rpma_ep_shutdown() failed and took the handle");
    return Shutdown(world, endpoint);
  }
  world.Expect({0});
  for (End* const caller : endpoint.callers) {
    caller->rejectable = caller->reject_is_due = true;
    caller->endpoint = nullptr;
  }
  endpoint.callers.clear();
  for (const auto& end : world.ends) {
    const bool is_refused = end->wanders && end->other == nullptr;
    if (is_refused && IsCalledBy(endpoint, *end)) end->reject_is_due = true;
  }
}

Endpoint* FindListener(const World& world, const std::string& address,
                       const std::string& port) {
  Endpoint* found = nullptr;
  for (const auto& endpoint : world.endpoints) {
    if (endpoint->handle == nullptr || endpoint->port != port) continue;
    if (!Overlap(endpoint->address, address)) continue;
    found = endpoint.get();
    if (!found->is_struck) return found;
  }
  return found;
}

}  // namespace rpma::sim
