// SPDX-License-Identifier: BSD-3-Clause
// Making and deleting peers, regions, shared receive queues and endpoints, with
// the check of what that must answer.

#ifndef RPMA_TESTS_SIM_SETUP_H_
#define RPMA_TESTS_SIM_SETUP_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/sim/objects.h"
#include "tests/sim/world.h"

namespace rpma::sim {

// Those that make something return it, or nullptr if a failure was right.

Peer* NewPeer(World& world, Node& node);
// REQUIRES: no endpoint of the peer is left. What else is left keeps it alive.
void DeletePeer(World& world, Peer& peer);

Region* RegisterRegion(World& world, Peer& peer, size_t size, int usage,
                       size_t misalignment);
void Deregister(World& world, Region& region);
// Whether a request or a receive that has not completed names the region.
bool IsInUse(const World& world, const Region& region);

// `cfg_rcq_size` 0: without a receive completion queue.
Srq* NewSrq(World& world, Peer& peer, uint32_t rq_size, uint32_t rcq_size);
// REQUIRES: no connection uses it.
void DeleteSrq(World& world, Srq& srq);

Endpoint* Listen(World& world, Peer& peer, const std::string& address,
                 const std::string& port);
void Shutdown(World& world, Endpoint& endpoint);

// The endpoint that gets requests to an address, one that is struck if there is
// no other, or nullptr.
Endpoint* FindListener(const World& world, const std::string& address,
                       const std::string& port);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_SETUP_H_
