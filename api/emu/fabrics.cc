// SPDX-License-Identifier: BSD-3-Clause
//
// The emulated fabrics of the process: created, selected, found, ended.

#include "api/emu/fabrics.h"

#include <librpma.h>
#include <syslog.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/log.h"

namespace rpma {
namespace {

// The default fabrics of a user's processes are one.
constexpr char kNameOfDefault[] = "default";

void LogOfFabric(int level, const char* text) {
  switch (level) {
    case LOG_CRIT:
      RPMA_LOG(FATAL, "%s", text);
      return;
    case LOG_ERR:
      RPMA_LOG(ERROR, "%s", text);
      return;
    case LOG_WARNING:
      RPMA_LOG(WARNING, "%s", text);
      return;
    default:
      RPMA_LOG(INFO, "%s", text);
  }
}

// The file of the default fabric's plan; nullptr: it has none.
const char* PlanOfEnvironment() {
  const char* const path = secure_getenv("RPMA_EMU_FAULTS");
  return path != nullptr && *path != '\0' ? path : nullptr;
}

// The default fabric, as the environment wants it.
Rc MakeDefault(std::unique_ptr<Network>* out) {
  std::unique_ptr<Network> made;
  const Rc rc = MakeNetwork(secure_getenv("RPMA_EMU"),
                            "creating the default fabric (RPMA_EMU)", &made,
                            kNameOfDefault);
  if (rc != Rc::kOk) return rc;
  if (const char* const path = PlanOfEnvironment()) {
    std::string why;
    const int error = made->faults().SetFromFile(path, &why);
    const Rc set =
        Check(error, "creating the default fabric (RPMA_EMU_FAULTS)", why);
    if (set != Rc::kOk) return set;
  }
  *out = std::move(made);
  return Rc::kOk;
}

const bool registered = (RegisterEmulator(&Fabrics::Get()), true);

}  // namespace

Network::Network(std::unique_ptr<emu::Fabric> fabric)
    : fabric_(std::move(fabric)),
      loopback_(*fabric_),
      transport_(loopback_),
      faults_(transport_, *fabric_) {}

Rc Check(int error, const char* call, const std::string& why) {
  if (error == 0) return Rc::kOk;
  if (error == ENOMEM) throw std::bad_alloc();
  RPMA_LOG(ERROR, "%s failed: %s", call, why.c_str());
  const bool invalid = error == EINVAL || error == EEXIST || error == ENODEV;
  return invalid ? Rc::kInval : Rc::kProvider;
}

Rc MakeNetwork(const char* options, const char* call,
               std::unique_ptr<Network>* out, const char* name) {
  std::unique_ptr<emu::Fabric> fabric;
  std::string why;
  const int error = emu::Fabric::Create(options != nullptr ? options : "",
                                        &fabric, &why, name);
  const Rc rc = Check(error, call, why);
  if (rc != Rc::kOk) return rc;
  fabric->SetLogSink(LogOfFabric);
  *out = std::make_unique<Network>(std::move(fabric));
  return Rc::kOk;
}

Fabrics& Fabrics::Get() {
  static Fabrics* const fabrics = new Fabrics;
  return *fabrics;
}

rpma_emu_fabric* Fabrics::Add(std::unique_ptr<Network> network) {
  const std::lock_guard lock(mutex_);
  return AddLocked(std::move(network));
}

rpma_emu_fabric* Fabrics::AddLocked(std::unique_ptr<Network> network) {
  auto fabric = std::make_unique<rpma_emu_fabric>();
  fabric->network = std::move(network);
  fabrics_.push_back(std::move(fabric));
  return fabrics_.back().get();
}

void Fabrics::Remove(const rpma_emu_fabric* fabric) {
  std::unique_ptr<rpma_emu_fabric> removed;  // ends without the lock
  const std::lock_guard lock(mutex_);
  if (selected_ == fabric) selected_ = nullptr;
  if (default_ == fabric) default_ = nullptr;
  const auto found =
      std::find_if(fabrics_.begin(), fabrics_.end(),
                   [&](const auto& each) { return each.get() == fabric; });
  if (found == fabrics_.end()) return;
  removed = std::move(*found);
  fabrics_.erase(found);
}

void Fabrics::Replace(rpma_emu_fabric* fabric,
                      std::unique_ptr<Network> network) {
  const std::lock_guard lock(mutex_);
  fabric->network.swap(network);  // the old one ends without the lock
}

void Fabrics::Select(rpma_emu_fabric* fabric) {
  const std::lock_guard lock(mutex_);
  selected_ = fabric;
}

Rc Fabrics::OrDefault(rpma_emu_fabric* fabric, rpma_emu_fabric** out) {
  if (fabric != nullptr) {
    *out = fabric;
    return Rc::kOk;
  }
  {
    const std::lock_guard lock(mutex_);
    *out = default_;
  }
  if (*out != nullptr) return Rc::kOk;
  // Without the lock, as a failure is logged, and the program's log function
  // may call librpma.
  std::unique_ptr<Network> made;
  const Rc rc = MakeDefault(&made);
  if (rc != Rc::kOk) return rc;
  const std::lock_guard lock(mutex_);
  if (default_ == nullptr) {  // else another thread was faster
    default_ = AddLocked(std::move(made));
    if (PlanOfEnvironment() != nullptr) {
      // The program knows nothing of the plan, so nobody else tells the user.
      static_cast<void>(std::atexit([] { Get().LogUnfiredOfDefault(); }));
    }
  }
  *out = default_;
  return Rc::kOk;
}

void Fabrics::LogUnfiredOfDefault() {
  rpma_emu_fabric* fabric = nullptr;
  {
    const std::lock_guard lock(mutex_);
    fabric = default_;
  }
  if (fabric != nullptr) fabric->network->faults().LogUnfired();
}

Transport* Fabrics::Selected() {
  const std::lock_guard lock(mutex_);
  return selected_ != nullptr ? &selected_->network->transport() : nullptr;
}

Transport* Fabrics::Default() {
  rpma_emu_fabric* fabric = nullptr;
  if (OrDefault(nullptr, &fabric) != Rc::kOk) return nullptr;
  return &fabric->network->transport();
}

Transport* Fabrics::Of(const ibv_context* context) {
  const std::lock_guard lock(mutex_);
  for (const auto& each : fabrics_) {
    if (each->network->fabric().FindDevice(context) != nullptr) {
      return &each->network->transport();
    }
  }
  return nullptr;
}

}  // namespace rpma
