// SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/survivor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace rpma::test {
namespace {

std::string Directory() { return testing::TempDir() + "/stress"; }

}  // namespace

std::string FabricOptions(const std::string& profile) {
  return "fabric=" + profile + " dir=" + Directory();
}

std::string FabricFolder(const std::string& profile) {
  return Directory() + "/" + profile;
}

void SetEnvironment(const std::string& profile) {
  const std::string options = "profile=" + profile + " ";
  // Of peers: who is traced cannot look for leaks.
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  setenv("RPMA_TRANSPORT", "emulator", 1);
  setenv("RPMA_EMU", (options + FabricOptions(profile)).c_str(), 1);
}

Survivor::Survivor() {
  EXPECT_THAT(rpma_peer_new(Device(), peer_.address()), IsOk());
}

Endpoint Survivor::Listen(const char* port) const {
  Endpoint endpoint;
  EXPECT_THAT(rpma_ep_listen(peer_, kAddress, port, endpoint.address()),
              IsOk());
  return endpoint;
}

End Survivor::NewEnd() const {
  End end;
  end.region.emplace(NewRegion(peer_));
  return end;
}

End Survivor::Connecting() const {
  End end = NewEnd();
  ConnReq request;
  EXPECT_THAT(rpma_conn_req_new(peer_, kAddress, kPortOfPeers, nullptr,
                                request.address()),
              IsOk());
  PostReceives(request, *end.region);
  end.Own(Connect(std::move(request), Introduction(end)));
  return end;
}

void Survivor::AwaitEstablished(End& end) {
  EXPECT_EQ(NextEvent(end.conn), RPMA_CONN_ESTABLISHED);
  GetAcquainted(PrivateData(end.conn), &end);
}

End Survivor::ConnectedTo(PeerProcess& peer) const {
  EXPECT_TRUE(peer.AwaitStep(Step::kListening));
  End end = Connecting();
  AwaitEstablished(end);
  EXPECT_TRUE(peer.AwaitStep(Step::kEstablished));
  return end;
}

}  // namespace rpma::test
