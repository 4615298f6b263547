// SPDX-License-Identifier: BSD-3-Clause
// The ports of a fabric and who is bound to them.

#ifndef RPMA_EMULATOR_PORT_TABLE_H_
#define RPMA_EMULATOR_PORT_TABLE_H_

#include <sys/socket.h>

#include <cstdint>
#include <unordered_map>

namespace rpma::emu {

class CmId;

// A wildcard address of either family stands for all addresses of both, as for
// an id without RDMA_OPTION_ID_AFONLY.
//
// Guarded by the mutex of the connection manager.
class PortTable {
 public:
  // Binds `id` to `address` and writes it to the id's route. Port 0 stands for
  // a free one. EADDRINUSE: the port is taken on this or on a wildcard address;
  // EADDRNOTAVAIL: no port is free. Throws std::bad_alloc.
  int Bind(CmId& id, const sockaddr& address);
  void Release(CmId& id);  // does nothing if it is not bound

  // The id that listens on `address`; on devices of iWARP or of InfiniBand's
  // protocol, as both ends of a connection have to be of one kind. nullptr:
  // none.
  CmId* FindListener(const sockaddr& address, bool iwarp) const;

 private:
  bool IsTaken(const sockaddr& address, uint16_t port) const;

  std::unordered_multimap<uint16_t, CmId*> bound_;
  uint16_t next_ephemeral_ = 0;  // counted from the first ephemeral port
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_PORT_TABLE_H_
