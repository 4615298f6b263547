// SPDX-License-Identifier: BSD-3-Clause
// The end of a run, in which nothing goes wrong any more: everything that is
// outstanding comes to an end, everything can be deleted, and a connection made
// afresh works.

#ifndef RPMA_TESTS_SIM_ENDING_H_
#define RPMA_TESTS_SIM_ENDING_H_

#include <vector>

#include "tests/sim/world.h"

namespace rpma::sim {

using EndingStep = void (*)(World& world);
extern const std::vector<EndingStep> kEnding;

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_ENDING_H_
