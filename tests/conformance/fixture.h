// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the conformance suite: a provider with one device, a client's
// and a server's peer on it, and the verbs of which scenarios are made. After
// each test nothing may be left: no object, no descriptor, no message of an
// error that the test did not take.

#ifndef RPMA_TESTS_CONFORMANCE_FIXTURE_H_
#define RPMA_TESTS_CONFORMANCE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/provider.h"
#include "tests/support/emulation.h"
#include "tests/support/handle.h"
#include "tests/support/log_guard.h"
#include "tests/support/matchers.h"
#include "tests/support/pair.h"
#include "tests/support/region.h"
#include "tests/support/world.h"

namespace rpma::test {

class ConformanceTest : public ::testing::TestWithParam<const Provider*> {
 public:
  // What a test registers may be its members.
  static void* operator new(size_t size);
  static void operator delete(void* test);

 protected:
  void SetUp() override;
  void TearDown() override;

  // What the device does otherwise than the provider's by itself, for tests of
  // what cannot be had on demand elsewhere: "name=value" separated by spaces.
  virtual std::string device_options() const { return {}; }

  // Called before anything is counted: adds what the test's world has besides.
  virtual void Extend(Emulation& /*emulation*/) {}

  // An address of the device that the server's peer is on: the first device,
  // where the client's is, or one added by Extend().
  virtual const char* server_address() const { return address(); }

  const Provider& provider() const { return *GetParam(); }
  const char* address() const;
  ibv_context* context() const { return world_->context(); }
  rpma_peer* client_peer() const { return world_->client_peer(); }
  rpma_peer* server_peer() const { return world_->server_peer(); }
  Peer NewClientPeer() { return world_->NewClientPeer(); }
  Peer NewServerPeer() { return world_->NewServerPeer(); }
  LogGuard& log() { return world_->log(); }
  // REQUIRES: the provider is emulated.
  Emulation& emulation() { return world_->emulation(); }
  // For a CensusGuard.
  const rpma_emu_fabric* fabric() const { return world_->fabric(); }

  // The verbs of the world.
  std::string NewPort() { return world_->NewPort(); }
  Endpoint Listen(const std::string& port) { return world_->Listen(port); }
  ConnReq NewRequest(const std::string& port,
                     const rpma_conn_cfg* cfg = nullptr) {
    return world_->NewRequest(port, cfg);
  }
  ConnReq NextRequest(rpma_ep* endpoint, const rpma_conn_cfg* cfg = nullptr) {
    return World::NextRequest(endpoint, cfg);
  }
  Pair ConnectedPair(const PairOptions& options = {}) {
    return world_->ConnectedPair(options);
  }
  Pair ConnectedPair(rpma_ep* endpoint, const std::string& port,
                     const PairOptions& options = {}) {
    return world_->ConnectedPair(endpoint, port, options);
  }

  // Expects that the device says why the last request of `end` failed, in words
  // that match; "" if none did. Only emulated devices explain.
  void ExpectExplained(const End& end,
                       const ::testing::Matcher<std::string>& why);

  // A request that the other side refused, which ends with `status`. Where that
  // is a success once it is sent, the connection may end before all of it is,
  // as seen with siw and 64 bytes, rarely.
  rpma_testing::CompletionMatcher EndedRefused(uint64_t wr_id,
                                               ibv_wc_status status,
                                               uint32_t qp_num) const;

  // Lets happen what happens by itself in a world that is neither stepped nor
  // shared: in a stepped one all steps are made, so that all time-outs are
  // over, too; in a shared one all arrives that has been sent.
  void ComeToRest();
  // The same once a request has written `value` to `byte`.
  void ComeToRestAfter(const uint8_t& byte, uint8_t value);

  // Runs each in a thread of its own and waits for their ends. In a stepped
  // world they take part in it.
  void InThreads(const std::vector<std::function<void()>>& bodies);

  // Lets both ends disconnect, the client first, and awaits the events of it.
  void DisconnectBoth(const Pair& pair);
  // The same, and awaits the ends of their time waits, which a device may have
  // last for seconds.
  void Disconnect(const Pair& pair);

 private:
  // Whether two processes share the world.
  bool IsShared() const;

  std::optional<World> world_;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_FIXTURE_H_
