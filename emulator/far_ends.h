// SPDX-License-Identifier: BSD-3-Clause
// What a fabric has at its end of the links to other processes.

#ifndef RPMA_EMULATOR_FAR_ENDS_H_
#define RPMA_EMULATOR_FAR_ENDS_H_

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "emulator/far_link.h"
#include "emulator/wire/wire.h"

namespace rpma::emu {

class Device;
class Fabric;

// Data goes to the devices, all else to the connection manager.
class FabricEnds final : public FarEnds, public FarPorts {
 public:
  // Meets the fabrics of this name in the directory; empty: the user's. Throws
  // std::bad_alloc. REQUIRES: wire::IsFolderName(name).
  FabricEnds(Fabric& fabric, const std::string& directory,
             const std::string& name);

  const char* OnMessage(FarLink& link, const wire::Message& message,
                        std::span<const std::byte> payload) override;
  void OnRoom(FarLink& link) override;
  void OnEnd(FarLink& link) override;

  Found Find(const sockaddr& address, std::shared_ptr<FarLink>* link) override;
  int Claim(const sockaddr& address) override;
  void Release(const sockaddr& address) override;

 private:
  Fabric& fabric_;
  wire::Wire wire_;  // ends before what it calls
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_FAR_ENDS_H_
