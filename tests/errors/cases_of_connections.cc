// SPDX-License-Identifier: BSD-3-Clause
// Connections: what they are asked and told, and their end.

#include "tests/errors/cases.h"
#include "tests/errors/scenes.h"

namespace rpma::test {
namespace {

// --- Getters -----------------------------------------------------------------

// A function that takes the parameters "conn" and `out`.
#define RPMA_ADD_GETTER(registry, function, Type, out)      \
  (registry)                                                \
      .Of(#function,                                        \
          [](Stage& stage) {                                \
            return RPMA_CALL(function, stage.client().conn, \
                             stage.Out<Type>());            \
          })                                                \
      .Inval({"null:conn", "null:" #out})

void AddGetters(Registry& registry) {
  RPMA_ADD_GETTER(registry, rpma_conn_get_cq, rpma_cq*, cq_ptr);
  RPMA_ADD_GETTER(registry, rpma_conn_get_rcq, rpma_cq*, rcq_ptr);
  RPMA_ADD_GETTER(registry, rpma_conn_get_event_fd, int, fd);
  RPMA_ADD_GETTER(registry, rpma_conn_get_qp_num, uint32_t, qp_num);
  RPMA_ADD_GETTER(registry, rpma_conn_get_private_data, rpma_conn_private_data,
                  pdata);
}

#undef RPMA_ADD_GETTER

Call GetCompletionFd(Stage& stage, const End& end) {
  return RPMA_CALL(rpma_conn_get_compl_fd, end.conn, stage.Out<int>());
}

void AddCompletionFd(Registry& registry) {
  registry
      .Of("rpma_conn_get_compl_fd",
          [](Stage& stage) {
            return GetCompletionFd(
                stage, ClientWithCompletion(stage, WithSharedChannel(stage)));
          })
      .Inval({"null:conn", "null:fd"})
      .Add("RPMA_E_NOT_SHARED_CHNL", "state:not_shared_channel",
           Otherwise(
               [](Stage& stage) {
                 return GetCompletionFd(stage, stage.client());
               },
               "shared completion channel"));
}

// --- Events ------------------------------------------------------------------

Call NextEventOf(Stage& stage, Conn& conn) {
  return RPMA_CALL(rpma_conn_next_event, conn, stage.Out<rpma_conn_event>());
}

// A client whose request was accepted, with private data.
Call NextEventAfterAccept(Stage& stage) {
  Conn& client = stage.Connecting();
  stage.Keep(Connect(World::NextRequest(stage.endpoint()), {1, 2, 3}));
  EXPECT_TRUE(BecomesReadable(EventFd(client)));
  return NextEventOf(stage, client);
}

// A client whose request was not answered.
Call NextEventThatDoesNotWait(Stage& stage) {
  stage.Incoming();
  MakeNonBlocking(EventFd(stage.last_client()));
  return NextEventOf(stage, stage.last_client());
}

void AddNextEvent(Registry& registry) {
  registry.Of("rpma_conn_next_event", NextEventAfterAccept)
      .Inval({"null:conn", "null:event"})
      .Add("RPMA_E_UNKNOWN", "state:unexpected_event",
           WithPlan("event ESTABLISHED as=ADDR_CHANGE",
                    "RDMA_CM_EVENT_ADDR_CHANGE")
               .FromTheStart()
               .UsedUp())
      .Provider({"call:rdma_get_cm_event"})
      .Add("RPMA_E_PROVIDER", "call:rdma_ack_cm_event",
           Failing("rdma_ack_cm_event").UsedUp())
      .Add("RPMA_E_NOMEM", "oom", Trial{.failing_allocation = 1})
      .Add("RPMA_E_NO_EVENT", "state:no_event if:errno==ENODATA",
           {Otherwise(NextEventThatDoesNotWait, "")
                .In({.options = "empty_channel_errno=ENODATA"}),
            Otherwise(NextEventThatDoesNotWait, "")});
}

// --- Waiting on a shared channel ---------------------------------------------

Call WaitOf(Stage& stage, const End& end) {
  return RPMA_CALL(rpma_conn_wait, end.conn, 0, stage.Out<rpma_cq*>(),
                   stage.Out<bool>());
}

Call Wait(Stage& stage) {
  return WaitOf(stage, ClientWithCompletion(stage, WithSharedChannel(stage)));
}

void AddWait(Registry& registry) {
  registry.Of("rpma_conn_wait", Wait)
      .Inval({"null:conn", "null:cq"})
      .Add("RPMA_E_NOT_SHARED_CHNL", "state:not_shared_channel",
           Otherwise([](Stage& stage) { return WaitOf(stage, stage.client()); },
                     "rpma_conn_wait...shared completion channel"))
      .Add("RPMA_E_NO_COMPLETION", "call:ibv_get_cq_event",
           {WithPlan("fail ibv_get_cq_event errno=EAGAIN", ""),
            WithPlan("fail ibv_get_cq_event errno=EINTR", ""),
            Failing("ibv_get_cq_event")})
      .Add("RPMA_E_UNKNOWN", "state:unknown_cq",
           WithPlan("foreign_cq", "unknown CQ").UsedUp())
      .Provider({"call:ibv_req_notify_cq"});
}

// --- The end -----------------------------------------------------------------

Call DeleteClient(Stage& stage, const rpma_conn_cfg* cfg) {
  Pair& pair = stage.Keep(stage.ConnectedPair({.client_cfg = cfg}));
  return RPMA_CALL(rpma_conn_delete, pair.client.conn.address());
}

Call Delete(Stage& stage) { return DeleteClient(stage, nullptr); }

Call DeleteWithRcq(Stage& stage) { return DeleteClient(stage, WithRcq(stage)); }

// The receive CQ is destroyed first.
std::vector<Trial> FailingToDestroyACq() {
  std::vector<Trial> trials = FailingToDestroy(
      "ibv_destroy_cq", {.comp_channels = 1, .cqs = 1, .descriptors = 1},
      {"ibv_destroy_comp_channel"});
  for (int k : {1, 2}) {
    trials.push_back(
        FailingNth("ibv_destroy_cq", k)
            .On(DeleteWithRcq)
            .Logging({"ibv_destroy_cq", "ibv_destroy_comp_channel"})
            .Leaving({.comp_channels = 1, .cqs = 1, .descriptors = 1}));
  }
  return trials;
}

void AddDelete(Registry& registry) {
  registry.Of("rpma_conn_delete", Delete)
      .Inval({"null:conn_ptr"})
      .Add("RPMA_E_INVAL", "call:munmap",
           Trial{.failing_libc = LibcFunction::kMunmap})
      .Add("RPMA_E_PROVIDER", "call:ibv_destroy_cq", FailingToDestroyACq())
      .Add("RPMA_E_PROVIDER", "call:rdma_destroy_id",
           FailingToDestroy(
               "rdma_destroy_id",
               {.cm_ids = 1, .event_channels = 1, .descriptors = 1}, {}))
      .Add("RPMA_E_PROVIDER", "call:ibv_dereg_mr",
           FailingToDestroy("ibv_dereg_mr", {.mrs = 1}, {}))
      .Add("RPMA_E_PROVIDER", "call:ibv_destroy_comp_channel",
           FailingToDestroy("ibv_destroy_comp_channel",
                            {.comp_channels = 1, .descriptors = 1}, {}));
}

}  // namespace

void AddConnectionCases(Registry& registry) {
  AddGetters(registry);
  AddCompletionFd(registry);
  AddNextEvent(registry);
  AddWait(registry);
  AddDelete(registry);
  registry
      .Of("rpma_conn_apply_remote_peer_cfg",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_apply_remote_peer_cfg,
                             stage.client().conn,
                             stage.New<PeerCfg>(rpma_peer_cfg_new));
          })
      .Inval({"null:conn", "null:pcfg"});
  registry
      .Of("rpma_conn_disconnect",
          [](Stage& stage) {
            return RPMA_CALL(rpma_conn_disconnect, stage.client().conn);
          })
      .Inval({"null:conn"})
      .Provider({"call:rdma_disconnect"});
}

}  // namespace rpma::test
