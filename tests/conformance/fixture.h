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

#include <optional>
#include <string>

#include "tests/conformance/census_guard.h"
#include "tests/conformance/emulation.h"
#include "tests/conformance/pair.h"
#include "tests/conformance/provider.h"
#include "tests/conformance/region.h"
#include "tests/support/handle.h"
#include "tests/support/log_guard.h"
#include "tests/support/matchers.h"

namespace rpma::test {

class ConformanceTest : public ::testing::TestWithParam<const Provider*> {
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
  ibv_context* context() const { return context_; }
  rpma_peer* client_peer() const { return client_peer_; }
  rpma_peer* server_peer() const { return server_peer_; }
  LogGuard& log() { return *log_; }
  Emulation& emulation() { return *emulation_; }

  // A port that this test did not use before.
  std::string NewPort();

  Endpoint Listen(const std::string& port);
  ConnReq NewRequest(const std::string& port,
                     const rpma_conn_cfg* cfg = nullptr);
  // The next incoming request, waiting for it.
  ConnReq NextRequest(rpma_ep* endpoint, const rpma_conn_cfg* cfg = nullptr);

  // Two ends after both fetched ESTABLISHED.
  Pair ConnectedPair(const PairOptions& options = {});
  // The same over an endpoint that may have other connections, too.
  Pair ConnectedPair(rpma_ep* endpoint, const std::string& port,
                     const PairOptions& options = {});

  // Why the last request of `end` failed, as the device says; "" if none did.
  std::string Explanation(const End& end) const;

  // Lets both ends disconnect, the client first, and fetches all events.
  void Disconnect(const Pair& pair);

 private:
  std::optional<LogGuard> log_;
  std::optional<Emulation> emulation_;
  std::optional<CensusGuard> census_;
  ibv_context* context_ = nullptr;
  Peer client_peer_;
  Peer server_peer_;
  int next_port_ = 7300;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_FIXTURE_H_
