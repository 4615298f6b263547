// SPDX-License-Identifier: BSD-3-Clause
// A ring of posted receives.

#include "emulator/receive_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace rpma::emu {

ReceiveQueue::ReceiveQueue(uint32_t max_wr, uint32_t max_sge)
    : max_wr_(max_wr),
      max_sge_(max_sge),
      mask_(std::bit_ceil(std::max(max_wr, 1u)) - 1),
      receives_(std::make_unique<Receive[]>(mask_ + size_t{1})),
      sges_(std::make_unique<ibv_sge[]>((mask_ + size_t{1}) * max_sge)) {}

int ReceiveQueue::Append(const ibv_recv_wr& wr) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > max_sge_) {
    return EINVAL;
  }
  if (size() == max_wr_) return ENOMEM;
  const uint32_t place = end_++ & mask_;
  ibv_sge* const sges = &sges_[size_t{place} * max_sge_];
  const auto num_sge = static_cast<size_t>(wr.num_sge);
  std::copy_n(wr.sg_list, num_sge, sges);
  uint64_t length = 0;
  for (size_t i = 0; i < num_sge; ++i) length += sges[i].length;
  receives_[place] = {wr.wr_id, length, {sges, num_sge}};
  return 0;
}

}  // namespace rpma::emu
