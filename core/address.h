// SPDX-License-Identifier: BSD-3-Clause
//
// A host and port, looked up, and what CM ids do with it.

#ifndef RPMA_CORE_ADDRESS_H_
#define RPMA_CORE_ADDRESS_H_

#include "core/owned.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

class Address {
 public:
  enum class Side { kLocal, kRemote };  // to listen on; to connect to

  Address() = default;

  // Looks up `node` (a host name or a literal address) and `service`: a decimal
  // number from 0 to 65535, a service name, or nullptr for none.
  // kInval: `service` is empty, or starts like a number (with a digit, a sign
  // or a space) and is not one of these. kProvider: the lookup failed.
  // The strings must outlive the object, which names them in log lines.
  static Rc Lookup(Transport& transport, Side side, const char* node,
                   const char* service, Address* out);

  // Binds `id` to the address. kProvider: the call failed.
  Rc Bind(rdma_cm_id* id) const;

  // Finds the device that reaches the address. [blocks] up to `timeout_ms`.
  // kProvider: the call failed.
  Rc Resolve(rdma_cm_id* id, int timeout_ms) const;

  const char* node() const { return node_; }
  const char* service() const { return service_ != nullptr ? service_ : "-"; }

 private:
  Transport* transport_ = nullptr;
  const char* node_ = nullptr;
  const char* service_ = nullptr;
  OwnedAddrInfo info_;
};

}  // namespace rpma

#endif  // RPMA_CORE_ADDRESS_H_
