// SPDX-License-Identifier: BSD-3-Clause
// What the walk can do next, with what and how drawn at random.

#ifndef RPMA_TESTS_SIM_ACTIONS_H_
#define RPMA_TESTS_SIM_ACTIONS_H_

#include "tests/sim/scenario.h"
#include "tests/sim/world.h"

namespace rpma::sim {

// Does something of a kind; false: there is nothing to do it with.
bool Act(World& world, ActionKind kind);

// --- Its parts
bool ActOnSetup(World& world, ActionKind kind);
bool ActOnConnections(World& world, ActionKind kind);
bool ActOnRequests(World& world, ActionKind kind);
bool ActOnQueues(World& world, ActionKind kind);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_ACTIONS_H_
