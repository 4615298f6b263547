// SPDX-License-Identifier: BSD-3-Clause
// Completion queues.

#include <array>

#include "tests/errors/cases.h"
#include "tests/errors/scenes.h"

namespace rpma::test {
namespace {

// --- Waiting -----------------------------------------------------------------

Call WaitOf(const End& end) { return RPMA_CALL(rpma_cq_wait, end.cq); }

Call Wait(Stage& stage) { return WaitOf(ClientWithCompletion(stage, nullptr)); }

Call WaitOnSharedChannel(Stage& stage) {
  return WaitOf(ClientWithCompletion(stage, WithSharedChannel(stage)));
}

Call WaitThatDoesNotWait(Stage& stage) {
  MakeNonBlocking(CompletionFd(stage.client().cq));
  return WaitOf(stage.client());
}

void AddWait(Registry& registry) {
  registry.Of("rpma_cq_wait", Wait)
      .Inval({"null:cq"})
      .Provider({"call:ibv_req_notify_cq"})
      .Add("RPMA_E_NO_COMPLETION", "state:no_completion",
           Otherwise(WaitThatDoesNotWait, ""))
      .Add("RPMA_E_NO_COMPLETION", "call:ibv_get_cq_event",
           {WithPlan("fail ibv_get_cq_event errno=EAGAIN", ""),
            WithPlan("fail ibv_get_cq_event errno=EINTR", ""),
            Failing("ibv_get_cq_event")})
      .Add("RPMA_E_SHARED_CHANNEL", "state:shared_channel",
           Otherwise(WaitOnSharedChannel,
                     "rpma_cq_wait...shared completion channel"));
}

// --- Polling -----------------------------------------------------------------

using Completions = std::array<ibv_wc, 2>;

Call PollOf(Stage& stage, const End& end) {
  return RPMA_CALL(rpma_cq_get_wc, end.cq, 2, stage.Keep(Completions()).data(),
                   stage.Out<int>());
}

Call Poll(Stage& stage) {
  return PollOf(stage, ClientWithCompletion(stage, nullptr));
}

void AddPoll(Registry& registry) {
  registry.Of("rpma_cq_get_wc", Poll)
      .Inval({"null:cq", "null:wc"})
      .Add("RPMA_E_INVAL", "null:num_entries_got if:num_entries>1",
           WithNull("num_entries_got"))
      .Add("RPMA_E_INVAL", "range:num_entries:<1",
           {WithNumber("num_entries", 0), WithNumber("num_entries", -1)})
      .Add("RPMA_E_NO_COMPLETION", "state:no_completion",
           Otherwise([](Stage& stage) { return PollOf(stage, stage.client()); },
                     ""))
      .Add("RPMA_E_PROVIDER", "call:ibv_poll_cq if:ret<0",
           WithPlan("fail ibv_poll_cq", "ibv_poll_cq"))
      .Add("RPMA_E_UNKNOWN", "call:ibv_poll_cq if:no_provider_error",
           WithPlan("fail ibv_poll_cq errno=none", "ibv_poll_cq"))
      .Add("RPMA_E_UNKNOWN", "call:ibv_poll_cq if:ret>num_entries",
           WithPlan("fail ibv_poll_cq outcome=excess",
                    "ibv_poll_cq...3 completions"));
}

}  // namespace

void AddCompletionCases(Registry& registry) {
  AddWait(registry);
  AddPoll(registry);
  registry
      .Of("rpma_cq_get_fd",
          [](Stage& stage) {
            return RPMA_CALL(rpma_cq_get_fd, stage.client().cq,
                             stage.Out<int>());
          })
      .Inval({"null:cq", "null:fd"});
}

}  // namespace rpma::test
