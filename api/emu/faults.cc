// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of librpma_emu.h on faults.

#include <librpma.h>
#include <librpma_emu.h>

#include <string>

#include "api/boundary.h"
#include "api/emu/fabrics.h"
#include "core/log.h"

using rpma::Network;
using rpma::Rc;

int rpma_emu_set_faults(rpma_emu_fabric* fabric, const char* plan) {
  return rpma::OnNetwork(fabric, [&](Network& network) {
    if (plan == nullptr) {
      network.faults().Clear();
      return Rc::kOk;
    }
    std::string why;
    const int error = network.faults().Set(plan, &why);
    return rpma::Check(error, "rpma_emu_set_faults()", why);
  });
}

int rpma_emu_get_fault_counts(rpma_emu_fabric* fabric,
                              rpma_emu_fault_counts* counts) {
  RPMA_REQUIRE(counts != nullptr);
  return rpma::OnNetwork(fabric, [&](Network& network) {
    *counts = network.faults().Counts();
    return Rc::kOk;
  });
}

int rpma_emu_get_fired(rpma_emu_fabric* fabric, size_t rule, uint64_t* fired) {
  RPMA_REQUIRE(fired != nullptr);
  return rpma::OnNetwork(fabric, [&](Network& network) {
    if (network.faults().GetFired(rule, fired)) return Rc::kOk;
    RPMA_LOG(ERROR, "rpma_emu_get_fired(): the plan has no rule %zu", rule);
    return Rc::kInval;
  });
}

namespace {

Rc CheckReclaimed(bool all, const char* function) {
  if (all) return Rc::kOk;
  RPMA_LOG(ERROR,
           "%s(): objects that a failing call left alive are in use by objects "
           "of the program",
           function);
  return Rc::kInval;
}

}  // namespace

int rpma_emu_reclaim(rpma_emu_fabric* fabric) {
  return rpma::OnNetwork(fabric, [](Network& network) {
    return CheckReclaimed(network.faults().Reclaim(), "rpma_emu_reclaim");
  });
}

int rpma_emu_reclaim_all(rpma_emu_fabric* fabric) {
  return rpma::OnNetwork(fabric, [](Network& network) {
    return CheckReclaimed(network.faults().ReclaimAll(),
                          "rpma_emu_reclaim_all");
  });
}

int rpma_emu_inject(rpma_emu_fabric* fabric, const char* action) {
  RPMA_REQUIRE(action != nullptr);
  return rpma::OnNetwork(fabric, [&](Network& network) {
    std::string why;
    const int error = network.faults().Inject(action, &why);
    return rpma::Check(error, "rpma_emu_inject()", why);
  });
}
