// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_cq_*: waiting for completions and taking them.

#include "api/boundary.h"
#include "api/opaque.h"
#include "core/completion_queue.h"

int rpma_cq_get_fd(const struct rpma_cq* cq, int* fd) {
  RPMA_REQUIRE(cq != nullptr);
  RPMA_REQUIRE(fd != nullptr);
  *fd = rpma::FromC(cq)->fd();
  return 0;
}

int rpma_cq_wait(struct rpma_cq* cq) {
  RPMA_REQUIRE(cq != nullptr);
  return rpma::ToC(rpma::FromC(cq)->Wait());
}

int rpma_cq_get_wc(struct rpma_cq* cq, int num_entries, struct ibv_wc* wc,
                   int* num_entries_got) {
  RPMA_REQUIRE(cq != nullptr);
  RPMA_REQUIRE(num_entries >= 1);
  RPMA_REQUIRE(wc != nullptr);
  RPMA_REQUIRE(num_entries_got != nullptr || num_entries == 1);
  return rpma::ToC(rpma::FromC(cq)->Poll(num_entries, wc, num_entries_got));
}
