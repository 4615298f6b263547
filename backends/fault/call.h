// SPDX-License-Identifier: BSD-3-Clause
// The calls of a Transport, each by the name of the provider call it stands
// for.

#ifndef RPMA_BACKENDS_FAULT_CALL_H_
#define RPMA_BACKENDS_FAULT_CALL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rpma::fault {

// One for each method of core/transport.h, with its name.
enum class Call : uint8_t {
  kPostSend,
  kPostRecv,
  kPostSrqRecv,
  kPostFlush,
  kPostAtomicWrite,
  kPollCq,
  kQueryDevice,
  kAllocPd,
  kDeallocPd,
  kRegMr,
  kDeregMr,
  kAdviseMr,
  kCreateCompChannel,
  kDestroyCompChannel,
  kCreateCq,
  kDestroyCq,
  kReqNotifyCq,
  kGetCqEvent,
  kCreateSrq,
  kDestroySrq,
  kGetAddrInfo,
  kCreateEventChannel,
  kGetCmEvent,
  kAckCmEvent,
  kCreateId,
  kDestroyId,
  kMigrateId,
  kBindAddr,
  kListen,
  kResolveAddr,
  kResolveRoute,
  kConnect,
  kAccept,
  kReject,
  kDisconnect,
  kCreateQp,
  kDestroyQp,
  // These cannot fail.
  kAckCqEvents,
  kFreeAddrInfo,
  kDestroyEventChannel,
};

inline constexpr size_t kCalls = 40;
inline constexpr size_t kCallsThatCanFail = 37;  // the first ones

constexpr bool CanFail(Call call) {
  return static_cast<size_t>(call) < kCallsThatCanFail;
}

// "ibv_post_send" and so on: the call that a log line of librpma names. The
// text is static.
std::string_view NameOf(Call call);

// Also knows rdma_destroy_qp, the manual pages' name of ibv_destroy_qp.
std::optional<Call> FindCall(std::string_view name);

// Whether the call ends an object or an event.
bool Frees(Call call);

// Whether the call can fail without a cause (Errno::kNoCause): its C function
// gives NULL or -1 and may leave errno alone, in place of returning an errno.
bool CanHaveNoCause(Call call);

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_CALL_H_
