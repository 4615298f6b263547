// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_srq_cfg_*: sizes of a shared receive queue.

#include "core/srq_cfg.h"

#include <memory>

#include "api/boundary.h"
#include "api/opaque.h"

int rpma_srq_cfg_new(struct rpma_srq_cfg** cfg_ptr) {
  RPMA_REQUIRE(cfg_ptr != nullptr);
  return rpma::Create(cfg_ptr, [](std::unique_ptr<rpma::SrqCfg>* cfg) {
    *cfg = std::make_unique<rpma::SrqCfg>();
    return rpma::Rc::kOk;
  });
}

int rpma_srq_cfg_delete(struct rpma_srq_cfg** cfg_ptr) {
  RPMA_REQUIRE(cfg_ptr != nullptr);
  rpma::Take(cfg_ptr);
  return 0;
}

int rpma_srq_cfg_set_rq_size(struct rpma_srq_cfg* cfg, uint32_t rq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  rpma::FromC(cfg)->rq_size.set(rq_size);
  return 0;
}

int rpma_srq_cfg_get_rq_size(const struct rpma_srq_cfg* cfg,
                             uint32_t* rq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(rq_size != nullptr);
  *rq_size = rpma::FromC(cfg)->rq_size.get();
  return 0;
}

int rpma_srq_cfg_set_rcq_size(struct rpma_srq_cfg* cfg, uint32_t rcq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  rpma::FromC(cfg)->rcq_size.set(rcq_size);
  return 0;
}

int rpma_srq_cfg_get_rcq_size(const struct rpma_srq_cfg* cfg,
                              uint32_t* rcq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(rcq_size != nullptr);
  *rcq_size = rpma::FromC(cfg)->rcq_size.get();
  return 0;
}
