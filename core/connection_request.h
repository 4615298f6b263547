// SPDX-License-Identifier: BSD-3-Clause
//
// A connection that is not established yet, on either side.

#ifndef RPMA_CORE_CONNECTION_REQUEST_H_
#define RPMA_CORE_CONNECTION_REQUEST_H_

#include <librpma.h>

#include <memory>

#include "core/cm_id.h"
#include "core/conn_cfg.h"
#include "core/connection.h"
#include "core/connection_end.h"
#include "core/mr_local.h"
#include "core/owned.h"
#include "core/peer.h"
#include "core/rc.h"

namespace rpma {

// Used by one thread at a time. An incoming request that ends without having
// been connected is rejected.
class ConnectionRequest {
 public:
  // A request to `node`:`service`. [blocks] while the address and the route are
  // resolved. kInval: see Address::Lookup() and ConnCfg::Check(). kProvider: a
  // call failed, or the address is on another device than the peer.
  static Rc Outgoing(const Peer& peer, const char* node, const char* service,
                     const ConnCfg& cfg,
                     std::unique_ptr<ConnectionRequest>* out);

  // The request that came with `event`, on `id`. Copies the private data,
  // acknowledges the event, and leaves the channel it came on before it creates
  // anything, so that no other thread gets events of this connection and the
  // request may outlive the endpoint. kProvider: a call failed; the request has
  // been rejected. REQUIRES: cfg.Check() succeeded
  static Rc Incoming(const Peer& peer, CmId id, OwnedCmEvent event,
                     const ConnCfg& cfg,
                     std::unique_ptr<ConnectionRequest>* out);

  // Connects (outgoing) or accepts (incoming), with the private data `pdata`
  // unless that is nullptr. Consumes the request in any case. kProvider: a call
  // failed.
  static Rc Connect(std::unique_ptr<ConnectionRequest> request,
                    const rpma_conn_private_data* pdata,
                    std::unique_ptr<Connection>* out);

  // Destroys everything, every step once; an incoming request is rejected.
  // kProvider: a call failed.
  Rc Close();

  // Posts a receive before the connection exists, so that the first message of
  // the peer finds it; see Connection::Recv().
  Rc Recv(const MrLocal* dst, size_t offset, size_t length,
          const void* op_context) {
    return end_->Recv(dst, offset, length, op_context);
  }

  // What came with the request. Stays where it is until the connection ends.
  rpma_conn_private_data private_data() const {
    return end_->private_data().View();
  }

 private:
  ConnectionRequest(const Peer& peer, CmId id);

  std::unique_ptr<ConnectionEnd> end_;
};

}  // namespace rpma

#endif  // RPMA_CORE_CONNECTION_REQUEST_H_
