// SPDX-License-Identifier: BSD-3-Clause
//
// The emulated fabrics of the process, and what the functions of librpma_emu.h
// share.

#ifndef RPMA_API_EMU_FABRICS_H_
#define RPMA_API_EMU_FABRICS_H_

#include <librpma_emu.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/boundary.h"
#include "api/emu/fault_control.h"
#include "api/process.h"
#include "backends/fault/fault_injecting_transport.h"
#include "backends/loopback/loopback_transport.h"
#include "core/rc.h"
#include "emulator/fabric.h"

namespace rpma {

// What a fabric consists of; a reset replaces it as a whole.
class Network {
 public:
  explicit Network(std::unique_ptr<emu::Fabric> fabric);

  emu::Fabric& fabric() { return *fabric_; }
  const emu::Fabric& fabric() const { return *fabric_; }
  Transport& transport() { return transport_; }
  FaultControl& faults() { return faults_; }

 private:
  const std::unique_ptr<emu::Fabric> fabric_;
  loopback::LoopbackTransport loopback_;
  fault::FaultInjectingTransport transport_;
  FaultControl faults_;
};

}  // namespace rpma

struct rpma_emu_fabric {
  std::unique_ptr<rpma::Network> network;
};

namespace rpma {

// Turns what a call of the emulator gave, an errno, into a result, and logs a
// failure. Throws std::bad_alloc for ENOMEM.
Rc Check(int error, const char* call, const std::string& why);

// Creates a fabric; `call` names the caller in the log. `name`: as of
// emu::Fabric::Create().
Rc MakeNetwork(const char* options, const char* call,
               std::unique_ptr<Network>* out, const char* name = "");

// Every fabric of the process.
class Fabrics final : public EmulatorSource {
 public:
  // Lives until the process ends, so that destructors of static objects may
  // still use librpma.
  static Fabrics& Get();

  rpma_emu_fabric* Add(std::unique_ptr<Network> network);
  void Remove(const rpma_emu_fabric* fabric);
  void Replace(rpma_emu_fabric* fabric, std::unique_ptr<Network> network);
  void Select(rpma_emu_fabric* fabric);

  // The fabric itself, or for nullptr the default one.
  Rc OrDefault(rpma_emu_fabric* fabric, rpma_emu_fabric** out);

  Transport* Selected() override;
  Transport* Default() override;
  Transport* Of(const ibv_context* context) override;

 private:
  void LogUnfiredOfDefault();
  rpma_emu_fabric* AddLocked(std::unique_ptr<Network> network);

  std::mutex mutex_;
  std::vector<std::unique_ptr<rpma_emu_fabric>> fabrics_;  // guarded by mutex_
  rpma_emu_fabric* selected_ = nullptr;
  rpma_emu_fabric* default_ = nullptr;
};

// Runs `body`, a function from Network& to Rc, on the fabric or the default
// one, behind the exception barrier.
template <typename Body>
int OnNetwork(rpma_emu_fabric* fabric, Body body) {
  return Guarded([&] {
    rpma_emu_fabric* found = nullptr;
    const Rc rc = Fabrics::Get().OrDefault(fabric, &found);
    return rc == Rc::kOk ? body(*found->network) : rc;
  });
}

}  // namespace rpma

#endif  // RPMA_API_EMU_FABRICS_H_
