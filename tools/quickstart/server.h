// SPDX-License-Identifier: BSD-3-Clause
// The side that offers its memory and, once a client has connected, watches.

#ifndef RPMA_TOOLS_QUICKSTART_SERVER_H_
#define RPMA_TOOLS_QUICKSTART_SERVER_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/quickstart/connection.h"
#include "tools/quickstart/digest.h"
#include "tools/quickstart/library.h"
#include "tools/quickstart/memory.h"
#include "tools/quickstart/message.h"
#include "tools/quickstart/signals.h"

namespace rpma::quickstart {

class Server {
 public:
  // Registers a region of `region_size` bytes and listens.
  Server(const std::string& address, const std::string& port,
         size_t region_size, const Signals& signals);

  // Waits for a client and accepts it.
  void Accept();
  Connection& connection() { return *connection_; }

  // Tells the client where it may write, and that what it flushes there to
  // persistence is persistent.
  void OfferRegion();

  // Waits until the client says that it has committed, and answers with what is
  // in memory. Throws if that is not what the client says it has written.
  Receipt ConfirmCommit();

  // Sends the descriptor of a region that is no longer registered.
  void OfferStaleRegion();

 private:
  Receipt InspectRegion() const;

  const Signals& signals_;
  PeerPtr peer_;
  Memory memory_;
  EndpointPtr endpoint_;
  std::optional<Connection> connection_;
};

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_SERVER_H_
