// SPDX-License-Identifier: BSD-3-Clause
// The ring of requests posted to a send queue.

#include "emulator/send_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace rpma::emu {
namespace {

constexpr uint32_t kAtomicWriteSize = 8;  // bytes

// What an opcode asks for; 0, EINVAL or EOPNOTSUPP.
int Decode(const ibv_send_wr& wr, const Profile& profile, Operation* operation,
           bool* with_imm) {
  *with_imm = wr.opcode == IBV_WR_SEND_WITH_IMM ||
              wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  switch (wr.opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      *operation = Operation::kSend;
      return *with_imm && !profile.send_with_imm ? EOPNOTSUPP : 0;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      *operation = Operation::kWrite;
      return *with_imm && !profile.write_with_imm ? EOPNOTSUPP : 0;
    case IBV_WR_RDMA_READ:
      *operation = Operation::kRead;
      return 0;
    default:
      return EOPNOTSUPP;
  }
}

}  // namespace

SendQueue::SendQueue(const QueuePairAttributes& attributes)
    : max_wr_(attributes.max_send_wr),
      max_sge_(attributes.max_send_sge),
      max_inline_(attributes.max_inline_data),
      signal_all_(attributes.sq_sig_all),
      mask_(std::bit_ceil(std::max(max_wr_, 1u)) - 1) {
  const size_t places = mask_ + size_t{1};
  // An atomic write carries its bytes inline, whatever max_inline_data is.
  const size_t inline_size = std::max(max_inline_, kAtomicWriteSize);
  requests_ = std::make_unique<Request[]>(places);
  sges_ = std::make_unique<ibv_sge[]>(places * max_sge_);
  inline_data_ = std::make_unique<std::byte[]>(places * inline_size);
  for (size_t i = 0; i < places; ++i) {
    requests_[i].sges = &sges_[i * max_sge_];
    requests_[i].inline_data = &inline_data_[i * inline_size];
  }
}

Request* SendQueue::NextPlace() {
  if (end_ - slots_.retired() >= max_wr_) return nullptr;
  Request& place = (*this)[end_];
  ibv_sge* const sges = place.sges;
  std::byte* const inline_data = place.inline_data;
  place = {};
  place.sges = sges;
  place.inline_data = inline_data;
  return &place;
}

void SendQueue::Publish(Request& request, unsigned send_flags) {
  request.signaled = signal_all_ || (send_flags & IBV_SEND_SIGNALED) != 0;
  request.solicited = (send_flags & IBV_SEND_SOLICITED) != 0;
  request.fence = (send_flags & IBV_SEND_FENCE) != 0;
  ++end_;
}

void SendQueue::CopyData(const ibv_send_wr& wr, Request& request) const {
  if (!request.inlined) {
    request.num_sge = static_cast<uint32_t>(wr.num_sge);
    std::copy_n(wr.sg_list, request.num_sge, request.sges);
    return;
  }
  std::byte* to = request.inline_data;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& sge = wr.sg_list[i];
    if (sge.length == 0) continue;  // its address may be null
    std::memcpy(to, reinterpret_cast<const void*>(sge.addr), sge.length);
    to += sge.length;
  }
}

int SendQueue::Append(const ibv_send_wr& wr, const Profile& profile) {
  Operation operation;
  bool with_imm;
  if (const int error = Decode(wr, profile, &operation, &with_imm)) {
    return error;
  }
  const bool read = operation == Operation::kRead;
  const bool inlined = (wr.send_flags & IBV_SEND_INLINE) != 0;
  const uint32_t max_sge =
      read ? std::min(max_sge_, profile.limits.max_sge_rd) : max_sge_;
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > max_sge) {
    return EINVAL;
  }
  uint64_t length = 0;
  for (int i = 0; i < wr.num_sge; ++i) length += wr.sg_list[i].length;
  if (inlined && (read || length > max_inline_)) return EINVAL;

  Request* const request = NextPlace();
  if (request == nullptr) return ENOMEM;
  request->wr_id = wr.wr_id;
  request->operation = operation;
  request->with_imm = with_imm;
  request->imm_data = wr.imm_data;
  request->length = length;
  request->inlined = inlined;
  if (operation != Operation::kSend) {
    request->remote_addr = wr.wr.rdma.remote_addr;
    request->rkey = wr.wr.rdma.rkey;
  }
  CopyData(wr, *request);
  Publish(*request, wr.send_flags);
  return 0;
}

int SendQueue::Append(const FlushRequest& flush, const Profile& profile) {
  if (!profile.native_flush) return EOPNOTSUPP;
  if (flush.length > UINT32_MAX) return EINVAL;  // the FETH's field
  Request* const request = NextPlace();
  if (request == nullptr) return ENOMEM;
  request->wr_id = flush.wr_id;
  request->operation = Operation::kFlush;
  request->remote_addr = flush.remote_addr;
  request->rkey = flush.rkey;
  request->length = flush.length;
  request->persistent = flush.persistent;
  Publish(*request, flush.send_flags);
  return 0;
}

int SendQueue::Append(const AtomicWriteRequest& write, const Profile& profile) {
  if (!profile.native_atomic_write) return EOPNOTSUPP;
  Request* const request = NextPlace();
  if (request == nullptr) return ENOMEM;
  request->wr_id = write.wr_id;
  request->operation = Operation::kAtomicWrite;
  request->remote_addr = write.remote_addr;
  request->rkey = write.rkey;
  request->length = kAtomicWriteSize;
  request->inlined = true;
  std::memcpy(request->inline_data, write.source, kAtomicWriteSize);
  Publish(*request, write.send_flags);
  return 0;
}

void SendQueue::Clear() {
  completed_ = executed_ = end_;
  slots_.Retire(end_);
}

}  // namespace rpma::emu
