// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_conn_cfg_*: queue sizes and options of a connection.

#include "core/conn_cfg.h"

#include <memory>

#include "api/boundary.h"
#include "api/opaque.h"

int rpma_conn_cfg_new(struct rpma_conn_cfg** cfg_ptr) {
  RPMA_REQUIRE(cfg_ptr != nullptr);
  return rpma::Create(cfg_ptr, [](std::unique_ptr<rpma::ConnCfg>* cfg) {
    *cfg = std::make_unique<rpma::ConnCfg>();
    return rpma::Rc::kOk;
  });
}

int rpma_conn_cfg_delete(struct rpma_conn_cfg** cfg_ptr) {
  RPMA_REQUIRE(cfg_ptr != nullptr);
  rpma::Take(cfg_ptr);
  return 0;
}

int rpma_conn_cfg_set_timeout(struct rpma_conn_cfg* cfg, int timeout_ms) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(timeout_ms >= 0);
  rpma::FromC(cfg)->timeout_ms.set(timeout_ms);
  return 0;
}

int rpma_conn_cfg_get_timeout(const struct rpma_conn_cfg* cfg,
                              int* timeout_ms) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(timeout_ms != nullptr);
  *timeout_ms = rpma::FromC(cfg)->timeout_ms.get();
  return 0;
}

int rpma_conn_cfg_set_cq_size(struct rpma_conn_cfg* cfg, uint32_t cq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  rpma::FromC(cfg)->cq_size.set(cq_size);
  return 0;
}

int rpma_conn_cfg_get_cq_size(const struct rpma_conn_cfg* cfg,
                              uint32_t* cq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(cq_size != nullptr);
  *cq_size = rpma::FromC(cfg)->cq_size.get();
  return 0;
}

int rpma_conn_cfg_set_rcq_size(struct rpma_conn_cfg* cfg, uint32_t rcq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  rpma::FromC(cfg)->rcq_size.set(rcq_size);
  return 0;
}

int rpma_conn_cfg_get_rcq_size(const struct rpma_conn_cfg* cfg,
                               uint32_t* rcq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(rcq_size != nullptr);
  *rcq_size = rpma::FromC(cfg)->rcq_size.get();
  return 0;
}

int rpma_conn_cfg_set_sq_size(struct rpma_conn_cfg* cfg, uint32_t sq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  rpma::FromC(cfg)->sq_size.set(sq_size);
  return 0;
}

int rpma_conn_cfg_get_sq_size(const struct rpma_conn_cfg* cfg,
                              uint32_t* sq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(sq_size != nullptr);
  *sq_size = rpma::FromC(cfg)->sq_size.get();
  return 0;
}

int rpma_conn_cfg_set_rq_size(struct rpma_conn_cfg* cfg, uint32_t rq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  rpma::FromC(cfg)->rq_size.set(rq_size);
  return 0;
}

int rpma_conn_cfg_get_rq_size(const struct rpma_conn_cfg* cfg,
                              uint32_t* rq_size) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(rq_size != nullptr);
  *rq_size = rpma::FromC(cfg)->rq_size.get();
  return 0;
}

int rpma_conn_cfg_set_compl_channel(struct rpma_conn_cfg* cfg, bool shared) {
  RPMA_REQUIRE(cfg != nullptr);
  rpma::FromC(cfg)->shared_channel.set(shared);
  return 0;
}

int rpma_conn_cfg_get_compl_channel(const struct rpma_conn_cfg* cfg,
                                    bool* shared) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(shared != nullptr);
  *shared = rpma::FromC(cfg)->shared_channel.get();
  return 0;
}

int rpma_conn_cfg_set_srq(struct rpma_conn_cfg* cfg, struct rpma_srq* srq) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(srq != nullptr);
  rpma::FromC(cfg)->srq.set(rpma::FromC(srq));
  return 0;
}

int rpma_conn_cfg_get_srq(const struct rpma_conn_cfg* cfg,
                          struct rpma_srq** srq_ptr) {
  RPMA_REQUIRE(cfg != nullptr);
  RPMA_REQUIRE(srq_ptr != nullptr);
  *srq_ptr = rpma::ToC(rpma::FromC(cfg)->srq.get());
  return 0;
}
