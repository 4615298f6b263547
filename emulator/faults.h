// SPDX-License-Identifier: BSD-3-Clause
// The faults of a fabric as data: what goes wrong, and at which of the many
// requests, messages, events or completions.

#ifndef RPMA_EMULATOR_FAULTS_H_
#define RPMA_EMULATOR_FAULTS_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rpma::emu {

enum class FaultAction : uint8_t {
  // Of a request (`site` says of which) or of a receive.
  kComplete,  // with `status`, which is not SUCCESS; nothing happens at the
              // target
  // Of the message of a request, or of a CM message; of its answer if
  // `response` is set (requests only).
  kDrop,
  kDelay,  // by `time`
  kDuplicate,
  // For `time` from a SEND or WRITE_WITH_IMM on, responders answer RNR NAK.
  kRnr,
  // Of a CM event, `event`.
  kShowEventAs,  // `as`
  kEventAhead,   // of the unread events of its channel
  kDelayEvent,   // by `time`
  // Of a completion event, of a completion.
  kForeignCq,
  kOverrun,
  // Of `device`, just before a message of the fabric or at once.
  kLink,      // goes up or down (`link_up`), back after `time` if that is not 0
  kExit,      // the process on the node ends
  kPowerOff,  // the node is silent from now on
  kRemove,    // the device is removed
};

// What kComplete, kDrop, kDelay and kDuplicate are about.
enum class FaultSite : uint8_t {
  kNone,
  // --- Tries of requests. SEND and WRITE stand for those with immediate too.
  kSend,
  kWrite,
  kRead,
  kAtomicWrite,
  kFlush,
  kAnyRequest,
  // --- Receives that a message consumes (kComplete).
  kReceive,
  // --- Transmissions of CM messages.
  kReq,
  kRep,
  kRtu,
  kRej,
  kDreq,
  kDrep,
};

// One fault. Fields that its action has no use for are left as they are here.
struct Fault {
  FaultAction action = FaultAction::kDrop;
  FaultSite site = FaultSite::kNone;
  // It acts on the nth of those that fit (site, event, device), counted from 1
  // since the faults were set; with `from`, on all later ones too.
  uint64_t nth = 1;
  bool from = false;
  bool response = false;
  bool link_up = false;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::chrono::nanoseconds time{0};  // as on hardware; the fabric scales it
  rdma_cm_event_type event = RDMA_CM_EVENT_ADDR_RESOLVED;
  rdma_cm_event_type as = RDMA_CM_EVENT_ADDR_RESOLVED;
  // The name of a device. For requests and CM messages that of their sender,
  // for kReceive and kRnr that of the receiver; empty: any.
  std::string device = {};
  size_t rule = 0;  // its number in the plan, for explanations

  friend bool operator==(const Fault&, const Fault&) = default;
};

// How many of each kind there were since the faults were set.
struct FaultCounts {
  uint64_t requests = 0;     // tries of work requests
  uint64_t messages = 0;     // transmissions of CM messages
  uint64_t events = 0;       // CM events
  uint64_t completions = 0;  // of requests and receives
  uint64_t fired = 0;        // faults that acted
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_FAULTS_H_
