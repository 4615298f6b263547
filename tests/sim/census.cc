// SPDX-License-Identifier: BSD-3-Clause
// What must live on the fabric, given the objects that the walk holds.

#include <librpma_emu.h>

#include "tests/sim/world.h"

namespace rpma::sim {
namespace {

struct Expected {
  rpma_emu_census least = {};
  uint32_t waiting_ids = 0;  // of requests that nobody has fetched, at most
};

void AddCqs(uint32_t cqs, bool share_channel, rpma_emu_census* census) {
  census->cqs += cqs;
  census->comp_channels += share_channel ? 1 : cqs;
}

void AddEnd(const End& end, rpma_emu_census* census) {
  if (end.is_gone()) return;
  ++census->qps;
  ++census->cm_ids;
  AddCqs(end.rcq != nullptr ? 2 : 1, end.config.shared_channel, census);
  if (end.is_connection()) ++census->mrs;  // for flushes that read
  if (end.is_connection() || !end.is_active()) ++census->event_channels;
}

Expected ExpectedOf(const World& world) {
  Expected expected;
  rpma_emu_census& census = expected.least;
  for (const auto& peer : world.peers) census.pds += peer->handle != nullptr;
  for (const auto& region : world.regions) census.mrs += region->registered();
  for (const auto& srq : world.srqs) {
    if (srq->handle == nullptr) continue;
    ++census.srqs;
    if (srq->rcq != nullptr) AddCqs(1, false, &census);
  }
  for (const auto& endpoint : world.endpoints) {
    if (endpoint->handle == nullptr) continue;
    ++census.cm_ids;
    ++census.event_channels;
    expected.waiting_ids += static_cast<uint32_t>(endpoint->callers.size());
  }
  for (const auto& end : world.ends) {
    AddEnd(*end, &census);
    // Their requests may wait wherever they have come to.
    if (Wanders(world.rules, *end)) ++expected.waiting_ids;
  }
  return expected;
}

void Compare(const char* what, uint32_t actual, uint32_t least,
             uint32_t allowance = 0) {
  Require(actual >= least && actual <= least + allowance, actual, " ", what,
          " live on the fabric; the walk holds ", least,
          allowance > 0 ? Text(" to ", least + allowance) : "");
}

}  // namespace

void World::CheckCensus() const {
  rpma_emu_census actual;
  Require(rpma_emu_get_census(fabric(), &actual) == 0, "there is no census");
  const auto [least, waiting_ids] = ExpectedOf(*this);
  Compare("protection domains", actual.pds, least.pds);
  Compare("memory regions", actual.mrs, least.mrs);
  Compare("completion channels", actual.comp_channels, least.comp_channels);
  Compare("completion queues", actual.cqs, least.cqs);
  Compare("shared receive queues", actual.srqs, least.srqs);
  Compare("queue pairs", actual.qps, least.qps);
  Compare("CM ids", actual.cm_ids, least.cm_ids, waiting_ids);
  Compare("event channels", actual.event_channels, least.event_channels);
  Compare("unacknowledged events", actual.unacked_events, least.unacked_events);
}

}  // namespace rpma::sim
