// SPDX-License-Identifier: BSD-3-Clause
// What a fabric has at its end of the links to other processes.

#include "emulator/far_ends.h"

#include "emulator/device.h"
#include "emulator/fabric.h"

namespace rpma::emu {

FabricEnds::FabricEnds(Fabric& fabric, const std::string& directory,
                       const std::string& name)
    : fabric_(fabric),
      wire_(directory.empty() ? wire::DefaultDirectory() : directory, name,
            *this, fabric.progress(), [&fabric](int level, const char* text) {
              fabric.Log(level, text);
            }) {}

const char* FabricEnds::OnMessage(FarLink& link, const wire::Message& message,
                                  std::span<const std::byte> payload) {
  if (message.head.type == wire::Type::kCm) {
    fabric_.cm().OnCm(link, message.cm, payload);
    return nullptr;
  }
  Device* device = fabric_.DeviceAt(message.head.to >> kDeviceShift);
  // Any device says that it has no such queue pair.
  if (device == nullptr) device = fabric_.DeviceAt(0);
  return device->OnData(link, message, payload);
}

void FabricEnds::OnRoom(FarLink& link) {
  for (size_t i = 0; Device* const device = fabric_.DeviceAt(i); ++i) {
    device->OnRoom(link);
  }
}

// Queue pairs first: a goodbye flushes what waits for an answer.
void FabricEnds::OnEnd(FarLink& link) {
  for (size_t i = 0; Device* const device = fabric_.DeviceAt(i); ++i) {
    device->OnEnd(link);
  }
  fabric_.cm().OnEnd(link);
}

FarPorts::Found FabricEnds::Find(const sockaddr& address,
                                 std::shared_ptr<FarLink>* link) {
  switch (wire_.Find(address, link)) {
    case wire::Wire::Found::kLink:
      return Found::kLink;
    case wire::Wire::Found::kSilent:
      return Found::kNoAnswer;
    case wire::Wire::Found::kNobody:
      break;
  }
  return Found::kNobody;
}

int FabricEnds::Claim(const sockaddr& address) { return wire_.Claim(address); }

void FabricEnds::Release(const sockaddr& address) { wire_.Release(address); }

}  // namespace rpma::emu
