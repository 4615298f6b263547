// SPDX-License-Identifier: BSD-3-Clause
// A world of emulated RDMA devices: their addresses, routes and timers, and the
// connection manager between them.

#ifndef RPMA_EMULATOR_FABRIC_H_
#define RPMA_EMULATOR_FABRIC_H_

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "emulator/connection_manager.h"
#include "emulator/device.h"

namespace rpma::emu {

// Receives what the emulator has to say; `level` as in syslog(3).
using LogSink = void (*)(int level, const char* text);

// Options are text, "name=value" separated by spaces or commas, for example
// "profile=iwarp max_cqe=16". emulator/options.h lists the names. An unknown
// name, a value out of range or a name given twice is refused: EINVAL, and
// *error says which and what is allowed.
class Fabric final : private DeviceEnvironment {
 public:
  // A fabric with one device, "emu0", which owns the loopback addresses and
  // every address of this host (unless strict_devices=on: the latter only).
  static int Create(std::string_view options, std::unique_ptr<Fabric>* fabric,
                    std::string* error);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  ~Fabric() override;  // REQUIRES: no live objects

  int AddDevice(std::string_view name, std::string_view options,
                std::string* error);
  // `address`, a numeric IPv4 or IPv6 address, belongs to `device` from now on.
  int AddAddress(std::string_view address, std::string_view device,
                 std::string* error);
  // Connections to `address` leave through `device`. An address with a route
  // but no owner is a host that never answers.
  int AddRoute(std::string_view address, std::string_view device,
               std::string* error);

  Device* FindDevice(std::string_view name);
  Device* FindDevice(const ibv_context* context);
  Device* FindDeviceOfQp(uint32_t qp_num);
  ConnectionManager& cm();

  // Name resolution of this host (getaddrinfo(3)) as an rdma_addrinfo. Returns
  // 0, a positive errno or a negative EAI_* code.
  int GetAddrInfo(const char* node, const char* service, bool passive,
                  rdma_addrinfo** info);
  static void FreeAddrInfo(rdma_addrinfo* info);

  struct Census {
    ObjectCensus verbs;  // summed over the devices
    ConnectionManager::Census cm;
  };
  Census TakeCensus() const;

  void SetLogSink(LogSink sink);

  // For the connection manager.
  Device* DeviceOwning(const sockaddr* address);
  Device* DeviceTowards(const sockaddr* destination);
  int empty_channel_errno() const;
  TimerQueue& timers() override;
  std::chrono::nanoseconds Scale(std::chrono::nanoseconds time) override;
  void Log(int level, const char* text) override;

 private:
  Fabric();
  void QueuePairFailed(uint32_t qp_num) override;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_FABRIC_H_
