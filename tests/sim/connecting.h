// SPDX-License-Identifier: BSD-3-Clause
// Connection requests and connections, from their making to their end, with the
// check of what each call must answer.

#ifndef RPMA_TESTS_SIM_CONNECTING_H_
#define RPMA_TESTS_SIM_CONNECTING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace rpma::sim {

// Private data to send; none: NULL.
using PrivateData = std::optional<std::vector<uint8_t>>;

// Those that make something return it, or nullptr if a failure was right.

// Where a request goes.
struct Destination {
  std::string address;
  std::string port;
  const Node* through = nullptr;  // the node that a route leads through
  const Node* owner = nullptr;    // nullptr: nobody, so there is no answer
};

End* NewRequest(World& world, Peer& peer, const Destination& to,
                const Config& config);
// The next request of an endpoint, if there is one.
End* NextRequest(World& world, Endpoint& endpoint, const Config& config);
// Connects an active request, or accepts a passive one. Active ones need
// private data that begin with TagOf(), so that the other side tells them
// apart.
void Connect(World& world, End& end, const PrivateData& private_data);
std::vector<uint8_t> TagOf(const End& end);
void DeleteRequest(World& world, End& end);
// Whether the sender of an incoming request may have given it up.
bool MayBeWithdrawn(const Rules& rules, const End& end);
// What follows when an end ceases to exist.
void ForgetEnd(World& world, End& end);

// Fetches an event if there is one; false: there was none.
bool NextEvent(World& world, End& end);
// Whether the descriptor of its events is readable.
bool HasEvent(const End& end);
bool HasRequest(const Endpoint& endpoint);
void Disconnect(World& world, End& end);
void DeleteConnection(World& world, End& end);
// Tells an end the truth about its other side, or that it has nothing to offer.
void ApplyPeerCfg(World& world, End& end, bool direct_write);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_CONNECTING_H_
