// SPDX-License-Identifier: BSD-3-Clause
// What the model cannot expect any more when a fault has fired. Weaker, but
// never anything goes.

#ifndef RPMA_TESTS_SIM_FAULT_EFFECTS_H_
#define RPMA_TESTS_SIM_FAULT_EFFECTS_H_

#include "tests/sim/fault_plan.h"
#include "tests/sim/world.h"

namespace rpma::sim {

// May be told of one firing several times: again for what was not known yet.
void OnFired(World& world, const FaultRule& rule);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_FAULT_EFFECTS_H_
