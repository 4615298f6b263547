// SPDX-License-Identifier: BSD-3-Clause
// The process that dies.

#ifndef RPMA_TESTS_STRESS_PEER_H_
#define RPMA_TESTS_STRESS_PEER_H_

#include <optional>

namespace rpma::test {

// Plays the peer's part if the program's arguments are those of PeerProcess,
// and returns its exit status; nothing: they are not.
std::optional<int> MainOfPeer(int argc, char** argv);

}  // namespace rpma::test

#endif  // RPMA_TESTS_STRESS_PEER_H_
