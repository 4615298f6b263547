// SPDX-License-Identifier: BSD-3-Clause
//
// Which Transport a call uses. With the log (core/log.h), the only state that
// belongs to the process and not to an object.
//
// Rules, in this order:
//   1. An `ibv_context` belongs to the transport that made it, so every object
//      created on it does too: to an emulated fabric, or else to verbs, where
//      the program may have opened it itself.
//   2. Looking up a device (rpma_utils_get_ibv_context) uses the fabric chosen
//      with rpma_emu_fabric_select(), if there is one;
//   3. else what the environment variable RPMA_TRANSPORT names: "emulator", or
//      "verbs", the default. Neither is had while an emulator of another build
//      is in the process.
// The variable is read with secure_getenv(); if the process runs with raised
// privileges and it is therefore ignored, one WARNING says so.

#ifndef RPMA_API_PROCESS_H_
#define RPMA_API_PROCESS_H_

#include <cstdint>

#include "api/emulator_abi.h"
#include "core/rc.h"
#include "core/transport.h"

namespace rpma {

// Where the transports of emulated fabrics come from. The control side of the
// emulator (api/emu/fabrics.cc), which owns the fabrics and one transport for
// each, implements it and plugs in with RegisterEmulator() from a static
// initialiser, so that neither the core nor the entry points name a backend:
//
//   const bool registered = (rpma::RegisterEmulator(&TheSource()), true);
//
// Methods are called from any thread, holding no lock. Default() may throw
// std::bad_alloc; the others neither allocate nor throw.
class EmulatorSource {
 public:
  // The transport of the fabric that was selected explicitly, or nullptr.
  virtual Transport* Selected() = 0;
  // The transport of the default fabric, which the first call creates. nullptr:
  // it could not be created, which has been logged.
  virtual Transport* Default() = 0;
  // The transport whose device `context` is, or nullptr if it is none of ours.
  // `context` may be any pointer that a user passed as an ibv_context.
  virtual Transport* Of(const ibv_context* context) = 0;

 protected:
  ~EmulatorSource() = default;
};

// Installs the transport of real devices, which must live until the process
// ends; nullptr removes it. Called as RegisterEmulator() is, by api/verbs.
void RegisterVerbs(Transport* verbs);

// Installs `source`, which must live until the process ends; nullptr removes
// it. Safe to call before main(): the state is constant-initialised.
// librpma_emu.so.0 calls it in librpma.so.0, so they must agree on the classes
// that they share: `abi` is the caller's, which nobody passes by hand. If it is
// not the same, nothing is installed, and from then on CurrentTransport() fails
// unless a fabric of an emulator that fits is selected.
void RegisterEmulator(EmulatorSource* source, uint64_t abi = kEmulatorAbi);

// Installs what brings an emulator that is not linked in: `load` is called when
// one is asked for and none is registered. It loads the emulator, which
// registers itself, or logs why not and returns false. It may throw
// std::bad_alloc.
void RegisterEmulatorLoader(bool (*load)());

// The transport for looking up devices, by rules 2 and 3. kProvider, logged:
// the transport asked for is unknown, not part of this build, or failed to
// start; or an emulator of another build is in this process. May throw
// std::bad_alloc.
Rc CurrentTransport(Transport** transport);

// The transport `context` belongs to. kProvider, logged: it is no emulated
// device's, and verbs is not part of this build.
Rc TransportOf(const ibv_context* context, Transport** transport);

}  // namespace rpma

#endif  // RPMA_API_PROCESS_H_
