// SPDX-License-Identifier: BSD-3-Clause

#include "core/device.h"

#include "core/cm_id.h"
#include "core/log.h"
#include "core/owned.h"

namespace rpma {

Rc FindDevice(Transport& transport, Address::Side side, const char* node,
              ibv_context** context) {
  Address address;
  Rc rc = Address::Lookup(transport, side, node, nullptr, &address);
  if (rc != Rc::kOk) return rc;

  OwnedId id;
  rc = CreateId(transport, nullptr, &id);
  if (rc != Rc::kOk) return rc;
  rc = side == Address::Side::kLocal
           ? address.Bind(id.get())
           : address.Resolve(id.get(), kFindDeviceTimeoutMs);
  if (rc != Rc::kOk) return rc;

  ibv_context* const found = id->verbs;
  if (found == nullptr) {
    RPMA_LOG(ERROR, "no RDMA device has the address %s", node);
    return Rc::kProvider;
  }
  rc = id.DestroyOrAbandon();
  if (rc == Rc::kOk) *context = found;
  return rc;
}

Rc QueryCaps(Transport& transport, ibv_context* context, DeviceCaps* caps) {
  const Errno error = transport.QueryDevice(context, caps);
  if (error != Errno::kOk) {
    RPMA_LOG(ERROR, "ibv_query_device_ex(%p) failed: %s",
             static_cast<void*>(context), log::Reason(error));
    return Rc::kProvider;
  }
  return Rc::kOk;
}

}  // namespace rpma
