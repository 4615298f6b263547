// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of librpma_emu.h, and the fabrics they make.

#include <librpma.h>
#include <librpma_emu.h>
#include <syslog.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "api/boundary.h"
#include "api/process.h"
#include "backends/loopback/loopback_transport.h"
#include "core/log.h"
#include "core/rc.h"
#include "emulator/fabric.h"

// Its fabric and transport are replaced together, by a reset.
struct rpma_emu_fabric {
  explicit rpma_emu_fabric(std::unique_ptr<rpma::emu::Fabric> with)
      : fabric(std::move(with)),
        transport(
            std::make_unique<rpma::loopback::LoopbackTransport>(*fabric)) {}

  std::unique_ptr<rpma::emu::Fabric> fabric;
  std::unique_ptr<rpma::loopback::LoopbackTransport> transport;
};

namespace rpma {
namespace {

void LogOfFabric(int level, const char* text) {
  switch (level) {
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

// Turns what a call of the emulator gave into a result, and logs a failure.
Rc Check(int error, const char* call, const std::string& why) {
  if (error == 0) return Rc::kOk;
  if (error == ENOMEM) throw std::bad_alloc();
  RPMA_LOG(ERROR, "%s failed: %s", call, why.c_str());
  const bool invalid = error == EINVAL || error == EEXIST || error == ENODEV;
  return invalid ? Rc::kInval : Rc::kProvider;
}

Rc MakeFabric(const char* options, const char* call,
              std::unique_ptr<rpma_emu_fabric>* out) {
  std::unique_ptr<emu::Fabric> fabric;
  std::string why;
  const int error =
      emu::Fabric::Create(options != nullptr ? options : "", &fabric, &why);
  const Rc rc = Check(error, call, why);
  if (rc != Rc::kOk) return rc;
  fabric->SetLogSink(LogOfFabric);
  *out = std::make_unique<rpma_emu_fabric>(std::move(fabric));
  return Rc::kOk;
}

rpma_emu_census Count(const emu::Fabric& fabric) {
  const emu::Fabric::Census census = fabric.TakeCensus();
  return {.pds = census.verbs.pds,
          .mrs = census.verbs.mrs,
          .comp_channels = census.verbs.comp_channels,
          .cqs = census.verbs.cqs,
          .srqs = census.verbs.srqs,
          .qps = census.verbs.qps,
          .cm_ids = census.cm.ids,
          .event_channels = census.cm.event_channels,
          .unacked_events = census.cm.unacked_events};
}

// Whether nothing lives on the fabric; if not, says what.
bool Idle(const emu::Fabric& fabric, const char* call) {
  const rpma_emu_census n = Count(fabric);
  if (n.pds + n.mrs + n.comp_channels + n.cqs + n.srqs + n.qps + n.cm_ids +
          n.event_channels ==
      0) {
    return true;
  }
  RPMA_LOG(ERROR,
           "%s while objects live: %u PDs, %u MRs, %u completion channels, "
           "%u CQs, %u SRQs, %u QPs, %u CM ids, %u event channels; delete the "
           "connections, endpoints, regions and peers first",
           call, n.pds, n.mrs, n.comp_channels, n.cqs, n.srqs, n.qps, n.cm_ids,
           n.event_channels);
  return false;
}

// Every fabric of the process.
class Fabrics final : public EmulatorSource {
 public:
  // Lives until the process ends, so that destructors of static objects may
  // still use librpma.
  static Fabrics& Get() {
    static Fabrics* const fabrics = new Fabrics;
    return *fabrics;
  }

  rpma_emu_fabric* Add(std::unique_ptr<rpma_emu_fabric> fabric) {
    const std::lock_guard lock(mutex_);
    fabrics_.push_back(std::move(fabric));
    return fabrics_.back().get();
  }

  void Remove(const rpma_emu_fabric* fabric) {
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

  void Replace(rpma_emu_fabric* fabric, rpma_emu_fabric& with) {
    const std::lock_guard lock(mutex_);
    std::swap(fabric->fabric, with.fabric);
    std::swap(fabric->transport, with.transport);
  }

  void Select(rpma_emu_fabric* fabric) {
    const std::lock_guard lock(mutex_);
    selected_ = fabric;
  }

  // The fabric itself, or for nullptr the default one.
  Rc OrDefault(rpma_emu_fabric* fabric, rpma_emu_fabric** out) {
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
    std::unique_ptr<rpma_emu_fabric> made;
    const Rc rc = MakeFabric(secure_getenv("RPMA_EMU"),
                             "creating the default fabric (RPMA_EMU)", &made);
    if (rc != Rc::kOk) return rc;
    const std::lock_guard lock(mutex_);
    if (default_ == nullptr) {  // else another thread was faster
      fabrics_.push_back(std::move(made));
      default_ = fabrics_.back().get();
    }
    *out = default_;
    return Rc::kOk;
  }

  Transport* Selected() override {
    const std::lock_guard lock(mutex_);
    return selected_ != nullptr ? selected_->transport.get() : nullptr;
  }

  Transport* Default() override {
    rpma_emu_fabric* fabric = nullptr;
    if (OrDefault(nullptr, &fabric) != Rc::kOk) return nullptr;
    return fabric->transport.get();
  }

  Transport* Of(const ibv_context* context) override {
    const std::lock_guard lock(mutex_);
    for (const auto& each : fabrics_) {
      if (each->fabric->FindDevice(context) != nullptr) {
        return each->transport.get();
      }
    }
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<rpma_emu_fabric>> fabrics_;  // guarded by mutex_
  rpma_emu_fabric* selected_ = nullptr;
  rpma_emu_fabric* default_ = nullptr;
};

const bool registered = (RegisterEmulator(&Fabrics::Get()), true);

// Runs `body`, a function from emu::Fabric& to Rc, on the fabric or the default
// one, behind the exception barrier.
template <typename Body>
int OnFabric(rpma_emu_fabric* fabric, Body body) {
  return Guarded([&] {
    rpma_emu_fabric* found = nullptr;
    const Rc rc = Fabrics::Get().OrDefault(fabric, &found);
    return rc == Rc::kOk ? body(*found->fabric) : rc;
  });
}

}  // namespace
}  // namespace rpma

using rpma::Fabrics;
using rpma::Rc;
using rpma::emu::Fabric;

int rpma_emu_fabric_new(const char* options, rpma_emu_fabric** fabric_ptr) {
  RPMA_REQUIRE(fabric_ptr != nullptr);
  return rpma::Guarded([&] {
    std::unique_ptr<rpma_emu_fabric> fabric;
    const Rc rc = rpma::MakeFabric(options, "rpma_emu_fabric_new()", &fabric);
    if (rc == Rc::kOk) *fabric_ptr = Fabrics::Get().Add(std::move(fabric));
    return rc;
  });
}

int rpma_emu_fabric_delete(rpma_emu_fabric** fabric_ptr) {
  RPMA_REQUIRE(fabric_ptr != nullptr);
  if (*fabric_ptr == nullptr) return 0;
  if (!rpma::Idle(*(*fabric_ptr)->fabric, "rpma_emu_fabric_delete()")) {
    return RPMA_E_INVAL;
  }
  Fabrics::Get().Remove(*fabric_ptr);
  *fabric_ptr = nullptr;
  return 0;
}

int rpma_emu_fabric_reset(rpma_emu_fabric* fabric, const char* options) {
  constexpr char kCall[] = "rpma_emu_fabric_reset()";
  return rpma::Guarded([&] {
    rpma_emu_fabric* found = nullptr;
    Rc rc = Fabrics::Get().OrDefault(fabric, &found);
    if (rc != Rc::kOk) return rc;
    if (!rpma::Idle(*found->fabric, kCall)) return Rc::kInval;
    std::unique_ptr<rpma_emu_fabric> fresh;
    rc = rpma::MakeFabric(options, kCall, &fresh);
    if (rc == Rc::kOk) Fabrics::Get().Replace(found, *fresh);
    return rc;
  });
}

int rpma_emu_fabric_select(rpma_emu_fabric* fabric) {
  return rpma::Guarded([&] {
    rpma_emu_fabric* found = nullptr;
    const Rc rc = Fabrics::Get().OrDefault(fabric, &found);
    if (rc == Rc::kOk) Fabrics::Get().Select(found);
    return rc;
  });
}

int rpma_emu_device_add(rpma_emu_fabric* fabric, const char* name,
                        const char* options) {
  RPMA_REQUIRE(name != nullptr && *name != '\0');
  return rpma::OnFabric(fabric, [&](Fabric& on) {
    std::string why;
    const int error =
        on.AddDevice(name, options != nullptr ? options : "", &why);
    return rpma::Check(error, "rpma_emu_device_add()", why);
  });
}

int rpma_emu_address_add(rpma_emu_fabric* fabric, const char* address,
                         const char* device) {
  RPMA_REQUIRE(address != nullptr);
  RPMA_REQUIRE(device != nullptr);
  return rpma::OnFabric(fabric, [&](Fabric& on) {
    std::string why;
    const int error = on.AddAddress(address, device, &why);
    return rpma::Check(error, "rpma_emu_address_add()", why);
  });
}

int rpma_emu_route_add(rpma_emu_fabric* fabric, const char* address,
                       const char* device) {
  RPMA_REQUIRE(address != nullptr);
  RPMA_REQUIRE(device != nullptr);
  return rpma::OnFabric(fabric, [&](Fabric& on) {
    std::string why;
    const int error = on.AddRoute(address, device, &why);
    return rpma::Check(error, "rpma_emu_route_add()", why);
  });
}

int rpma_emu_get_census(const rpma_emu_fabric* fabric,
                        rpma_emu_census* census) {
  RPMA_REQUIRE(census != nullptr);
  auto* const counted = const_cast<rpma_emu_fabric*>(fabric);
  return rpma::OnFabric(counted, [&](const Fabric& on) {
    *census = rpma::Count(on);
    return Rc::kOk;
  });
}

int rpma_emu_explain(rpma_emu_fabric* fabric, uint32_t qp_num, char* text,
                     size_t size) {
  RPMA_REQUIRE(text != nullptr);
  RPMA_REQUIRE(size > 0);
  return rpma::OnFabric(fabric, [&](Fabric& on) {
    rpma::emu::Device* const device = on.FindDeviceOfQp(qp_num);
    const auto qp = device != nullptr ? device->FindQp(qp_num) : nullptr;
    if (qp == nullptr) {
      RPMA_LOG(ERROR, "rpma_emu_explain(): no queue pair has the number 0x%06x",
               qp_num);
      return Rc::kInval;
    }
    qp->Explain(text, size);
    return Rc::kOk;
  });
}

int rpma_emu_get_async_event(rpma_emu_fabric* fabric, ibv_context* context,
                             ibv_async_event* event) {
  RPMA_REQUIRE(event != nullptr);
  return rpma::OnFabric(fabric, [&](Fabric& on) {
    rpma::emu::Device* const device = on.FindDevice(context);
    if (device == nullptr) {
      RPMA_LOG(ERROR,
               "rpma_emu_get_async_event(): the context %p is no device of the "
               "fabric",
               static_cast<void*>(context));
      return Rc::kInval;
    }
    return device->GetAsyncEvent(event) == 0 ? Rc::kOk : Rc::kNoEvent;
  });
}
