// SPDX-License-Identifier: BSD-3-Clause
// Shared receive queues.

#include "tests/errors/cases.h"

namespace rpma::test {
namespace {

Srq& NewSrq(Stage& stage) {
  Srq& srq = stage.Keep(Srq());
  EXPECT_THAT(rpma_srq_new(stage.client_peer(), nullptr, srq.address()),
              IsOk());
  return srq;
}

void AddDelete(Registry& registry) {
  registry
      .Of("rpma_srq_delete",
          [](Stage& stage) {
            return RPMA_CALL(rpma_srq_delete, NewSrq(stage).address());
          })
      .Inval({"null:srq_ptr"})
      .Add("RPMA_E_PROVIDER", "call:ibv_destroy_cq",
           FailingToDestroy("ibv_destroy_cq",
                            {.comp_channels = 1, .cqs = 1, .descriptors = 1},
                            {"ibv_destroy_comp_channel"}))
      .Add("RPMA_E_PROVIDER", "call:ibv_destroy_comp_channel",
           FailingToDestroy("ibv_destroy_comp_channel",
                            {.comp_channels = 1, .descriptors = 1}, {}))
      .Add("RPMA_E_PROVIDER", "call:ibv_destroy_srq",
           FailingToDestroy("ibv_destroy_srq", {.srqs = 1}, {}));
}

}  // namespace

void AddSharedQueueCases(Registry& registry) {
  registry
      .Of("rpma_srq_new",
          [](Stage& stage) {
            return RPMA_CALL(rpma_srq_new, stage.client_peer(),
                             stage.New<SrqCfg>(rpma_srq_cfg_new),
                             stage.Keep(Srq()).address());
          })
      .Inval({"null:peer", "null:srq_ptr"})
      .OutOfMemory()
      .Provider({"call:ibv_create_srq", "call:ibv_create_comp_channel",
                 "call:ibv_create_cq", "call:ibv_req_notify_cq"});
  AddDelete(registry);
  registry
      .Of("rpma_srq_get_rcq",
          [](Stage& stage) {
            return RPMA_CALL(rpma_srq_get_rcq, NewSrq(stage),
                             stage.Out<rpma_cq*>());
          })
      .Inval({"null:srq", "null:rcq_ptr"});
  registry
      .Of("rpma_srq_recv",
          [](Stage& stage) {
            return RPMA_CALL(rpma_srq_recv, NewSrq(stage), stage.region().mr(),
                             8u, 16u, nullptr);
          })
      .Inval({"null:srq", "null:dst if:offset!=0|len!=0"})
      .Provider({"call:ibv_post_srq_recv"});
}

}  // namespace rpma::test
