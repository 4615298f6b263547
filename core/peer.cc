// SPDX-License-Identifier: BSD-3-Clause

#include "core/peer.h"

#include <sys/resource.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "core/device.h"
#include "core/log.h"
#include "core/mr_usage.h"

namespace rpma {
namespace {

Rc AllocPdFailure(const DeviceCaps& caps, Errno error) {
  RPMA_LOG(ERROR, "ibv_alloc_pd(device=%s) failed: %s", caps.name,
           log::Reason(error));
  if (error == Errno{ENOMEM}) return Rc::kNoMem;
  return error == Errno::kNoCause ? Rc::kUnknown : Rc::kProvider;
}

// Writes to `hint` what the user can do about a failed registration, if that
// can be told from here.
void RegMrHint(const DeviceCaps& caps, Errno error, char* hint, size_t size) {
  rlimit limit = {};
  if (error == Errno{EOPNOTSUPP} && !caps.odp_rc_read_write) {
    std::snprintf(hint, size,
                  "; this memory needs on-demand paging, which the device does "
                  "not have");
  } else if (error == Errno{ENOMEM} && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
             limit.rlim_cur != RLIM_INFINITY) {
    std::snprintf(hint, size,
                  "; the locked-memory limit of the process (RLIMIT_MEMLOCK, "
                  "ulimit -l) is %" PRIu64 " KiB",
                  static_cast<uint64_t>(limit.rlim_cur) / 1024);
  }
}

Rc RegMrFailure(const void* address, size_t size, int usage, uint32_t access,
                const DeviceCaps& caps, Errno error) {
  char hint[128] = "";
  RegMrHint(caps, error, hint, sizeof(hint));
  RPMA_LOG(ERROR,
           "ibv_reg_mr(addr=%p, length=%zu, usage=0x%x, access=0x%x) failed: "
           "%s; device %s takes regions of up to %" PRIu64 " bytes%s",
           address, size, static_cast<unsigned>(usage), access,
           log::Reason(error), caps.name, caps.max_mr_size, hint);
  return Rc::kProvider;
}

}  // namespace

Rc Peer::Create(Transport& transport, ibv_context* context,
                std::unique_ptr<Peer>* out) {
  std::unique_ptr<Peer> peer(new Peer(transport, context));
  const Rc rc = QueryCaps(transport, context, &peer->caps_);
  if (rc != Rc::kOk) return rc;

  ibv_pd* pd = nullptr;
  const Errno error = transport.AllocPd(context, &pd);
  if (error != Errno::kOk) return AllocPdFailure(peer->caps_, error);
  peer->pd_ = OwnedPd(transport, pd);
  *out = std::move(peer);
  return Rc::kOk;
}

Rc Peer::RegisterMemory(void* address, size_t size, int usage,
                        OwnedMr* out) const {
  uint32_t access = AccessFor(usage, caps_);
  for (;;) {
    ibv_mr* mr = nullptr;
    const Errno error = transport_.RegMr(pd_.get(), address, size, access, &mr);
    if (error == Errno::kOk) {
      *out = OwnedMr(transport_, mr);
      return Rc::kOk;
    }
    const bool cannot_pin = error == Errno{EOPNOTSUPP};
    const bool cannot_write = error == Errno{EFAULT} || error == Errno{EACCES};
    if (cannot_pin && caps_.odp_rc_read_write && !(access & kMrOnDemand)) {
      access |= kMrOnDemand;
    } else if (cannot_write && (access & kMrLocalWrite) &&
               !NeedsLocalWrite(usage)) {
      access &= ~uint32_t{kMrLocalWrite};
    } else {
      return RegMrFailure(address, size, usage, access, caps_, error);
    }
  }
}

}  // namespace rpma
