// SPDX-License-Identifier: BSD-3-Clause
// The world of one test: an emulated fabric or this machine's devices, a
// client's and a server's peer on it, and the verbs of which scenarios are
// made.

#ifndef RPMA_TESTS_SUPPORT_WORLD_H_
#define RPMA_TESTS_SUPPORT_WORLD_H_

#include <librpma.h>

#include <functional>
#include <optional>
#include <string>

#include "tests/support/census_guard.h"
#include "tests/support/emulation.h"
#include "tests/support/handle.h"
#include "tests/support/log_guard.h"
#include "tests/support/pair.h"

namespace rpma::test {

struct WorldOptions {
  bool emulated = true;  // else what RPMA_TRANSPORT names
  std::string profile = "roce";
  std::string options = {};  // more, of the fabric and its device
  // The options make the fabric one that two processes share.
  bool shared = false;
  // Called before anything is counted: adds what the world has besides.
  std::function<void(Emulation&)> extend = {};
  std::string client_address = "127.0.0.1";
  std::string server_address = "127.0.0.1";
  int first_port = 7300;  // of those that NewPort() gives
};

// When it ends nothing may be left: no object, no descriptor, no message of an
// error that the test did not take.
class World {
 public:
  explicit World(const WorldOptions& options = {});
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  LogGuard& log() { return log_; }
  // REQUIRES: the world is emulated.
  Emulation& emulation() { return *emulation_; }
  // nullptr: the world is not emulated.
  const rpma_emu_fabric* fabric() const {
    return emulation_ ? emulation_->fabric() : nullptr;
  }
  ibv_context* context() const { return client_context_; }
  rpma_peer* client_peer() const { return client_peer_; }
  rpma_peer* server_peer() const { return server_peer_; }
  // Of the devices that the peers are on.
  const char* client_address() const { return client_address_.c_str(); }
  const char* server_address() const { return server_address_.c_str(); }

  // A further peer beside the client's or the server's.
  Peer NewClientPeer() { return NewPeer(client_context_); }
  Peer NewServerPeer() { return NewPeer(server_context_); }

  // Lets each process of a shared fabric hear what the other has sent to it.
  void Meet();

  // A port that was not used before.
  std::string NewPort();

  Endpoint Listen(const std::string& port);
  ConnReq NewRequest(const std::string& port,
                     const rpma_conn_cfg* cfg = nullptr);
  // The next incoming request, waiting for it.
  static ConnReq NextRequest(rpma_ep* endpoint,
                             const rpma_conn_cfg* cfg = nullptr);

  // Two ends after both fetched ESTABLISHED.
  Pair ConnectedPair(const PairOptions& options = {});
  // The same over an endpoint that may have other connections, too.
  Pair ConnectedPair(rpma_ep* endpoint, const std::string& port,
                     const PairOptions& options = {});

 private:
  void Emulate(const WorldOptions& options);
  static Peer NewPeer(ibv_context* context);

  LogGuard log_;
  std::optional<Emulation> emulation_;
  const std::string client_address_;
  const std::string server_address_;
  ibv_context* client_context_;
  ibv_context* server_context_;
  int next_port_;
  CensusGuard census_;
  Peer client_peer_;
  Peer server_peer_;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_WORLD_H_
