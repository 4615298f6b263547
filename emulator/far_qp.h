// SPDX-License-Identifier: BSD-3-Clause
// A queue pair of another process, as the one connected to it sees it.

#ifndef RPMA_EMULATOR_FAR_QP_H_
#define RPMA_EMULATOR_FAR_QP_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "emulator/far_link.h"

namespace rpma::emu {

class FarQp final {
 public:
  FarQp(std::shared_ptr<FarLink> link, uint32_t qp_num, bool has_srq)
      : link_(std::move(link)), qp_num_(qp_num), has_srq_(has_srq) {}

  FarLink& link() const { return *link_; }
  uint32_t qp_num() const { return qp_num_; }
  bool has_srq() const { return has_srq_; }
  bool Is(const FarLink& link, uint32_t qp_num) const {
    return link_.get() == &link && qp_num_ == qp_num;
  }

 private:
  const std::shared_ptr<FarLink> link_;
  const uint32_t qp_num_;
  const bool has_srq_;
};

// The answer to a request for a queue pair that is not there.
void AnswerForNobody(FarLink& link, const wire::Message& request);
// A hint that what a requester waits for is there: a receive, or RTR.
void SendResume(FarLink& link, uint32_t to, uint32_t from);

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_FAR_QP_H_
