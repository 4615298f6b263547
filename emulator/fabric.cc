// SPDX-License-Identifier: BSD-3-Clause
// A fabric: the devices, addresses and timers under one connection manager.

#include "emulator/fabric.h"

#include <cerrno>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "emulator/far_ends.h"

namespace rpma::emu {
namespace {

constexpr char kFirstDevice[] = "emu0";
constexpr char kOutOfMemory[] = "out of memory";  // fits without allocating

// nullptr if it was removed.
Device* Present(Device* device) {
  return device == nullptr || device->health().IsRemoved() ? nullptr : device;
}

}  // namespace

int Fabric::Create(std::string_view options, std::unique_ptr<Fabric>* fabric,
                   std::string* error, std::string_view name) try {
  Options parsed;
  int failed = ParseOptions(options, OptionScope::kFabric, &parsed, error);
  if (failed != 0) return failed;
  std::unique_ptr<Fabric> made(new Fabric(parsed.fabric));
  made->cm_ = std::make_unique<ConnectionManager>(*made);
  failed = made->OpenTrace(error);
  if (failed != 0) return failed;
  failed = made->AddDevice(kFirstDevice, parsed.device, error);
  if (failed != 0) return failed;
  Device* const first = made->FindDevice(kFirstDevice);
  if (!parsed.fabric.strict_devices) made->addresses_.AddLoopback(first);
  failed = made->addresses_.AddHost(first);
  if (failed != 0) {
    *error = "cannot read the addresses of this host";
    return failed;
  }
  if (!parsed.fabric.name.empty()) name = parsed.fabric.name;
  if (!parsed.fabric.stepped) made->Meet(name);
  *fabric = std::move(made);
  return 0;
} catch (const std::bad_alloc&) {
  *error = kOutOfMemory;
  return ENOMEM;
}

void Fabric::Meet(std::string_view name) {
  if (name.empty() || name == kPrivateFabric) return;
  ends_ = std::make_unique<FabricEnds>(*this, options_.directory,
                                       std::string(name));
  cm_->SetFarPorts(ends_.get());
}

Fabric::Fabric(const FabricOptions& options)
    : options_(options),
      timers_(options.stepped ? ClockKind::kVirtual : ClockKind::kReal) {
  if (!options.stepped) return;
  scheduler_ = std::make_unique<Scheduler>(
      options.seed, timers_,
      [this](int level, const char* text) { Log(level, text); });
}

Fabric::~Fabric() {
  timers_.Stop();
  ends_.reset();
  cm_.reset();
}

int Fabric::OpenTrace(std::string* error) {
  if (options_.trace.empty()) return 0;
  const int failed = scheduler_->trace().WriteTo(options_.trace);
  if (failed != 0) {
    *error = "cannot write the trace to " + options_.trace + ": " +
             std::generic_category().message(failed);
  }
  return failed;
}

int Fabric::AddDevice(std::string_view name, std::string_view options,
                      std::string* error) try {
  Options parsed;
  const int failed =
      ParseOptions(options, OptionScope::kDevice, &parsed, error);
  return failed != 0 ? failed : AddDevice(name, parsed.device, error);
} catch (const std::bad_alloc&) {
  *error = kOutOfMemory;
  return ENOMEM;
}

int Fabric::AddDevice(std::string_view name, const Profile& profile,
                      std::string* error) try {
  const std::unique_lock lock(mutex_);
  for (const auto& device : devices_) {
    if (device->name() != name) continue;
    *error = "there is a device \"" + std::string(name) + "\" already";
    return EEXIST;
  }
  if (devices_.size() == kMaxDevices) {
    *error = "a fabric takes up to " + std::to_string(kMaxDevices) + " devices";
    return EINVAL;
  }
  DeviceEnvironment& environment = *this;
  devices_.push_back(std::make_unique<Device>(
      std::string(name), profile, static_cast<uint32_t>(devices_.size()),
      environment));
  return 0;
} catch (const std::system_error& failure) {
  *error = failure.what();
  return failure.code().value();
}

int Fabric::Resolve(std::string_view address, std::string_view device,
                    IpAddress* ip, Device** found, std::string* error) {
  if (!ParseIp(address, ip)) {
    *error =
        "\"" + std::string(address) + "\" is no numeric IPv4 or IPv6 address";
    return EINVAL;
  }
  *found = FindDevice(device);
  if (*found == nullptr) {
    *error = "there is no device \"" + std::string(device) + "\"";
    return ENODEV;
  }
  return 0;
}

int Fabric::AddAddress(std::string_view address, std::string_view device,
                       std::string* error) try {
  IpAddress ip;
  Device* owner = nullptr;
  const int failed = Resolve(address, device, &ip, &owner, error);
  if (failed != 0) return failed;
  const std::unique_lock lock(mutex_);
  addresses_.AddOwner(ip, owner);
  return 0;
} catch (const std::bad_alloc&) {
  *error = kOutOfMemory;
  return ENOMEM;
}

int Fabric::AddRoute(std::string_view address, std::string_view device,
                     std::string* error) try {
  IpAddress ip;
  Device* through = nullptr;
  const int failed = Resolve(address, device, &ip, &through, error);
  if (failed != 0) return failed;
  const std::unique_lock lock(mutex_);
  addresses_.AddRoute(ip, through);
  return 0;
} catch (const std::bad_alloc&) {
  *error = kOutOfMemory;
  return ENOMEM;
}

Device* Fabric::FindDevice(std::string_view name) {
  const std::shared_lock lock(mutex_);
  for (const auto& device : devices_) {
    if (device->name() == name) return device.get();
  }
  return nullptr;
}

Device* Fabric::DeviceAt(size_t index) {
  const std::shared_lock lock(mutex_);
  return index < devices_.size() ? devices_[index].get() : nullptr;
}

Device* Fabric::FindDevice(const ibv_context* context) {
  const std::shared_lock lock(mutex_);
  for (const auto& device : devices_) {
    if (device->context() == context) return device.get();
  }
  return nullptr;
}

Device* Fabric::FindDeviceOfQp(uint32_t qp_num) {
  const std::shared_lock lock(mutex_);
  for (const auto& device : devices_) {
    if (device->FindQp(qp_num) != nullptr) return device.get();
  }
  return nullptr;
}

ConnectionManager& Fabric::cm() { return *cm_; }

Fabric::Census Fabric::TakeCensus() const {
  Census census;
  census.cm = cm_->TakeCensus();
  const std::shared_lock lock(mutex_);
  for (const auto& device : devices_) {
    const ObjectCensus objects = device->Census();
    census.verbs.pds += objects.pds;
    census.verbs.mrs += objects.mrs;
    census.verbs.comp_channels += objects.comp_channels;
    census.verbs.cqs += objects.cqs;
    census.verbs.srqs += objects.srqs;
    census.verbs.qps += objects.qps;
  }
  return census;
}

void Fabric::SetLogSink(LogSink sink) { log_sink_ = sink; }

Device* Fabric::DeviceOwning(const sockaddr& address) {
  const std::shared_lock lock(mutex_);
  return Present(addresses_.Owner(IpOf(address)));
}

Device* Fabric::DeviceTowards(const sockaddr& destination,
                              sockaddr_storage* source) {
  const IpAddress ip = IpOf(destination);
  const std::shared_lock lock(mutex_);
  Device* const device = Present(addresses_.Towards(ip));
  if (device == nullptr) return nullptr;
  const bool is_local = addresses_.Owner(ip) == device;
  ToSocketAddress(is_local ? ip : addresses_.AnyOf(device, ip.family), source);
  return device;
}

int Fabric::empty_channel_errno() const { return options_.empty_channel_errno; }

TimerQueue& Fabric::timers() { return timers_; }

std::chrono::nanoseconds Fabric::Scale(std::chrono::nanoseconds time) {
  constexpr int kInlineDivisor = 1000;
  return options_.hardware_timers ? time : time / kInlineDivisor;
}

void Fabric::Log(int level, const char* text) {
  const LogSink sink = log_sink_;
  if (sink != nullptr) sink(level, text);
}

int Fabric::SetFaults(std::vector<Fault> faults, std::string* error) try {
  return faults_.Set(
      std::move(faults),
      [this](std::string_view name) { return FindDevice(name); }, error);
} catch (const std::bad_alloc&) {
  *error = kOutOfMemory;
  return ENOMEM;
}

void Fabric::ClearFaults() { faults_.Clear(); }

FaultCounts Fabric::fault_counts() const { return faults_.counts(); }

uint64_t Fabric::FaultFired(size_t index) const { return faults_.fired(index); }

int Fabric::Inject(const Fault& action, std::string* error) try {
  const int failed = faults_.Inject(
      action, [this](std::string_view name) { return FindDevice(name); },
      error);
  if (failed == 0) FinishDeviceFaults();
  return failed;
} catch (const std::bad_alloc&) {
  *error = kOutOfMemory;
  return ENOMEM;
}

FaultInjector& Fabric::faults() { return faults_; }

void Fabric::QueuePairFailed(uint32_t qp_num) { cm_->QueuePairFailed(qp_num); }

}  // namespace rpma::emu
