// SPDX-License-Identifier: BSD-3-Clause
// What the process has that others connect to, or are connected to by.

#ifndef RPMA_TESTS_STRESS_SURVIVOR_H_
#define RPMA_TESTS_STRESS_SURVIVOR_H_

#include <librpma.h>

#include <string>

#include "tests/stress/end.h"
#include "tests/stress/peer_process.h"
#include "tests/support/handle.h"
#include "tests/support/pair.h"

namespace rpma::test {

inline constexpr char kPort[] = "7204";         // where the survivor listens
inline constexpr char kPortOfPeers[] = "7205";  // where peers do

// The profile's fabric, as options besides the profile, and its folder.
std::string FabricOptions(const std::string& profile);
std::string FabricFolder(const std::string& profile);
// From now on that is the default fabric, of peers too.
void SetEnvironment(const std::string& profile);

class Survivor {
 public:
  Survivor();

  Endpoint Listen(const char* port = kPort) const;
  // An end with a region.
  End NewEnd() const;
  // Connects to a peer, of which the answer is yet to come.
  End Connecting() const;
  static void AwaitEstablished(End& end);
  // Connects to a peer that will listen.
  End ConnectedTo(PeerProcess& peer) const;

 private:
  Peer peer_;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_STRESS_SURVIVOR_H_
