// SPDX-License-Identifier: BSD-3-Clause
// Draws from which queue to fetch, and lets the world move.

#include "tests/sim/actions.h"
#include "tests/sim/completing.h"
#include "tests/sim/settle.h"

namespace rpma::sim {
namespace {

// Mostly one that something may come to.
Cq* AnyCq(World& world) {
  std::vector<Cq*> cqs = AllCqs(world);
  if (!world.parameters.OneIn(8)) {
    std::erase_if(cqs, [](const Cq* cq) { return !MayGetMore(*cq); });
  }
  return cqs.empty() ? nullptr : cqs[world.parameters.Below(cqs.size())];
}

bool DrawPoll(World& world) {
  Cq* const cq = AnyCq(world);
  if (cq == nullptr) return false;
  Random& random = world.parameters;
  const size_t capacity = random.OneIn(2) ? 1 : random.Between(2, 9);
  // Mostly as programs do: until it is empty.
  size_t times = random.OneIn(3) ? 1 : 100;
  while (times-- > 0 && Poll(world, *cq, capacity) > 0) continue;
  return true;
}

bool DrawWait(World& world) {
  Cq* const cq = AnyCq(world);
  if (cq == nullptr) return false;
  const bool wrong = world.parameters.OneIn(15);
  if (!cq->is_shared_channel && !wrong) {
    Wait(world, *cq);
    return true;
  }
  for (End* const end : cq->feeders) {
    if (!end->is_connection()) continue;
    if (end->config.shared_channel == wrong) {
      Wait(world, *cq);
    } else {
      Wait(world, *end);
    }
    return true;
  }
  return false;
}

bool DrawSteps(World& world) {
  if (!world.is_stepped()) return false;
  size_t steps =
      world.parameters.OneIn(4) ? 50 : world.parameters.Between(1, 8);
  while (steps-- > 0 && world.Step()) continue;
  return true;
}

}  // namespace

bool ActOnQueues(World& world, ActionKind kind) {
  switch (kind) {
    case ActionKind::kPoll:
      return DrawPoll(world);
    case ActionKind::kWait:
      return DrawWait(world);
    case ActionKind::kStep:
      return DrawSteps(world);
    case ActionKind::kSettle:
      Settle(world);
      return true;
    default:
      return false;
  }
}

bool Act(World& world, ActionKind kind) {
  return ActOnSetup(world, kind) || ActOnConnections(world, kind) ||
         ActOnRequests(world, kind) || ActOnQueues(world, kind);
}

}  // namespace rpma::sim
