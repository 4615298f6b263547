// SPDX-License-Identifier: BSD-3-Clause
// The side that writes its data into the server's memory.

#ifndef RPMA_TOOLS_QUICKSTART_CLIENT_H_
#define RPMA_TOOLS_QUICKSTART_CLIENT_H_

#include <librpma.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/quickstart/connection.h"
#include "tools/quickstart/digest.h"
#include "tools/quickstart/library.h"
#include "tools/quickstart/memory.h"
#include "tools/quickstart/message.h"
#include "tools/quickstart/progress.h"
#include "tools/quickstart/signals.h"
#include "tools/quickstart/source.h"
#include "tools/quickstart/summary.h"

namespace rpma::quickstart {

class Client {
 public:
  // Opens the device that leads to the server.
  Client(const std::string& address, const std::string& port,
         const Signals& signals);

  // Sends the connection request. Returns before the server has answered.
  void Connect();
  // Waits for that answer. Throws if the server refused, or does not exist.
  void AwaitAcceptance();
  Connection& connection() { return *connection_; }

  // Waits for the server's offer, writes the source into the region, makes it
  // persistent, commits its length and tells the server.
  void Replicate(Source* source, Summary* summary);

  // Reads all back. Then takes the server's receipt. Throws unless the digests
  // of the source, the server's memory and what was read agree.
  void Verify(Summary* summary);

  // Waits for the server's offer of a region that is gone, writes to it, and
  // reports what comes of it.
  void WriteToStaleRegion(Summary* summary);

 private:
  // A piece of the data, and the part of window_ that it passes through.
  struct Chunk {
    uint64_t offset;  // in the data
    size_t length;
    size_t slot;  // offset in window_
  };
  using ChunkStep = std::function<void(const Chunk&)>;

  void AcceptOffer();
  void Transfer(const char* label, uint64_t size, const ChunkStep& post,
                const ChunkStep& done);
  void CommitLength(uint64_t size, Summary* summary);

  const Signals& signals_;
  const std::string address_;
  const std::string port_;
  PeerPtr peer_;
  Memory window_;
  std::optional<Connection> connection_;
  MrRemotePtr target_;
};

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_CLIENT_H_
