// SPDX-License-Identifier: BSD-3-Clause
// Configurations of connections and of shared receive queues.

#include <cstdint>

#include "tests/errors/cases.h"

namespace rpma::test {
namespace {

ConnCfg& NewConnCfg(Stage& stage) {
  return stage.New<ConnCfg>(rpma_conn_cfg_new);
}

SrqCfg& NewSrqCfg(Stage& stage) { return stage.New<SrqCfg>(rpma_srq_cfg_new); }

// A setter and a getter of one value, whose parameters are called "cfg" and
// `name`.
#define RPMA_ADD_VALUE(registry, new_cfg, prefix, name, type, value)          \
  (registry)                                                                  \
      .Of(#prefix "_set_" #name,                                              \
          [](Stage& stage) {                                                  \
            return RPMA_CALL(prefix##_set_##name, new_cfg(stage), value);     \
          })                                                                  \
      .Inval({"null:cfg"});                                                   \
  (registry).Of(#prefix "_get_" #name, [](Stage& stage) {                     \
    return RPMA_CALL(prefix##_get_##name, new_cfg(stage), stage.Out<type>()); \
  })

void AddConnValues(Registry& registry) {
  RPMA_ADD_VALUE(registry, NewConnCfg, rpma_conn_cfg, cq_size, uint32_t, 5u)
      .Inval({"null:cfg", "null:cq_size"});
  RPMA_ADD_VALUE(registry, NewConnCfg, rpma_conn_cfg, rcq_size, uint32_t, 5u)
      .Inval({"null:cfg", "null:rcq_size"});
  RPMA_ADD_VALUE(registry, NewConnCfg, rpma_conn_cfg, sq_size, uint32_t, 5u)
      .Inval({"null:cfg", "null:sq_size"});
  RPMA_ADD_VALUE(registry, NewConnCfg, rpma_conn_cfg, rq_size, uint32_t, 5u)
      .Inval({"null:cfg", "null:rq_size"});
  RPMA_ADD_VALUE(registry, NewConnCfg, rpma_conn_cfg, compl_channel, bool, true)
      .Inval({"null:cfg", "null:shared"});
}

void AddSrqValues(Registry& registry) {
  RPMA_ADD_VALUE(registry, NewSrqCfg, rpma_srq_cfg, rq_size, uint32_t, 5u)
      .Inval({"null:cfg", "null:rq_size"});
  RPMA_ADD_VALUE(registry, NewSrqCfg, rpma_srq_cfg, rcq_size, uint32_t, 5u)
      .Inval({"null:cfg", "null:rcq_size"});
}

#undef RPMA_ADD_VALUE

// Those with more than NULL to refuse.
void AddOtherConnValues(Registry& registry) {
  registry
      .Of("rpma_conn_cfg_set_timeout",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_cfg_set_timeout, NewConnCfg(stage), 0);
          })
      .Inval({"null:cfg"})
      .Add("RPMA_E_INVAL", "range:timeout_ms:<0", WithNumber("timeout_ms", -1));
  registry
      .Of("rpma_conn_cfg_get_timeout",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_cfg_get_timeout, NewConnCfg(stage),
                             stage.Out<int>());
          })
      .Inval({"null:cfg", "null:timeout_ms"});
  registry
      .Of("rpma_conn_cfg_set_srq",
          [](Stage& stage) {
            Srq& srq = stage.Keep(Srq());
            EXPECT_THAT(
                rpma_srq_new(stage.client_peer(), nullptr, srq.address()),
                IsOk());
            return RPMA_CALL(rpma_conn_cfg_set_srq, NewConnCfg(stage), srq);
          })
      .Inval({"null:cfg", "null:srq"});
  registry
      .Of("rpma_conn_cfg_get_srq",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_cfg_get_srq, NewConnCfg(stage),
                             stage.Out<rpma_srq*>());
          })
      .Inval({"null:cfg", "null:srq_ptr"});
}

}  // namespace

void AddConfigurationCases(Registry& registry) {
  registry
      .Of("rpma_conn_cfg_new",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_cfg_new,
                             stage.Keep(ConnCfg()).address());
          })
      .Inval({"null:cfg_ptr"})
      .OutOfMemory();
  registry
      .Of("rpma_conn_cfg_delete",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_cfg_delete, NewConnCfg(stage).address());
          })
      .Inval({"null:cfg_ptr"});
  registry
      .Of("rpma_srq_cfg_new",
          [](Stage& stage) {
            return RPMA_CALL(rpma_srq_cfg_new, stage.Keep(SrqCfg()).address());
          })
      .Inval({"null:cfg_ptr"})
      .OutOfMemory();
  registry
      .Of("rpma_srq_cfg_delete",
          [](Stage& stage) {
            return RPMA_CALL(rpma_srq_cfg_delete, NewSrqCfg(stage).address());
          })
      .Inval({"null:cfg_ptr"});
  AddConnValues(registry);
  AddOtherConnValues(registry);
  AddSrqValues(registry);
}

}  // namespace rpma::test
