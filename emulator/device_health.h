// SPDX-License-Identifier: BSD-3-Clause
// What has become of a device: its link, its power, the process on its node,
// and whether it is still there.

#ifndef RPMA_EMULATOR_DEVICE_HEALTH_H_
#define RPMA_EMULATOR_DEVICE_HEALTH_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "emulator/timer.h"

namespace rpma::emu {

class Device;
class DeviceEnvironment;

// Threads: all calls, any thread, under any lock of the emulator. Those that
// change something do at once what can be done so: no message gets out of the
// device or into it. The rest is left to
// DeviceEnvironment::FinishDeviceFaults().
class DeviceHealth {
 public:
  // Throws std::bad_alloc.
  DeviceHealth(Device& device, DeviceEnvironment& environment);
  DeviceHealth(const DeviceHealth&) = delete;
  DeviceHealth& operator=(const DeviceHealth&) = delete;

  // Raises PORT_ERR or PORT_ACTIVE if it changes. `back_after`, as on hardware,
  // is when it changes back; 0: never.
  void SetLink(bool up, std::chrono::nanoseconds back_after);
  void EndProcess();
  void PowerOff();
  void Remove();  // raises DEVICE_FATAL

  bool IsLinkUp() const { return !Is(kLinkDown); }
  bool IsRemoved() const { return Is(kRemoved); }
  // No message gets out of it or into it.
  bool IsSilent() const { return state_.load() != 0; }
  // What makes it silent: "had its link down". REQUIRES: it is.
  const char* Trouble() const;

  struct Unfinished {
    bool link_lost = false;
    bool process_ended = false;
    bool power_lost = false;
    bool removed = false;
  };
  // Each thing is told once.
  Unfinished TakeUnfinished();
  // What the process had is gone; another one may use the device.
  void ProcessHasEnded() { state_ &= ~kProcessEnding; }

 private:
  enum State : uint32_t {
    kLinkDown = 1u << 0,
    kProcessEnding = 1u << 1,
    kPowerless = 1u << 2,
    kRemoved = 1u << 3,
  };

  bool Is(uint32_t states) const { return (state_.load() & states) != 0; }
  void ChangeLink(bool up);

  Device& device_;
  DeviceEnvironment& environment_;
  std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> unfinished_{0};
  std::atomic<bool> link_afterwards_{true};
  Timer link_timer_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_DEVICE_HEALTH_H_
