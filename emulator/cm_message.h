// SPDX-License-Identifier: BSD-3-Clause
// Messages between the connection managers of two nodes (IBTA 12.6).

#ifndef RPMA_EMULATOR_CM_MESSAGE_H_
#define RPMA_EMULATOR_CM_MESSAGE_H_

#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "emulator/timer.h"

namespace rpma::emu {

class CmId;
class Device;

enum class CmMessageKind : uint8_t { kReq, kRep, kRtu, kRej, kDreq, kDrep };

// The parameters of a connection, with a copy of the private data.
class CmParam {
 public:
  CmParam() = default;
  CmParam(const CmParam& other) { *this = other; }
  explicit CmParam(const rdma_conn_param& param) { Set(param); }
  CmParam& operator=(const CmParam& other) {
    Set(other.param_);
    return *this;
  }

  const rdma_conn_param& operator*() const { return param_; }
  const rdma_conn_param* operator->() const { return &param_; }

 private:
  void Set(const rdma_conn_param& param);

  rdma_conn_param param_{};
  std::array<uint8_t, 255> data_;  // the length has 8 bits
};

// A message stays in one list node from list to list, none of which allocates.
struct CmMessage {
  CmMessageKind kind = CmMessageKind::kReq;
  // The ids at its ends. Expired: it is gone; never set: the node itself sends
  // it, and nobody knows yet to whom a REQ goes.
  std::weak_ptr<CmId> from;
  std::weak_ptr<CmId> to;
  Device* sender = nullptr;
  Device* receiver = nullptr;  // nullptr: no device owns the address
  CmParam param;               // of REQ and REP; of REJ the private data
  int reason = 0;              // of REJ
  uint64_t number = 0;         // in the order of sending

  // --- Under way because of a fault.
  TimerQueue::TimePoint due;
  bool is_sent_when_due = false;  // by TCP; else it arrives
  uint8_t tcp_tries = 0;
};

using CmMessages = std::list<CmMessage>;

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_CM_MESSAGE_H_
