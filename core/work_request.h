// SPDX-License-Identifier: BSD-3-Clause
//
// Builds one work request on the caller's stack.

#ifndef RPMA_CORE_WORK_REQUEST_H_
#define RPMA_CORE_WORK_REQUEST_H_

#include <arpa/inet.h>
#include <librpma.h>

#include <cstddef>
#include <cstdint>

#include "core/mr_local.h"
#include "core/mr_remote.h"
#include "core/transport.h"

namespace rpma {

// The bit of RPMA_F_COMPLETION_ALWAYS that RPMA_F_COMPLETION_ON_ERROR lacks.
constexpr bool WantsCompletion(int flags) {
  return (flags & RPMA_F_COMPLETION_ALWAYS & ~RPMA_F_COMPLETION_ON_ERROR) != 0;
}

inline uint64_t WrId(const void* op_context) {
  return reinterpret_cast<uintptr_t>(op_context);
}

// True if a request may use that part of the region. Verbs has 32 bits for a
// length.
template <typename Region>
bool Fits(const Region* region, size_t offset, size_t length) {
  return region == nullptr ||
         (region->Contains(offset, length) && length <= UINT32_MAX);
}

inline ibv_sge SgeOf(const MrLocal& region, size_t offset, size_t length) {
  return {.addr = region.address() + offset,
          .length = static_cast<uint32_t>(length),
          .lkey = region.lkey()};
}

// A request for the send queue, without data and remote address at first.
class SendRequest {
 public:
  SendRequest(ibv_wr_opcode opcode, int flags, const void* op_context) {
    wr_.wr_id = WrId(op_context);
    wr_.opcode = opcode;
    if (WantsCompletion(flags)) wr_.send_flags = IBV_SEND_SIGNALED;
  }
  SendRequest(const SendRequest&) = delete;
  SendRequest& operator=(const SendRequest&) = delete;

  void SetData(const ibv_sge& sge) {
    sge_ = sge;
    wr_.sg_list = &sge_;
    wr_.num_sge = 1;
  }
  void SetData(const MrLocal* region, size_t offset, size_t length) {
    if (region != nullptr) SetData(SgeOf(*region, offset, length));
  }
  void SetRemote(uint64_t address, uint32_t rkey) {
    wr_.wr.rdma.remote_addr = address;
    wr_.wr.rdma.rkey = rkey;
  }
  void SetRemote(const MrRemote* region, size_t offset) {
    if (region != nullptr)
      SetRemote(region->address() + offset, region->rkey());
  }
  void SetImm(uint32_t imm) { wr_.imm_data = htonl(imm); }
  void AddFlags(unsigned flags) { wr_.send_flags |= flags; }

  ibv_send_wr* get() { return &wr_; }

 private:
  ibv_send_wr wr_ = {};
  ibv_sge sge_;
};

// A receive into a part of `region`, without a buffer if that is nullptr.
class RecvRequest {
 public:
  RecvRequest(const MrLocal* region, size_t offset, size_t length,
              const void* op_context) {
    wr_.wr_id = WrId(op_context);
    if (region != nullptr) {
      sge_ = SgeOf(*region, offset, length);
      wr_.sg_list = &sge_;
      wr_.num_sge = 1;
    }
  }
  RecvRequest(const RecvRequest&) = delete;
  RecvRequest& operator=(const RecvRequest&) = delete;

  ibv_recv_wr* get() { return &wr_; }

 private:
  ibv_recv_wr wr_ = {};
  ibv_sge sge_;
};

}  // namespace rpma

#endif  // RPMA_CORE_WORK_REQUEST_H_
