// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of librpma_emu.h on stepped fabrics.

#include <librpma.h>
#include <librpma_emu.h>

#include <cerrno>
#include <new>

#include "api/boundary.h"
#include "api/emu/fabrics.h"
#include "core/log.h"
#include "emulator/scheduler.h"

namespace rpma {
namespace {

// Runs `body`, a function from emu::Scheduler& to Rc, on a stepped fabric.
template <typename Body>
int OnScheduler(rpma_emu_fabric* fabric, const char* call, Body body) {
  return OnNetwork(fabric, [&](Network& network) {
    emu::Scheduler* const scheduler = network.fabric().scheduler();
    if (scheduler != nullptr) return body(*scheduler);
    RPMA_LOG(ERROR, "%s: the fabric was not created with schedule=stepped",
             call);
    return Rc::kInval;
  });
}

// Runs `change`, a function from emu::Scheduler& to 0 or an errno, if there is
// a scheduler.
template <typename Change>
int ChangeThread(rpma_emu_fabric* fabric, const char* wrong, Change change) {
  return OnNetwork(fabric, [&](Network& network) {
    emu::Scheduler* const scheduler = network.fabric().scheduler();
    const int error = scheduler != nullptr ? change(*scheduler) : 0;
    if (error == ENOMEM) throw std::bad_alloc();
    if (error == 0) return Rc::kOk;
    RPMA_LOG(ERROR, "%s", wrong);
    return Rc::kInval;
  });
}

}  // namespace
}  // namespace rpma

using rpma::Rc;
using rpma::emu::Scheduler;

int rpma_emu_step(rpma_emu_fabric* fabric) {
  return rpma::OnScheduler(fabric, "rpma_emu_step()", [](Scheduler& scheduler) {
    return scheduler.Step() ? Rc::kOk : Rc::kNoEvent;
  });
}

int rpma_emu_get_trace_hash(rpma_emu_fabric* fabric, uint64_t* hash) {
  RPMA_REQUIRE(hash != nullptr);
  return rpma::OnScheduler(fabric, "rpma_emu_get_trace_hash()",
                           [&](Scheduler& scheduler) {
                             *hash = scheduler.trace().hash();
                             return Rc::kOk;
                           });
}

int rpma_emu_thread_attach(rpma_emu_fabric* fabric) {
  return rpma::ChangeThread(
      fabric, "rpma_emu_thread_attach(): the thread is attached already",
      [](Scheduler& scheduler) { return scheduler.AttachThread(); });
}

int rpma_emu_thread_detach(rpma_emu_fabric* fabric) {
  return rpma::ChangeThread(
      fabric, "rpma_emu_thread_detach(): the thread is not attached",
      [](Scheduler& scheduler) { return scheduler.DetachThread(); });
}
