// SPDX-License-Identifier: BSD-3-Clause
// The emulated world of one test: a fresh fabric, selected while it lives.

#ifndef RPMA_TESTS_SUPPORT_EMULATION_H_
#define RPMA_TESTS_SUPPORT_EMULATION_H_

#include <librpma_emu.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rpma::test {

class Emulation {
 public:
  // `options` of the fabric and its device, as in "max_cqe=16 reads=late".
  Emulation(const std::string& profile, const std::string& options);
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;
  ~Emulation();

  rpma_emu_fabric* fabric() const { return fabric_; }

  // A further device, with options as in "max_cqe=16", which owns `address`.
  void AddDevice(const std::string& name, const std::string& options,
                 const std::string& address);
  // A host that never answers: a route leads to it, but nobody owns it.
  void AddSilentHost(const std::string& address) { AddRoute(address); }
  // Connections to `address` leave through the first device.
  void AddRoute(const std::string& address);

  // From now on the fabric's faults are those of `plan`.
  void SetFaults(const std::string& plan);
  // How often a rule of the plan, from 0, has fired.
  uint64_t Fired(size_t rule) const;

  // Destroys what librpma gave up as its destruction failed.
  void Reclaim();

  // Why the last request of a queue pair failed; "" if none did.
  std::string Explain(uint32_t qp_num) const;

  // Makes one step of the stepped world that lives. False: none does, or
  // nothing can move.
  static bool Step();
  // Whether one lives.
  static bool IsStepped() { return stepped_ != nullptr; }

 private:
  static rpma_emu_fabric* stepped_;

  rpma_emu_fabric* fabric_ = nullptr;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_EMULATION_H_
