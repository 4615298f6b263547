// SPDX-License-Identifier: BSD-3-Clause
// What has become of a device.

#include "emulator/device_health.h"

#include "emulator/device.h"

namespace rpma::emu {

DeviceHealth::DeviceHealth(Device& device, DeviceEnvironment& environment)
    : device_(device),
      environment_(environment),
      link_timer_(environment.timers(),
                  [this] { ChangeLink(link_afterwards_); }) {}

void DeviceHealth::ChangeLink(bool up) {
  const uint32_t before =
      up ? state_.fetch_and(~uint32_t{kLinkDown}) : state_.fetch_or(kLinkDown);
  if (((before & kLinkDown) == 0) == up) return;
  if (!up) unfinished_ |= kLinkDown;
  ibv_async_event event{};
  event.event_type = up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
  event.element.port_num = 1;
  device_.RaiseAsyncEvent(event);
}

void DeviceHealth::SetLink(bool up, std::chrono::nanoseconds back_after) {
  link_timer_.Cancel();
  ChangeLink(up);
  if (back_after.count() == 0) return;
  link_afterwards_ = !up;
  // Without a timer the time counts as passed.
  if (!link_timer_.Arm(environment_.Scale(back_after))) {
    ChangeLink(!up);
  }
}

void DeviceHealth::EndProcess() {
  state_ |= kProcessEnding;
  unfinished_ |= kProcessEnding;
}

void DeviceHealth::PowerOff() {
  state_ |= kPowerless;
  unfinished_ |= kPowerless;
}

void DeviceHealth::Remove() {
  if ((state_.fetch_or(kRemoved) & kRemoved) != 0) return;
  ibv_async_event event{};
  event.event_type = IBV_EVENT_DEVICE_FATAL;
  device_.RaiseAsyncEvent(event);
  unfinished_ |= kRemoved;
}

const char* DeviceHealth::Trouble() const {
  if (Is(kPowerless)) return "had lost its power";
  if (Is(kRemoved)) return "was removed";
  if (Is(kProcessEnding)) return "lost its process";
  return "had its link down";
}

DeviceHealth::Unfinished DeviceHealth::TakeUnfinished() {
  const uint32_t taken = unfinished_.exchange(0);
  return {.link_lost = (taken & kLinkDown) != 0,
          .process_ended = (taken & kProcessEnding) != 0,
          .power_lost = (taken & kPowerless) != 0,
          .removed = (taken & kRemoved) != 0};
}

}  // namespace rpma::emu
