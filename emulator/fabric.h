// SPDX-License-Identifier: BSD-3-Clause
// A world of emulated RDMA devices: their addresses, routes and timers, and the
// connection manager between them.

#ifndef RPMA_EMULATOR_FABRIC_H_
#define RPMA_EMULATOR_FABRIC_H_

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/addresses.h"
#include "emulator/connection_manager.h"
#include "emulator/device.h"
#include "emulator/faults.h"
#include "emulator/options.h"
#include "emulator/scheduler.h"
#include "emulator/timer.h"

namespace rpma::emu {

class FabricEnds;

// The device's index has 8 of the 24 bits of a QP number.
inline constexpr size_t kMaxDevices = 256;

// Receives what the emulator has to say; `level` as in syslog(3).
using LogSink = void (*)(int level, const char* text);

// Options are text, "name=value" separated by spaces or commas, for example
// "profile=iwarp max_cqe=16". emulator/options.h lists the names. An unknown
// name, a value out of range or a name given twice is refused: EINVAL, and
// *error says which and what is allowed.
class Fabric final : private DeviceEnvironment {
 public:
  // A fabric with one device, "emu0", which owns the loopback addresses and
  // every address of this host (unless strict_devices=on: the latter only). The
  // options may be those of the fabric and of that device. EINVAL, ENOMEM, or
  // an errno of getifaddrs(3), eventfd(2), mmap(2) or, for the file of the
  // trace, open(2); *error says why.
  //
  // It is one with the fabrics of other processes that have the same name:
  // that of the options or, if they say nothing and it is not stepped, `name`.
  // An empty one: it is in this process only.
  static int Create(std::string_view options, std::unique_ptr<Fabric>* fabric,
                    std::string* error, std::string_view name = {});
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  ~Fabric() override;  // REQUIRES: no live objects (TakeCensus)

  // EINVAL: the options, or kMaxDevices are there; EEXIST: the name is taken;
  // ENOMEM, EMFILE, ENFILE.
  int AddDevice(std::string_view name, std::string_view options,
                std::string* error);
  // `address`, a numeric IPv4 or IPv6 address, belongs to `device` from now on.
  // EINVAL: it is none; ENODEV: no such device; ENOMEM. The same for
  // AddRoute().
  int AddAddress(std::string_view address, std::string_view device,
                 std::string* error);
  // Connections to `address` leave through `device`. An address with a route
  // but no owner is a host that never answers.
  int AddRoute(std::string_view address, std::string_view device,
               std::string* error);

  Device* FindDevice(std::string_view name);
  Device* FindDevice(const ibv_context* context);
  Device* FindDeviceOfQp(uint32_t qp_num);
  // Of the first devices, 0 and so on; nullptr: there are fewer.
  Device* DeviceAt(size_t index);
  ConnectionManager& cm();

  struct Census {
    ObjectCensus verbs;  // summed over the devices
    ConnectionManager::Census cm;
  };
  Census TakeCensus() const;

  // Replaces the faults, and counts from 0. If several act on one message,
  // event or completion, the first in the list does. An empty list: counts
  // only. What faults did to devices before stays. EINVAL: no such device, or
  // a fault that contradicts itself; ENOMEM. On failure nothing changes.
  int SetFaults(std::vector<Fault> faults, std::string* error);
  // No faults, as at first: nothing is counted, and counts are 0.
  void ClearFaults();
  FaultCounts fault_counts() const;
  // How often the fault of this index acted; 0: there is none.
  uint64_t FaultFired(size_t index) const;
  // One of the actions on a device (kLink, kExit, kPowerOff, kRemove), at once.
  // EINVAL: another action, no such device; ENOMEM.
  int Inject(const Fault& action, std::string* error);

  // nullptr, as at first: nobody listens.
  void SetLogSink(LogSink sink);

  // For the connection manager. REQUIRES: an IPv4 or IPv6 address. nullptr: no
  // device.
  Device* DeviceOwning(const sockaddr& address);
  // Writes to *source an address, with port 0, from which the device sends.
  Device* DeviceTowards(const sockaddr& destination, sockaddr_storage* source);
  int empty_channel_errno() const;
  TimerQueue& timers() override;
  Scheduler* scheduler() override { return scheduler_.get(); }
  std::chrono::nanoseconds Scale(std::chrono::nanoseconds time) override;
  void Log(int level, const char* text) override;
  FaultInjector& faults() override;
  std::atomic<Progress*>& progress() override { return progress_; }
  void FinishDeviceFaults() override;

 private:
  explicit Fabric(const FabricOptions& options);
  void QueuePairFailed(uint32_t qp_num) override;

  int OpenTrace(std::string* error);
  void Meet(std::string_view name);  // throws std::bad_alloc
  int AddDevice(std::string_view name, const Profile& profile,
                std::string* error);
  void Report(const Device& device, const char* what);
  int Resolve(std::string_view address, std::string_view device, IpAddress* ip,
              Device** found, std::string* error);

  const FabricOptions options_;
  std::atomic<LogSink> log_sink_ = nullptr;
  TimerQueue timers_;
  std::unique_ptr<Scheduler> scheduler_;  // of a stepped fabric
  FaultInjector faults_{*this};
  std::atomic<Progress*> progress_ = nullptr;
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;  // guarded by mutex_
  AddressTable addresses_;                        // guarded by mutex_
  std::unique_ptr<ConnectionManager> cm_;
  std::unique_ptr<FabricEnds> ends_;  // nullptr: it is in this process only
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_FABRIC_H_
