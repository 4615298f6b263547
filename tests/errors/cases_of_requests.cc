// SPDX-License-Identifier: BSD-3-Clause
// Connection requests of both sides.

#include <cstdint>

#include "tests/errors/cases.h"
#include "tests/errors/scenes.h"

namespace rpma::test {
namespace {

void ClientIsRefused(Stage& stage, Call& /*call*/) { ExpectRefused(stage); }

// --- rpma_conn_req_new -------------------------------------------------------

Call NewRequestWith(Stage& stage, const rpma_conn_cfg* cfg) {
  return RPMA_CALL(rpma_conn_req_new, stage.client_peer(),
                   stage.server_address(), stage.port().c_str(), cfg,
                   stage.Keep(ConnReq()).address());
}

Call NewRequest(Stage& stage) { return NewRequestWith(stage, nullptr); }

Call NewRequestWithRcq(Stage& stage) {
  return NewRequestWith(stage, WithRcq(stage));
}

Call NewRequestWithSharedChannelAndRcq(Stage& stage) {
  return NewRequestWith(stage, WithSharedChannelAndRcq(stage));
}

Call NewRequestWithExclusiveChoices(Stage& stage) {
  return NewRequestWith(stage, WithExclusiveChoices(stage));
}

// A provider call fails that is made for the CQ and for the receive CQ.
std::vector<Trial> FailingForEachCq(const std::string& call) {
  return {Failing(call), FailingNth(call, 2).On(NewRequestWithRcq),
          Failing(call).On(NewRequestWithSharedChannelAndRcq)};
}

void AddNew(Registry& registry) {
  registry.Of("rpma_conn_req_new", NewRequest)
      .Inval({"null:peer", "null:addr", "null:port", "null:req_ptr"})
      .Add("RPMA_E_INVAL", "state:shared_channel_with_srq_rcq",
           Otherwise(NewRequestWithExclusiveChoices,
                     "shared completion channel"))
      .OutOfMemory()
      .Provider({"call:rdma_create_id", "call:rdma_resolve_addr",
                 "call:rdma_resolve_route", "call:rdma_getaddrinfo"})
      .Add("RPMA_E_PROVIDER", "call:ibv_create_comp_channel",
           FailingForEachCq("ibv_create_comp_channel"))
      .Add("RPMA_E_PROVIDER", "call:ibv_create_cq",
           FailingForEachCq("ibv_create_cq"))
      .Add("RPMA_E_PROVIDER", "call:ibv_req_notify_cq",
           FailingForEachCq("ibv_req_notify_cq"))
      .Provider({"call:rdma_create_qp_ex"});
}

// --- rpma_conn_req_connect ---------------------------------------------------

Call ConnectWithData(Stage& stage, ConnReq& request) {
  uint32_t& bytes = stage.Keep(uint32_t{0x01020304});
  rpma_conn_private_data& data =
      stage.Keep(rpma_conn_private_data{&bytes, sizeof(bytes)});
  return RPMA_CALL(rpma_conn_req_connect, request.address(), &data,
                   stage.Keep(Conn()).address());
}

Call ConnectActively(Stage& stage) {
  return ConnectWithData(stage, stage.Outgoing());
}

Call ConnectPassively(Stage& stage) {
  return ConnectWithData(stage, stage.Incoming());
}

// The same on both sides; the client of a refused request learns of it.
std::vector<Trial> OnBothSides(const Trial& trial) {
  return {trial, Trial(trial).On(ConnectPassively).Then(ClientIsRefused)};
}

Trial WithData(const rpma_conn_private_data& data, const std::string& log) {
  return {
      .spoil = [=](Stage& stage,
                   Call& call) { call.SetAddress("pdata", &stage.Keep(data)); },
      .log = {log}};
}

// *req_ptr is NULL; no request is used up.
Trial WithoutRequest() {
  return {.spoil =
              [](Stage& stage, Call& call) {
                call.SetAddress("req_ptr", stage.Out<rpma_conn_req*>());
              },
          .log = {"*req_ptr"}};
}

Trial FailingLibc(LibcFunction function) {
  return {.failing_libc = function, .log = {"out of memory"}};
}

void AddConnect(Registry& registry) {
  static uint8_t byte = 0;
  registry.Of("rpma_conn_req_connect", ConnectActively)
      .Inval({"null:req_ptr"})
      .Add("RPMA_E_INVAL", "null:*req_ptr", WithoutRequest())
      .Add("RPMA_E_INVAL", "null:conn_ptr", OnBothSides(WithNull("conn_ptr")))
      .Add("RPMA_E_INVAL", "zero:pdata->len if:pdata!=NULL",
           OnBothSides(WithData({&byte, 0}, "pdata->len")))
      .Add("RPMA_E_INVAL", "null:pdata->ptr if:pdata!=NULL",
           OnBothSides(WithData({nullptr, 4}, "pdata->ptr")))
      .OutOfMemory(OnBothSides(Trial()))
      .Add("RPMA_E_NOMEM", "call:mmap", FailingLibc(LibcFunction::kMmap))
      .Add("RPMA_E_PROVIDER", "call:sysconf",
           FailingLibc(LibcFunction::kSysconf))
      .Provider({"call:rdma_connect side:active",
                 "call:rdma_create_event_channel", "call:rdma_migrate_id"})
      .Add("RPMA_E_PROVIDER", "call:ibv_reg_mr",
           OnBothSides(Failing("ibv_reg_mr")));
  registry.Of("rpma_conn_req_connect", ConnectPassively)
      .Add("RPMA_E_PROVIDER", "call:rdma_accept side:passive",
           Failing("rdma_accept").Then(ClientIsRefused))
      .Add("RPMA_E_PROVIDER", "call:rdma_ack_cm_event side:passive",
           Failing("rdma_ack_cm_event"));
}

// --- rpma_conn_req_delete ----------------------------------------------------

Call DeleteOutgoing(Stage& stage) {
  return RPMA_CALL(rpma_conn_req_delete, stage.Outgoing().address());
}

Call DeleteIncoming(Stage& stage) {
  return RPMA_CALL(rpma_conn_req_delete, stage.Incoming().address());
}

void AddDelete(Registry& registry) {
  registry.Of("rpma_conn_req_delete", DeleteOutgoing)
      .Inval({"null:req_ptr"})
      .Add("RPMA_E_PROVIDER", "call:rdma_destroy_qp",
           FailingToDestroy("ibv_destroy_qp",
                            {.comp_channels = 1, .cqs = 1, .descriptors = 1},
                            {"ibv_destroy_cq", "ibv_destroy_comp_channel"}))
      .Add("RPMA_E_PROVIDER", "call:ibv_destroy_cq",
           FailingToDestroy("ibv_destroy_cq",
                            {.comp_channels = 1, .cqs = 1, .descriptors = 1},
                            {"ibv_destroy_comp_channel"}))
      .Add("RPMA_E_PROVIDER", "call:rdma_destroy_id side:active",
           FailingToDestroy("rdma_destroy_id", {.cm_ids = 1}, {}))
      .Add("RPMA_E_PROVIDER", "call:ibv_destroy_comp_channel",
           FailingToDestroy("ibv_destroy_comp_channel",
                            {.comp_channels = 1, .descriptors = 1}, {}));
  registry.Of("rpma_conn_req_delete", DeleteIncoming)
      .Add("RPMA_E_PROVIDER", "call:rdma_reject side:passive",
           Failing("rdma_reject").Then(ClientIsRefused))
      .Add("RPMA_E_PROVIDER", "call:rdma_ack_cm_event side:passive",
           Failing("rdma_ack_cm_event"));
}

}  // namespace

void AddRequestCases(Registry& registry) {
  AddNew(registry);
  AddConnect(registry);
  AddDelete(registry);
  registry
      .Of("rpma_conn_req_recv",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_req_recv, stage.Outgoing(),
                             stage.region().mr(), 0u, 8u, Context(1));
          })
      .Inval({"null:req", "null:dst"})
      // The page's name of dst.
      .Add("RPMA_E_INVAL", "null:src", WithNull("dst"))
      .Inval({"null:op_context"})
      .Provider({"call:ibv_post_recv"});
  registry
      .Of("rpma_conn_req_get_private_data",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_req_get_private_data, stage.Incoming(),
                             stage.Out<rpma_conn_private_data>());
          })
      .Inval({"null:req", "null:pdata"});
}

}  // namespace rpma::test
