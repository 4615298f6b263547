// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_srq_*: shared receive queues.

#include <memory>

#include "api/boundary.h"
#include "api/opaque.h"
#include "core/shared_receive_queue.h"

int rpma_srq_new(struct rpma_peer* peer, struct rpma_srq_cfg* cfg,
                 struct rpma_srq** srq_ptr) {
  RPMA_REQUIRE(peer != nullptr);
  RPMA_REQUIRE(srq_ptr != nullptr);
  return rpma::Create(srq_ptr,
                      [&](std::unique_ptr<rpma::SharedReceiveQueue>* srq) {
                        static constinit const rpma::SrqCfg kDefault;
                        return rpma::SharedReceiveQueue::Create(
                            *rpma::FromC(peer),
                            cfg != nullptr ? *rpma::FromC(cfg) : kDefault, srq);
                      });
}

int rpma_srq_delete(struct rpma_srq** srq_ptr) {
  RPMA_REQUIRE(srq_ptr != nullptr);
  return rpma::CloseAndDelete(srq_ptr);
}

int rpma_srq_get_rcq(const struct rpma_srq* srq, struct rpma_cq** rcq_ptr) {
  RPMA_REQUIRE(srq != nullptr);
  RPMA_REQUIRE(rcq_ptr != nullptr);
  *rcq_ptr = rpma::ToC(rpma::FromC(srq)->rcq());
  return 0;
}

int rpma_srq_recv(struct rpma_srq* srq, struct rpma_mr_local* dst,
                  size_t offset, size_t len, const void* op_context) {
  RPMA_REQUIRE(srq != nullptr);
  RPMA_REQUIRE(dst != nullptr || (offset == 0 && len == 0));
  return rpma::ToC(
      rpma::FromC(srq)->Recv(rpma::FromC(dst), offset, len, op_context));
}
