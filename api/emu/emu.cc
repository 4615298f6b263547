// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of librpma_emu.h on fabrics, devices and what lives on them.

#include <librpma.h>
#include <librpma_emu.h>

#include <memory>
#include <string>
#include <utility>

#include "api/boundary.h"
#include "api/emu/fabrics.h"
#include "core/log.h"
#include "core/rc.h"
#include "emulator/fabric.h"

namespace rpma {
namespace {

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

// As OnNetwork(), for a body that needs the emulator only.
template <typename Body>
int OnFabric(rpma_emu_fabric* fabric, Body body) {
  return OnNetwork(fabric,
                   [&](Network& network) { return body(network.fabric()); });
}

}  // namespace
}  // namespace rpma

using rpma::Fabrics;
using rpma::Network;
using rpma::Rc;
using rpma::emu::Fabric;

int rpma_emu_fabric_new(const char* options, rpma_emu_fabric** fabric_ptr) {
  RPMA_REQUIRE(fabric_ptr != nullptr);
  return rpma::Guarded([&] {
    std::unique_ptr<Network> made;
    const Rc rc = rpma::MakeNetwork(options, "rpma_emu_fabric_new()", &made);
    if (rc == Rc::kOk) *fabric_ptr = Fabrics::Get().Add(std::move(made));
    return rc;
  });
}

int rpma_emu_fabric_delete(rpma_emu_fabric** fabric_ptr) {
  RPMA_REQUIRE(fabric_ptr != nullptr);
  if (*fabric_ptr == nullptr) return 0;
  if (!rpma::Idle((*fabric_ptr)->network->fabric(),
                  "rpma_emu_fabric_delete()")) {
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
    if (!rpma::Idle(found->network->fabric(), kCall)) return Rc::kInval;
    std::unique_ptr<Network> fresh;
    rc = rpma::MakeNetwork(options, kCall, &fresh);
    if (rc == Rc::kOk) Fabrics::Get().Replace(found, std::move(fresh));
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
