// SPDX-License-Identifier: BSD-3-Clause
// Connection requests.

#include "tests/sim/connecting.h"

#include <algorithm>
#include <cstring>

#include "tests/sim/setup.h"

namespace rpma::sim {
namespace {

constexpr size_t kTagSize = 4;

using ConnCfg = Owned<rpma_conn_cfg, rpma_conn_cfg_delete>;

// A configuration of librpma for the time of a call; nullptr for the default.
ConnCfg NewConnCfg(const Config& config) {
  ConnCfg cfg;
  if (config.is_default) return cfg;
  rpma_conn_cfg* made = nullptr;
  Require(rpma_conn_cfg_new(&made) == 0, "no configuration of a connection");
  cfg.reset(made);
  Require(rpma_conn_cfg_set_cq_size(made, config.cq_size) == 0 &&
              rpma_conn_cfg_set_rcq_size(made, config.rcq_size) == 0 &&
              rpma_conn_cfg_set_sq_size(made, config.sq_size) == 0 &&
              rpma_conn_cfg_set_rq_size(made, config.rq_size) == 0 &&
              rpma_conn_cfg_set_compl_channel(made, config.shared_channel) == 0,
          "a configuration of a connection is refused");
  Require(config.srq == nullptr ||
              rpma_conn_cfg_set_srq(made, config.srq->handle) == 0,
          "the shared receive queue is refused");
  return cfg;
}

std::string Describe(const Config& config) {
  if (config.is_default) return "defaults";
  std::string text = Text("cq ", config.cq_size, ", rcq ", config.rcq_size,
                          ", sq ", config.sq_size, ", rq ", config.rq_size);
  if (config.shared_channel) text += ", shared channel";
  if (config.srq != nullptr) text += Text(", srq ", config.srq->number);
  return text;
}

bool HasOwnRcq(const Config& config) {
  const bool srq_has_one = config.srq != nullptr && config.srq->rcq != nullptr;
  return config.rcq_size > 0 && !srq_has_one;
}

bool IsContradictory(const Config& config) {
  return config.shared_channel && config.srq != nullptr &&
         config.srq->rcq != nullptr;
}

bool Fits(const Rules& rules, const Config& config) {
  return config.cq_size >= 1 && config.cq_size <= rules.max_cqe &&
         (!HasOwnRcq(config) || config.rcq_size <= rules.max_cqe) &&
         config.sq_size <= rules.max_qp_wr && config.rq_size <= rules.max_qp_wr;
}

// One that is not there yet.
End& AddEnd(World& world, Peer& peer, Side side, const Config& config) {
  End* const end = World::Add(world.ends);
  end->peer = &peer;
  end->side = side;
  end->config = config;
  end->cq = std::make_unique<Cq>();
  end->cq->size = config.cq_size;
  if (HasOwnRcq(config)) {
    end->rcq = std::make_unique<Cq>();
    end->rcq->size = config.rcq_size;
  }
  end->number = world.NewNumber("end");
  return *end;
}

// What the other side sees of private data.
std::vector<uint8_t> Padded(const Rules& rules, std::vector<uint8_t> bytes,
                            size_t field) {
  if (rules.pads_private_data) bytes.resize(field);
  return bytes;
}

void CheckPrivateData(const End& end, const rpma_conn_private_data& actual,
                      const std::vector<uint8_t>& expected) {
  const bool equal =
      actual.len == expected.size() &&
      (expected.empty()
           ? actual.ptr == nullptr
           : std::memcmp(actual.ptr, expected.data(), expected.size()) == 0);
  Require(equal, "end ", end.number, " got other private data (",
          unsigned{actual.len}, " bytes) than were sent");
}

// Whether the request of `end` may have come to the endpoint.
bool MayCall(const World& world, const Endpoint& endpoint, const End& end) {
  const auto& callers = endpoint.callers;
  if (std::find(callers.begin(), callers.end(), &end) != callers.end()) {
    return true;
  }
  // Late ones find whoever listens when they come; those whose refusal was lost
  // are sent again.
  return Wanders(world.rules, end) && end.port == endpoint.port;
}

// Whether requests may have come there that are not among its callers.
bool MayGetOthers(const World& world, const Endpoint& endpoint) {
  return world.rules.cm_is_late ||
         std::any_of(
             world.ends.begin(), world.ends.end(), [&](const auto& end) {
               return Wanders(world.rules, *end) && end->port == endpoint.port;
             });
}

// The caller whose request came, by its tag.
End* FindCaller(World& world, Endpoint& endpoint, End& end) {
  rpma_conn_private_data data = {};
  Require(rpma_conn_req_get_private_data(end.request, &data) == 0 &&
              data.ptr != nullptr && data.len >= kTagSize,
          "a request has come without private data");
  uint32_t tag = 0;
  std::memcpy(&tag, data.ptr, kTagSize);
  for (const auto& caller : world.ends) {
    if (caller->number != tag || !MayCall(world, endpoint, *caller)) continue;
    CheckPrivateData(end, data,
                     Padded(world.rules, caller->private_data,
                            world.rules.max_request_data));
    return caller.get();
  }
  Violated("endpoint ", endpoint.number,
           " gave a request that nobody has sent to it, or gave it twice");
}

// Those of which the endpoint gives one next. In a stepped world requests may
// overtake each other.
std::vector<End*> NextCallers(const World& world, const Endpoint& endpoint) {
  const bool in_any_order = world.is_stepped() || world.rules.cm_is_late;
  if (in_any_order || endpoint.callers.empty()) return endpoint.callers;
  return {endpoint.callers.front()};
}

// A request was fetched and could not be prepared: its sender is refused.
void RefuseNext(const World& world, Endpoint& endpoint) {
  const auto next = NextCallers(world, endpoint);
  const bool others = MayGetOthers(world, endpoint);
  if (next.size() == 1 && !others) {
    next.front()->rejectable = next.front()->reject_is_due = true;
    std::erase(endpoint.callers, next.front());
    return;
  }
  // Which of them it was is not known.
  for (End* const caller : endpoint.callers) caller->rejectable = true;
  if (!endpoint.callers.empty()) ++endpoint.refused_unseen;
}

bool ArrivesOnItsDevice(const End& caller, const Endpoint& endpoint) {
  return caller.arrives_at == endpoint.peer->node;
}

// The caller that is fetched next may be on another device than the endpoint.
void ExpectFetched(const World& world, const Endpoint& endpoint,
                   const Config& config) {
  const auto callers = NextCallers(world, endpoint);
  const auto is_fine = [&](const End* caller) {
    return ArrivesOnItsDevice(*caller, endpoint);
  };
  if (Fits(world.rules, config) && MayGetOthers(world, endpoint)) {
    world.Expect({0, RPMA_E_PROVIDER});
  } else if (!Fits(world.rules, config) ||
             std::none_of(callers.begin(), callers.end(), is_fine)) {
    world.Expect({RPMA_E_PROVIDER});
  } else if (std::all_of(callers.begin(), callers.end(), is_fine)) {
    world.Expect({0});
  } else {
    world.Expect({0, RPMA_E_PROVIDER});
  }
}

// The request of `caller` was fetched as `end`.
void Pair(World& world, End& caller, End& end) {
  if (caller.endpoint != nullptr) std::erase(caller.endpoint->callers, &caller);
  caller.endpoint = nullptr;
  caller.is_under_way = caller.wanders = false;
  // So it was not this one that was refused unseen.
  if (!world.rules.cm_is_late) caller.rejectable = false;
  end.other = &caller;
  const bool still_waits =
      !caller.is_gone() && !caller.ended && !caller.established;
  if (still_waits) caller.other = &end;
  if (!still_waits) MarkMayFail(world.rules, caller);
  // It may have given the connection up before; on iWARP that ends it.
  if (world.rules.is_iwarp && caller.may_fail) MarkMayFail(world.rules, end);
}

}  // namespace

bool MayBeWithdrawn(const Rules& rules, const End& end) {
  if (end.other == nullptr) return false;
  const End& other = *end.other;
  return other.is_gone() || other.ended || other.events_in_doubt ||
         other.other != &end || rules.cm_is_late;
}

std::vector<uint8_t> TagOf(const End& end) {
  const auto tag = static_cast<uint32_t>(end.number);
  std::vector<uint8_t> bytes(kTagSize);
  std::memcpy(bytes.data(), &tag, kTagSize);
  return bytes;
}

End* NewRequest(World& world, Peer& peer, const Destination& to,
                const Config& config) {
  End& end = AddEnd(world, peer, Side::kActive, config);
  end.address = to.address;
  end.port = to.port;
  end.arrives_at = to.owner;
  const ConnCfg cfg = NewConnCfg(config);
  const int rc = world.Call("rpma_conn_req_new", [&] {
    return world.api.conn_req_new(peer.handle, to.address.c_str(),
                                  to.port.c_str(), cfg.get(), &end.request);
  });
  world.Say(Text("end ", end.number, ": request of peer ", peer.number, " to ",
                 to.address, ":", to.port, ", ", Describe(config),
                 world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    world.Reclaim();
    return nullptr;
  }
  if (IsContradictory(config)) {
    world.Expect({RPMA_E_INVAL});
  } else if (to.through != peer.node || !Fits(world.rules, config)) {
    world.Expect({RPMA_E_PROVIDER});
  } else {
    world.Expect({0});
  }
  if (rc != 0) return nullptr;
  end.stage = Stage::kRequest;
  return &end;
}

End* NextRequest(World& world, Endpoint& endpoint, const Config& config) {
  End& end = AddEnd(world, *endpoint.peer, Side::kPassive, config);
  const ConnCfg cfg = NewConnCfg(config);
  const bool was_readable = HasRequest(endpoint);
  const int rc = world.Call("rpma_ep_next_conn_req", [&] {
    return world.api.ep_next_conn_req(endpoint.handle, cfg.get(), &end.request);
  });
  world.Say(Text("endpoint ", endpoint.number, ": next request as end ",
                 end.number, ", ", Describe(config), world.Result()));
  if (IsContradictory(config)) {
    world.Expect({RPMA_E_INVAL});
    return nullptr;
  }
  if (world.faults.CallFailed("rdma_get_cm_event")) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    return nullptr;  // nothing was fetched
  }
  if (rc == RPMA_E_NO_EVENT) {
    Require(!was_readable, "endpoint ", endpoint.number,
            " was readable, but gave no request");
    return nullptr;
  }
  Require(!endpoint.callers.empty() || MayGetOthers(world, endpoint),
          "endpoint ", endpoint.number,
          " gave something, but nobody has called");
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    world.Reclaim();
  } else if (rc == RPMA_E_INVAL && endpoint.is_struck) {
    return nullptr;  // it got the event that tells of it
  } else if (rc != RPMA_E_INVAL || !world.faults.TakeEventAs()) {
    ExpectFetched(world, endpoint, config);
  }
  if (rc != 0) {
    RefuseNext(world, endpoint);
    return nullptr;
  }
  Pair(world, *FindCaller(world, endpoint, end), end);
  end.stage = Stage::kRequest;
  return &end;
}

void DeleteRequest(World& world, End& end) {
  world.Call("rpma_conn_req_delete",
             [&] { return world.api.conn_req_delete(&end.request); });
  world.Say(Text("end ", end.number, ": delete its request", world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    world.Reclaim();
  } else {
    world.Expect({0}, end.is_struck || MayBeWithdrawn(world.rules, end));
  }
  Require(end.request == nullptr, "rpma_conn_req_delete() left a handle");
  ForgetEnd(world, end);
}

}  // namespace rpma::sim
