// SPDX-License-Identifier: BSD-3-Clause
// Receives, and the messages that they get.

#ifndef RPMA_TESTS_SIM_RECEIVING_H_
#define RPMA_TESTS_SIM_RECEIVING_H_

#include <infiniband/verbs.h>

#include <cstddef>

#include "tests/sim/world.h"

namespace rpma::sim {

// Posts a receive into a part of `region`, which may be nullptr, to an end's
// own queue or a shared one, and checks the answer.
void PostReceive(World& world, End& end, Region* region, size_t offset,
                 size_t length);
void PostReceive(World& world, Srq& srq, Region* region, size_t offset,
                 size_t length);

// `end.other` has posted one more message.
void OnMessage(World& world, End& end);

// Checks the completion of a receive, or that of one that is on none of the
// queues of `end`.
void CheckReceive(World& world, Cq& cq, End& end, const ibv_wc& wc);

// No message has come that its sender does not know to have arrived.
void CheckAllArrived(const World& world, const Cq& cq);

// The buffers in a region cannot be used any more.
void ForgetBuffers(World& world, End& end, Region& region);
void ForgetBuffers(World& world, Srq& srq, Region& region);

// Nothing more will come into the buffer.
void CloseReceive(const Receive& receive);
// The message of this index has arrived.
void FinishMessage(World& world, End& receiver, size_t message);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_RECEIVING_H_
