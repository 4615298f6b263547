// SPDX-License-Identifier: BSD-3-Clause
//
// The peer: this program's protection domain on one device.

#ifndef RPMA_CORE_PEER_H_
#define RPMA_CORE_PEER_H_

#include <memory>

#include "core/owned.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// Immutable once created: any number of threads may use it. It outlives every
// object created with it.
class Peer {
 public:
  // kNoMem: the device has no memory for a protection domain. kUnknown: it
  // refused one without a reason. kProvider: a call failed otherwise.
  static Rc Create(Transport& transport, ibv_context* context,
                   std::unique_ptr<Peer>* out);

  // Frees the protection domain. kProvider, with the peer as usable as before:
  // the call failed, with EBUSY as long as regions, queues or connections of
  // the peer exist.
  Rc Close() { return pd_.Destroy(); }

  // Registers `size` bytes at `address` for `usage`. If the memory cannot be
  // pinned and the device has on-demand paging, it is registered on demand; if
  // it is read-only and only read, without local write. kProvider: the call
  // failed. REQUIRES: IsValidUsage(usage)
  Rc RegisterMemory(void* address, size_t size, int usage, OwnedMr* out) const;

  Transport& transport() const { return transport_; }
  ibv_context* context() const { return context_; }
  const DeviceCaps& caps() const { return caps_; }
  ibv_pd* pd() const { return pd_.get(); }

 private:
  Peer(Transport& transport, ibv_context* context)
      : transport_(transport), context_(context) {}

  Transport& transport_;
  ibv_context* const context_;
  DeviceCaps caps_;
  OwnedPd pd_;
};

}  // namespace rpma

#endif  // RPMA_CORE_PEER_H_
