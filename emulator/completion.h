// SPDX-License-Identifier: BSD-3-Clause
// What a work completion says. Fields that ibv_poll_cq(3) leaves undefined are
// poisoned, so that a program that reads them is found.

#ifndef RPMA_EMULATOR_COMPLETION_H_
#define RPMA_EMULATOR_COMPLETION_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>

namespace rpma::emu {

// IBV_WC_FLUSH of rdma-core 45 and IBV_WC_ATOMIC_WRITE of rdma-core 44.
inline constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);
inline constexpr auto kWcAtomicWrite = static_cast<ibv_wc_opcode>(9);

// Every byte of an undefined field; `opcode` holds the one byte, which is no
// opcode but a value that its enum can have.
inline constexpr uint8_t kPoisonByte = 0xa5;
inline constexpr uint32_t kPoison = 0xa5a5a5a5;
inline constexpr auto kPoisonOpcode = static_cast<ibv_wc_opcode>(kPoisonByte);

// A completion with only the fields valid that are so whatever the status.
inline ibv_wc MakeCompletion(uint64_t wr_id, ibv_wc_status status,
                             uint32_t qp_num) {
  ibv_wc wc;
  std::memset(&wc, kPoisonByte, sizeof(wc));
  wc.wr_id = wr_id;
  wc.status = status;
  wc.opcode = kPoisonOpcode;
  wc.qp_num = qp_num;
  return wc;
}

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_COMPLETION_H_
