// SPDX-License-Identifier: BSD-3-Clause
//
// A listening endpoint.

#ifndef RPMA_CORE_ENDPOINT_H_
#define RPMA_CORE_ENDPOINT_H_

#include <memory>

#include "core/conn_cfg.h"
#include "core/connection_request.h"
#include "core/owned.h"
#include "core/peer.h"
#include "core/rc.h"

namespace rpma {

// NextRequest() may run in several threads: each request goes to one of them.
class Endpoint {
 public:
  // Listens on `node`:`service`, with the backlog that the system takes for the
  // largest. kInval: see Address::Lookup(). kProvider: a call failed.
  static Rc Listen(const Peer& peer, const char* node, const char* service,
                   std::unique_ptr<Endpoint>* out);

  // Stops listening. kProvider, with the endpoint as usable as before: the call
  // failed. Requests and connections that came from it live on.
  Rc Close();

  // [blocks] until a connection request arrives. kNoEvent: see NextCmEvent().
  // kInval: another event came, or see ConnCfg::Check(); the latter takes no
  // request. kProvider: a call failed, and the request has been rejected.
  Rc NextRequest(const ConnCfg& cfg, std::unique_ptr<ConnectionRequest>* out);

  int fd() const { return channel_->fd; }

 private:
  explicit Endpoint(const Peer& peer) : peer_(peer) {}

  const Peer& peer_;
  OwnedEventChannel channel_;  // outlives the id
  OwnedId id_;
};

}  // namespace rpma

#endif  // RPMA_CORE_ENDPOINT_H_
