// SPDX-License-Identifier: BSD-3-Clause
// Lets the world come to rest, and checks that nothing is missing then.

#ifndef RPMA_TESTS_SIM_SETTLE_H_
#define RPMA_TESTS_SIM_SETTLE_H_

#include "tests/sim/world.h"

namespace rpma::sim {

// Runs the world until nothing moves any more and fetches all events and
// completions. Then every request that can complete has completed, and every
// event has come that must come; else throws Violation.
void Settle(World& world);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_SETTLE_H_
