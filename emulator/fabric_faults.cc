// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the objects on a device that a fault has struck.

#include <sys/syslog.h>

#include <cstdio>

#include "emulator/fabric.h"

namespace rpma::emu {

void Fabric::Report(const Device& device, const char* what) {
  char text[200];
  std::snprintf(text, sizeof(text), "%s: %s", device.name().c_str(), what);
  Log(LOG_INFO, text);
}

void Fabric::FinishDeviceFaults() {
  if (!faults_.TakeUnfinished()) return;
  for (size_t i = 0; Device* const device = DeviceAt(i); ++i) {
    const DeviceHealth::Unfinished left = device->health().TakeUnfinished();
    if (left.link_lost) Report(*device, "the link is down");
    if (left.power_lost) Report(*device, "the node has lost its power");
    if (left.link_lost || left.power_lost) cm_->CutOff(*device);
    if (left.process_ended) {
      Report(*device, "the process has ended");
      device->EndQps("the process of the queue pair had ended");
      device->health().ProcessHasEnded();
      cm_->EndProcess(*device);
    }
    if (left.removed) {
      Report(*device, "the device was removed");
      device->EndQps("the device was removed");
      cm_->RemoveDevice(*device);
    }
  }
}

}  // namespace rpma::emu
