// SPDX-License-Identifier: BSD-3-Clause
//
// RDMA devices: which one is behind an address, and what it can do.

#ifndef RPMA_CORE_DEVICE_H_
#define RPMA_CORE_DEVICE_H_

#include "core/address.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// How long FindDevice() waits for a remote address.
inline constexpr int kFindDeviceTimeoutMs = 1000;

// Finds the device that has the local address `node`, or that reaches the
// remote one. [blocks] up to kFindDeviceTimeoutMs. The context belongs to the
// transport; nobody closes it. kProvider: a call failed, or no single device
// owns the address (0.0.0.0, for one).
Rc FindDevice(Transport& transport, Address::Side side, const char* node,
              ibv_context** context);

// What the device can do. kProvider: the query failed.
Rc QueryCaps(Transport& transport, ibv_context* context, DeviceCaps* caps);

}  // namespace rpma

#endif  // RPMA_CORE_DEVICE_H_
