// SPDX-License-Identifier: BSD-3-Clause
// The ibv_context of an emulated device.

#ifndef RPMA_EMULATOR_DEVICE_CONTEXT_H_
#define RPMA_EMULATOR_DEVICE_CONTEXT_H_

#include <infiniband/verbs.h>

#include <string>

#include "emulator/profile.h"

namespace rpma::emu {

class Device;

// A verbs_context with what inline verbs of <infiniband/verbs.h> dispatch
// through. Exported functions of libibverbs dispatch through `priv`, whose
// layout only libibverbs knows; it points at a page without access, so that
// they stop at once instead of misbehaving.
class DeviceContext {
 public:
  // Throws std::system_error if there is no memory for the page.
  DeviceContext(Device& device, const std::string& name, const Profile& profile,
                int async_fd);
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;
  ~DeviceContext();

  ibv_context* context() { return &fields_.verbs.context; }

  // The device of a context, or nullptr if it is not one of these.
  static Device* DeviceOf(ibv_context* context);

 private:
  struct Fields {
    Device* owner;
    verbs_context verbs;  // the last member: it ends with the ibv_context
  };

  void* guard_page_;
  ibv_device device_{};
  Fields fields_{};
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_DEVICE_CONTEXT_H_
