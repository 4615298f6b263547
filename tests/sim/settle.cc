// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/settle.h"

#include <poll.h>

#include <chrono>
#include <exception>
#include <vector>

#include "tests/sim/completing.h"
#include "tests/sim/connecting.h"
#include "tests/sim/sending.h"

namespace rpma::sim {
namespace {

constexpr size_t kMaxSteps = 1'000'000;
constexpr size_t kPollSize = 16;
// Which no run should reach.
constexpr auto kDeadline = std::chrono::seconds(20);
constexpr int kSliceMs = 20;  // a fault may fire and make nothing readable

void RunToRest(World& world) {
  for (size_t steps = 0; world.Step(); ++steps) {
    Require(steps < kMaxSteps, "the world does not come to rest");
  }
}

// Afterwards no descriptor is readable, and each becomes so with what comes.
void TakeWakeUps(World& world) {
  for (const auto& end : world.ends) {
    if (!end->is_connection() || !end->config.shared_channel) continue;
    while (Wait(world, *end)) continue;
  }
  for (Cq* const cq : AllCqs(world)) {
    if (cq->is_shared_channel) continue;
    while (Wait(world, *cq)) continue;
  }
}

bool FetchAll(World& world) {
  bool fetched = false;
  TakeWakeUps(world);
  for (Cq* const cq : AllCqs(world)) {
    while (Poll(world, *cq, kPollSize) > 0) fetched = true;
  }
  for (const auto& end : world.ends) {
    if (!end->is_connection()) continue;
    while (NextEvent(world, *end)) fetched = true;
  }
  return fetched;
}

void CheckNothingIsMissing(const World& world) {
  for (const auto& end : world.ends) {
    CheckNoneIsStuck(world, *end);
    Require(!MustHaveEvent(world.rules, *end), "end ", end->number,
            " waits for an event that does not come");
  }
  for (const auto& endpoint : world.endpoints) {
    if (endpoint->handle == nullptr || endpoint->is_struck) continue;
    if (world.rules.cm_is_late) continue;
    size_t waiting = 0;
    for (const End* const caller : endpoint->callers) {
      waiting += caller->is_gone() ? 0 : 1;
    }
    Require(waiting <= endpoint->refused_unseen || HasRequest(*endpoint),
            "endpoint ", endpoint->number,
            " waits for a request that does not come");
  }
}

// Where the world moves by itself: waits until it has moved. Descriptors become
// readable with it.
void AwaitMovement(const World& world) {
  std::vector<pollfd> entries;
  const auto watch = [&](int fd) { entries.push_back({fd, POLLIN, 0}); };
  int fd = -1;
  for (const auto& end : world.ends) {
    if (!end->is_connection()) continue;
    if (MustHaveEvent(world.rules, *end) &&
        rpma_conn_get_event_fd(end->conn, &fd) == 0) {
      watch(fd);
    }
  }
  for (const Cq* const cq : AllCqs(world)) {
    if (rpma_cq_get_fd(cq->handle, &fd) == 0) watch(fd);
  }
  (void)poll(entries.data(), entries.size(), kSliceMs);
}

bool IsSomethingMissing(const World& world) {
  try {
    CheckNothingIsMissing(world);
    return false;
  } catch (const Violation&) {
    return true;
  }
}

}  // namespace

void Settle(World& world) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    RunToRest(world);
    const uint64_t fired = world.faults.fired();
    if (FetchAll(world) || world.faults.fired() != fired) continue;
    if (world.is_stepped()) {
      if (world.Step()) continue;
      break;
    }
    if (!IsSomethingMissing(world)) break;
    if (std::chrono::steady_clock::now() - begin > kDeadline) break;
    AwaitMovement(world);
    world.NoteFaults();
  }
  CheckNothingIsMissing(world);
  for (const auto& end : world.ends) end->is_under_way = false;
  for (const auto& region : world.regions) region->model->SettleAbandoned();
}

}  // namespace rpma::sim
