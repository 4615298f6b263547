// SPDX-License-Identifier: BSD-3-Clause
// Completion queues: fetching from them, waiting for them, and their limits.

#ifndef RPMA_TESTS_SIM_COMPLETING_H_
#define RPMA_TESTS_SIM_COMPLETING_H_

#include <cstddef>
#include <vector>

#include "tests/sim/world.h"

namespace rpma::sim {

// All queues that exist.
std::vector<Cq*> AllCqs(const World& world);

// Whether something has been posted whose completion goes there.
bool MayGetMore(const Cq& cq);

// Fetches up to `capacity` completions and checks each; returns how many came.
size_t Poll(World& world, Cq& cq, size_t capacity);

// Whether an event must be there for one of the queues.
bool EventIsDue(const Cq& cq);
// Waits, which returns at once if nothing is there: for a queue that has a
// completion channel of its own, or for those of an end that share one. False:
// nothing was there.
bool Wait(World& world, Cq& cq);
bool Wait(World& world, End& end);

// Finds the queues that may have overrun by now.
void NoteOverruns(World& world);
// One may have overrun, and what completes there fails.
void LoseCompletions(World& world, Cq& cq);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_COMPLETING_H_
