// SPDX-License-Identifier: BSD-3-Clause

#include "tests/errors/stage.h"

namespace rpma::test {

Stage::Stage(const WorldOptions& options) : World(options) {
  // With a plan, librpma's allocations are told from the provider's.
  emulation().SetFaults("");
  allocator_.emplace();
}

Stage::~Stage() {
  while (!kept_.empty()) kept_.pop_back();
  kept_.shrink_to_fit();
  emulation().SetFaults("");
  // The report of another failure stays in memory, too.
  if (::testing::Test::HasFailure()) return;
  EXPECT_EQ(allocator_->live(), 0) << "memory of librpma was not freed";
}

const Region& Stage::region() {
  if (region_ == nullptr) region_ = &Keep(Region(client_peer(), 4096));
  return *region_;
}

rpma_mr_remote* Stage::remote() {
  if (remote_ == nullptr) remote_ = Keep(region().Remote());
  return remote_;
}

const End& Stage::client() {
  if (pair_ == nullptr) pair_ = &Keep(ConnectedPair());
  return pair_->client;
}

const std::string& Stage::port() {
  if (port_ == nullptr) port_ = &Keep(NewPort());
  return *port_;
}

Endpoint& Stage::endpoint() {
  if (endpoint_ == nullptr) endpoint_ = &Keep(Listen(port()));
  return *endpoint_;
}

ConnReq& Stage::Outgoing(const rpma_conn_cfg* cfg) {
  endpoint();
  return Keep(NewRequest(port(), cfg));
}

ConnReq& Stage::Incoming(const rpma_conn_cfg* cfg) {
  Connecting();
  return Keep(NextRequest(endpoint(), cfg));
}

Conn& Stage::Connecting() {
  last_client_ = &Keep(Connect(std::move(Outgoing())));
  EXPECT_TRUE(BecomesReadable(EndpointFd(endpoint())));
  return *last_client_;
}

}  // namespace rpma::test
