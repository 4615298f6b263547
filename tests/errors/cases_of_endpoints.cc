// SPDX-License-Identifier: BSD-3-Clause
// Endpoints.

#include "tests/errors/cases.h"
#include "tests/errors/scenes.h"

namespace rpma::test {
namespace {

void StillListens(Stage& stage, Call& /*call*/) {
  stage.Keep(World::NextRequest((stage.Connecting(), stage.endpoint())));
}

void ClientIsRefused(Stage& stage, Call& /*call*/) { ExpectRefused(stage); }

Call NextRequestWith(Stage& stage, const rpma_conn_cfg* cfg) {
  stage.Connecting();
  return RPMA_CALL(rpma_ep_next_conn_req, stage.endpoint(), cfg,
                   stage.Keep(ConnReq()).address());
}

Call NextRequest(Stage& stage) { return NextRequestWith(stage, nullptr); }

Call NextRequestWithRcq(Stage& stage) {
  return NextRequestWith(stage, WithRcq(stage));
}

Call NextRequestWithSharedChannelAndRcq(Stage& stage) {
  return NextRequestWith(stage, WithSharedChannelAndRcq(stage));
}

Call NextRequestWithExclusiveChoices(Stage& stage) {
  return NextRequestWith(stage, WithExclusiveChoices(stage));
}

Call NextRequestThatDoesNotWait(Stage& stage) {
  MakeNonBlocking(EndpointFd(stage.endpoint()));
  return RPMA_CALL(rpma_ep_next_conn_req, stage.endpoint(), nullptr,
                   stage.Keep(ConnReq()).address());
}

// A provider call fails while the connection is prepared, once for the CQ and
// once for the receive CQ, if there is a call for each.
std::vector<Trial> FailingToPrepare(const std::string& call, bool for_each_cq) {
  std::vector<Trial> trials = {Failing(call).UsedUp().Then(ClientIsRefused),
                               Failing(call)
                                   .On(NextRequestWithSharedChannelAndRcq)
                                   .Then(ClientIsRefused)};
  if (for_each_cq) {
    trials.push_back(
        FailingNth(call, 2).On(NextRequestWithRcq).Then(ClientIsRefused));
  }
  return trials;
}

void AddNextRequest(Registry& registry) {
  registry.Of("rpma_ep_next_conn_req", NextRequest)
      .Inval({"null:ep", "null:req_ptr"})
      .Add("RPMA_E_INVAL", "state:unexpected_event",
           WithPlan("event CONNECT_REQUEST as=ADDR_CHANGE",
                    "RDMA_CM_EVENT_ADDR_CHANGE")
               .FromTheStart()
               .UsedUp())
      .Add("RPMA_E_INVAL", "state:shared_channel_with_srq_rcq",
           Otherwise(NextRequestWithExclusiveChoices,
                     "shared completion channel"))
      .OutOfMemory({Trial{.used_up = true, .then = ClientIsRefused}})
      .Provider({"call:rdma_get_cm_event"})
      .Add("RPMA_E_PROVIDER", "call:rdma_ack_cm_event",
           Failing("rdma_ack_cm_event").UsedUp().Then(ClientIsRefused))
      .Add("RPMA_E_PROVIDER", "call:ibv_create_comp_channel",
           FailingToPrepare("ibv_create_comp_channel", true))
      .Add("RPMA_E_PROVIDER", "call:ibv_create_cq",
           FailingToPrepare("ibv_create_cq", true))
      .Add("RPMA_E_PROVIDER", "call:ibv_req_notify_cq",
           FailingToPrepare("ibv_req_notify_cq", true))
      .Add("RPMA_E_PROVIDER", "call:rdma_create_qp_ex",
           FailingToPrepare("rdma_create_qp_ex", false))
      .Add("RPMA_E_NO_EVENT", "state:no_event if:errno==ENODATA",
           {Otherwise(NextRequestThatDoesNotWait, "")
                .In({.options = "empty_channel_errno=ENODATA"}),
            Otherwise(NextRequestThatDoesNotWait, "")});
}

}  // namespace

void AddEndpointCases(Registry& registry) {
  registry
      .Of("rpma_ep_listen",
          [](Stage& stage) {
            return RPMA_CALL(rpma_ep_listen, stage.server_peer(),
                             stage.server_address(),
                             stage.Keep(stage.NewPort()).c_str(),
                             stage.Keep(Endpoint()).address());
          })
      .Inval({"null:peer", "null:addr", "null:port", "null:ep_ptr"})
      .OutOfMemory()
      .Provider({"call:rdma_create_event_channel", "call:rdma_create_id",
                 "call:rdma_getaddrinfo", "call:rdma_listen",
                 "call:rdma_bind_addr"});
  registry
      .Of("rpma_ep_shutdown",
          [](Stage& stage) {
            return RPMA_CALL(rpma_ep_shutdown, stage.endpoint().address());
          })
      .Inval({"null:ep_ptr"})
      .Add("RPMA_E_PROVIDER", "call:rdma_destroy_id",
           Failing("rdma_destroy_id").Then(StillListens));
  registry
      .Of("rpma_ep_get_fd",
          [](Stage& stage) {
            return RPMA_CALL(rpma_ep_get_fd, stage.endpoint(),
                             stage.Out<int>());
          })
      .Inval({"null:ep", "null:fd"});
  AddNextRequest(registry);
}

}  // namespace rpma::test
