// SPDX-License-Identifier: BSD-3-Clause
// The names that stand for values in a plan of faults.

#ifndef RPMA_BACKENDS_FAULT_PLAN_NAMES_H_
#define RPMA_BACKENDS_FAULT_PLAN_NAMES_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "backends/fault/call_fault.h"
#include "emulator/faults.h"

namespace rpma::fault {

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

template <typename T, size_t kSize>
bool FindValue(const Named<T> (&table)[kSize], std::string_view name,
               T* value) {
  for (const Named<T>& each : table) {
    if (each.name != name) continue;
    *value = each.value;
    return true;
  }
  return false;
}

// Empty if the table does not have the value.
template <typename T, size_t kSize>
std::string_view FindName(const Named<T> (&table)[kSize], T value) {
  for (const Named<T>& each : table) {
    if (each.value == value) return each.name;
  }
  return {};
}

// "a, b, c"
template <typename T, size_t kSize>
std::string NamesIn(const Named<T> (&table)[kSize]) {
  std::string names;
  for (const Named<T>& each : table) {
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return names;
}

inline constexpr Named<Outcome> kOutcomes[] = {
    {"freed", Outcome::kFreed},
    {"excess", Outcome::kExcess},
};

inline constexpr Named<emu::FaultAction> kFaultVerbs[] = {
    {"complete", emu::FaultAction::kComplete},
    {"drop", emu::FaultAction::kDrop},
    {"delay", emu::FaultAction::kDelay},
    {"duplicate", emu::FaultAction::kDuplicate},
    {"rnr", emu::FaultAction::kRnr},
    {"event", emu::FaultAction::kShowEventAs},
    {"foreign_cq", emu::FaultAction::kForeignCq},
    {"overrun", emu::FaultAction::kOverrun},
    {"link", emu::FaultAction::kLink},
    {"exit", emu::FaultAction::kExit},
    {"power", emu::FaultAction::kPowerOff},
    {"remove", emu::FaultAction::kRemove},
};

inline constexpr Named<emu::FaultSite> kRequests[] = {
    {"send", emu::FaultSite::kSend},
    {"write", emu::FaultSite::kWrite},
    {"read", emu::FaultSite::kRead},
    {"atomic_write", emu::FaultSite::kAtomicWrite},
    {"flush", emu::FaultSite::kFlush},
    {"any", emu::FaultSite::kAnyRequest},
};

inline constexpr Named<emu::FaultSite> kReceives[] = {
    {"recv", emu::FaultSite::kReceive},
};

inline constexpr Named<emu::FaultSite> kMessages[] = {
    {"REQ", emu::FaultSite::kReq},   {"REP", emu::FaultSite::kRep},
    {"RTU", emu::FaultSite::kRtu},   {"REJ", emu::FaultSite::kRej},
    {"DREQ", emu::FaultSite::kDreq}, {"DREP", emu::FaultSite::kDrep},
};

inline constexpr Named<bool> kResponse[] = {
    {"request", false},
    {"response", true},
};

inline constexpr Named<bool> kLinkUp[] = {{"down", false}, {"up", true}};

// The headers' names without these prefixes, which a plan may have or not.
inline constexpr std::string_view kStatusPrefix = "IBV_WC_";
inline constexpr std::string_view kEventPrefix = "RDMA_CM_EVENT_";

inline constexpr Named<ibv_wc_status> kStatuses[] = {
    {"LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR},
    {"LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR},
    {"LOC_EEC_OP_ERR", IBV_WC_LOC_EEC_OP_ERR},
    {"LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR},
    {"WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR},
    {"MW_BIND_ERR", IBV_WC_MW_BIND_ERR},
    {"BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR},
    {"LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR},
    {"REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR},
    {"REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR},
    {"REM_OP_ERR", IBV_WC_REM_OP_ERR},
    {"RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR},
    {"RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR},
    {"LOC_RDD_VIOL_ERR", IBV_WC_LOC_RDD_VIOL_ERR},
    {"REM_INV_RD_REQ_ERR", IBV_WC_REM_INV_RD_REQ_ERR},
    {"REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR},
    {"INV_EECN_ERR", IBV_WC_INV_EECN_ERR},
    {"INV_EEC_STATE_ERR", IBV_WC_INV_EEC_STATE_ERR},
    {"FATAL_ERR", IBV_WC_FATAL_ERR},
    {"RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR},
    {"GENERAL_ERR", IBV_WC_GENERAL_ERR},
    {"TM_ERR", IBV_WC_TM_ERR},
    {"TM_RNDV_INCOMPLETE", IBV_WC_TM_RNDV_INCOMPLETE},
};

inline constexpr Named<rdma_cm_event_type> kEvents[] = {
    {"ADDR_RESOLVED", RDMA_CM_EVENT_ADDR_RESOLVED},
    {"ADDR_ERROR", RDMA_CM_EVENT_ADDR_ERROR},
    {"ROUTE_RESOLVED", RDMA_CM_EVENT_ROUTE_RESOLVED},
    {"ROUTE_ERROR", RDMA_CM_EVENT_ROUTE_ERROR},
    {"CONNECT_REQUEST", RDMA_CM_EVENT_CONNECT_REQUEST},
    {"CONNECT_RESPONSE", RDMA_CM_EVENT_CONNECT_RESPONSE},
    {"CONNECT_ERROR", RDMA_CM_EVENT_CONNECT_ERROR},
    {"UNREACHABLE", RDMA_CM_EVENT_UNREACHABLE},
    {"REJECTED", RDMA_CM_EVENT_REJECTED},
    {"ESTABLISHED", RDMA_CM_EVENT_ESTABLISHED},
    {"DISCONNECTED", RDMA_CM_EVENT_DISCONNECTED},
    {"DEVICE_REMOVAL", RDMA_CM_EVENT_DEVICE_REMOVAL},
    {"MULTICAST_JOIN", RDMA_CM_EVENT_MULTICAST_JOIN},
    {"MULTICAST_ERROR", RDMA_CM_EVENT_MULTICAST_ERROR},
    {"ADDR_CHANGE", RDMA_CM_EVENT_ADDR_CHANGE},
    {"TIMEWAIT_EXIT", RDMA_CM_EVENT_TIMEWAIT_EXIT},
};

// The largest first.
inline constexpr Named<std::chrono::nanoseconds> kTimeUnits[] = {
    {"s", std::chrono::seconds(1)},
    {"ms", std::chrono::milliseconds(1)},
    {"us", std::chrono::microseconds(1)},
    {"ns", std::chrono::nanoseconds(1)},
};

inline constexpr std::string_view kAny = "any";
inline constexpr std::string_view kNoCauseName = "none";

// The names of all calls that can fail.
std::string NamesOfCalls();

// EIO and so on, as in <errno.h>.
std::optional<Errno> FindErrno(std::string_view name);
std::string_view NameOfErrno(Errno error);

}  // namespace rpma::fault

#endif  // RPMA_BACKENDS_FAULT_PLAN_NAMES_H_
