// SPDX-License-Identifier: BSD-3-Clause
// The ports that the fabrics of a folder are bound to.
//
// A claim is a file `PORT@IP`, or `PORT@any` for the wildcard addresses, with
// the token of the fabric that listens there.

#ifndef RPMA_EMULATOR_WIRE_CLAIMS_H_
#define RPMA_EMULATOR_WIRE_CLAIMS_H_

#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>

#include "emulator/wire/folder.h"
#include "emulator/wire/token.h"

namespace rpma::emu::wire {

// A wildcard address of either family stands for all addresses of both.
//
// Threads: safe from any. The addresses are IPv4 or IPv6, and have a port.
class Claims {
 public:
  // `patience`: how long it waits for others who change the folder.
  Claims(const Folder& folder, const Token& own,
         std::chrono::milliseconds patience = std::chrono::seconds(2))
      : folder_(folder), own_(own), patience_(patience) {}

  // Claims the port for the own fabric. EADDRINUSE: a fabric that lives has it
  // on this or on a wildcard address; EAGAIN: another process holds the lock of
  // the folder; or an errno of the file system. Unless it is 0 or EADDRINUSE,
  // *why says more. What a dead fabric claimed counts as free.
  int Claim(const sockaddr& address, std::string* why) const;
  // Does nothing if it is not claimed by the own fabric.
  void Release(const sockaddr& address) const;

  // The fabric, not the own one, that is bound to the address or to a wildcard.
  // It may be dead.
  std::optional<Token> Find(const sockaddr& address) const;
  // For who finds that nobody listens: removes what is left of it, if it is
  // dead.
  void Forget(const Token& token) const;

 private:
  bool IsTaken(const Folder::Lock& lock, const std::string& wanted) const;
  int Write(const std::string& name) const;

  const Folder& folder_;
  const Token own_;
  const std::chrono::milliseconds patience_;
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_CLAIMS_H_
