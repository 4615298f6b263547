// SPDX-License-Identifier: BSD-3-Clause
// A queue pair of another process, as the one connected to it sees it.

#ifndef RPMA_EMULATOR_FAR_QP_H_
#define RPMA_EMULATOR_FAR_QP_H_

#include <cstdint>

namespace rpma::emu {

class FarQp final {
 public:
  FarQp(uint32_t qp_num, bool has_srq) : qp_num_(qp_num), has_srq_(has_srq) {}

  uint32_t qp_num() const { return qp_num_; }
  bool has_srq() const { return has_srq_; }

 private:
  const uint32_t qp_num_;
  const bool has_srq_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_FAR_QP_H_
