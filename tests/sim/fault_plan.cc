// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/fault_plan.h"

#include <string_view>

#include "tests/sim/status_set.h"
#include "tests/sim/violation.h"

namespace rpma::sim {
namespace {

struct FailingCall {
  const char* name;
  size_t about;  // how many of it a walk makes
  bool creates;  // may fail for good: all can be undone nevertheless
  bool frees;
  bool can_have_no_cause;
};

// Not ibv_advise_mr, which walks do not call.
constexpr FailingCall kCalls[] = {
    {"ibv_post_send", 80, false, false, false},
    {"ibv_post_recv", 40, false, false, false},
    {"ibv_post_srq_recv", 20, false, false, false},
    {"ibv_wr_flush", 10, false, false, false},
    {"ibv_wr_atomic_write", 10, false, false, false},
    {"ibv_poll_cq", 300, false, false, true},
    {"ibv_query_device_ex", 5, true, false, false},
    {"ibv_alloc_pd", 5, true, false, true},
    {"ibv_dealloc_pd", 3, false, true, false},
    {"ibv_reg_mr", 30, true, false, true},
    {"ibv_dereg_mr", 20, false, true, false},
    {"ibv_create_comp_channel", 30, true, false, true},
    {"ibv_destroy_comp_channel", 20, false, true, false},
    {"ibv_create_cq", 30, true, false, true},
    {"ibv_destroy_cq", 20, false, true, false},
    {"ibv_req_notify_cq", 60, false, false, false},
    {"ibv_get_cq_event", 40, false, false, true},
    {"ibv_create_srq", 5, true, false, true},
    {"ibv_destroy_srq", 3, false, true, false},
    {"rdma_getaddrinfo", 30, true, false, false},
    {"rdma_create_event_channel", 30, true, false, true},
    {"rdma_get_cm_event", 80, false, false, true},
    {"rdma_ack_cm_event", 40, false, true, true},
    {"rdma_create_id", 30, true, false, true},
    {"rdma_destroy_id", 20, false, true, true},
    {"rdma_migrate_id", 20, false, false, true},
    {"rdma_bind_addr", 8, true, false, true},
    {"rdma_listen", 8, true, false, true},
    {"rdma_resolve_addr", 20, true, false, true},
    {"rdma_resolve_route", 20, true, false, true},
    {"rdma_connect", 15, true, false, true},
    {"rdma_accept", 10, true, false, true},
    {"rdma_reject", 5, false, false, true},
    {"rdma_disconnect", 10, false, false, true},
    {"rdma_create_qp_ex", 20, true, false, true},
    {"ibv_destroy_qp", 20, false, true, false},
};

constexpr ibv_wc_status kStatuses[] = {
    IBV_WC_LOC_LEN_ERR,     IBV_WC_LOC_QP_OP_ERR,     IBV_WC_LOC_PROT_ERR,
    IBV_WC_WR_FLUSH_ERR,    IBV_WC_BAD_RESP_ERR,      IBV_WC_LOC_ACCESS_ERR,
    IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,    IBV_WC_REM_OP_ERR,
    IBV_WC_RETRY_EXC_ERR,   IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_ABORT_ERR,
    IBV_WC_FATAL_ERR,       IBV_WC_GENERAL_ERR,
};

struct Operation {
  const char* name;
  std::optional<OpKind> op;
};
constexpr Operation kOperations[] = {
    {"send", OpKind::kSend},   {"write", OpKind::kWrite},
    {"read", OpKind::kRead},   {"atomic_write", OpKind::kAtomicWrite},
    {"flush", OpKind::kFlush}, {"any", std::nullopt},
};

constexpr const char* kMessages[] = {"REQ", "REP",  "RTU",
                                     "REJ", "DREQ", "DREP"};
constexpr const char* kEvents[] = {"ESTABLISHED", "DISCONNECTED", "REJECTED",
                                   "TIMEWAIT_EXIT", "UNREACHABLE"};

std::string Device(size_t node) { return Text(" device=emu", node); }

FaultRule OfACall(Random& random) {
  const FailingCall& call = random.Pick(kCalls);
  FaultRule rule;
  rule.kind = FaultKind::kCall;
  rule.call = call.name;
  const bool for_good = call.creates && random.OneIn(6);
  rule.text =
      Text("fail ", call.name,
           for_good ? " from=" : " nth=", random.Between(1, call.about));
  constexpr const char* kErrnos[] = {"EIO", "ENOMEM", "EINVAL", "ENODEV"};
  if (call.can_have_no_cause && random.OneIn(5)) {
    rule.text += " errno=none";
  } else {
    rule.text += Text(" errno=", random.Pick(kErrnos));
  }
  return rule;
}

FaultRule OfACompletion(Random& random, size_t nodes) {
  FaultRule rule;
  rule.status = random.Pick(kStatuses);
  const std::string status = ToText(rule.status);
  if (random.OneIn(4)) {
    rule.kind = FaultKind::kCompleteReceive;
    rule.text =
        Text("complete recv status=", status, " nth=", random.Between(1, 15));
  } else {
    const Operation& operation = random.Pick(kOperations);
    rule.kind = FaultKind::kComplete;
    rule.op = operation.op;
    rule.text = Text("complete ", operation.name, " status=", status,
                     " nth=", random.Between(1, 30));
  }
  if (random.OneIn(3)) {
    rule.node = random.Below(nodes);
    rule.text += Device(*rule.node);
  }
  return rule;
}

std::string Time(Random& random) {
  return Text(" time=", random.Between(1, 3000), "ms");
}

FaultRule OfATry(Random& random, size_t nodes) {
  FaultRule rule;
  rule.kind = FaultKind::kHindrance;
  const Operation& operation = random.Pick(kOperations);
  const size_t nth = random.Between(1, 60);
  switch (random.Below(5)) {
    case 0:
      rule.text = Text("drop ", operation.name, " nth=", nth);
      break;
    case 1:
      rule.text = Text("drop ", operation.name, " what=response nth=", nth);
      rule.loses_answers = true;
      break;
    case 2:
      rule.text = Text("delay ", operation.name, Time(random), " nth=", nth);
      break;
    case 3:
      rule.text = Text("duplicate ", operation.name, " nth=", nth);
      break;
    default:
      rule.text = Text("rnr", Time(random), " nth=", random.Between(1, 20));
  }
  if (random.OneIn(8)) {
    rule.kind = FaultKind::kLoss;
    rule.text = Text("drop ", operation.name, " from=", nth);
    rule.node = random.Below(nodes);
    rule.text += Device(*rule.node);
  }
  return rule;
}

FaultRule OfACmMessage(Random& random) {
  FaultRule rule;
  rule.kind = FaultKind::kCmHindrance;
  const char* const message = random.Pick(kMessages);
  const size_t nth = random.Between(1, 12);
  switch (random.Below(4)) {
    case 0:
      rule.text = Text("drop ", message, " nth=", nth);
      rule.ends_patience = message == std::string_view("REJ") ||
                           message == std::string_view("RTU");
      rule.loses_goodbyes = message == std::string_view("DREQ");
      break;
    case 1:
      rule.text = Text("delay ", message, Time(random), " nth=", nth);
      break;
    case 2:
      rule.text = Text("duplicate ", message, " nth=", nth);
      break;
    default:
      rule.kind = FaultKind::kCmLoss;
      rule.text = Text("drop ", message, " from=", nth);
  }
  return rule;
}

FaultRule OfAnEvent(Random& random) {
  FaultRule rule;
  const char* const event = random.Pick(kEvents);
  const size_t nth = random.Between(1, 8);
  rule.kind = FaultKind::kEventOrder;
  switch (random.Below(4)) {
    case 0:
      rule.text = Text("event ", event, " ahead nth=", nth);
      break;
    case 1:
      rule.text = Text("event ", event, " delay=", random.Between(1, 3000),
                       "ms nth=", nth);
      break;
    case 2:
      rule.kind = FaultKind::kEventAs;
      rule.text = Text("event ", event, " as=ADDR_CHANGE nth=", nth);
      break;
    default:
      rule.kind = FaultKind::kEventAs;
      rule.text = Text("event CONNECT_REQUEST as=MULTICAST_JOIN nth=", nth);
  }
  return rule;
}

FaultRule OfAQueue(Random& random) {
  FaultRule rule;
  if (random.OneIn(2)) {
    rule.kind = FaultKind::kForeignCq;
    rule.text = Text("foreign_cq nth=", random.Between(1, 20));
  } else {
    rule.kind = FaultKind::kOverrun;
    rule.text = Text("overrun nth=", random.Between(1, 80));
  }
  return rule;
}

FaultRule OfADevice(Random& random, size_t nodes) {
  FaultRule rule;
  rule.node = random.Below(nodes);
  const std::string device = Device(*rule.node);
  const size_t nth = random.Between(1, 150);
  switch (random.Below(4)) {
    case 0:
      rule.kind = FaultKind::kLink;
      rule.text =
          Text("link", device, " state=down",
               Text(" time=", random.Between(1, 40), "s"), " nth=", nth);
      break;
    case 1:
      rule.kind = FaultKind::kExit;
      rule.text = Text("exit", device, " nth=", nth);
      break;
    case 2:
      rule.kind = FaultKind::kPower;
      rule.text = Text("power", device, " nth=", nth);
      break;
    default:
      rule.kind = FaultKind::kRemove;
      rule.text = Text("remove", device, " nth=", nth);
  }
  return rule;
}

}  // namespace

std::vector<FaultRule> DrawPlan(Random& random, size_t nodes) {
  std::vector<FaultRule> plan;
  const auto draw = [&](unsigned percent, size_t most, auto make) {
    if (!random.Percent(percent)) return;
    for (size_t left = random.Between(1, most); left > 0; --left) {
      plan.push_back(make());
    }
  };
  draw(40, 4, [&] { return OfACall(random); });
  draw(25, 2, [&] { return OfACompletion(random, nodes); });
  draw(25, 3, [&] { return OfATry(random, nodes); });
  draw(20, 2, [&] { return OfACmMessage(random); });
  draw(10, 1, [&] { return OfAnEvent(random); });
  draw(10, 1, [&] { return OfAQueue(random); });
  draw(15, 1, [&] { return OfADevice(random, nodes); });
  return plan;
}

std::string ToText(const std::vector<FaultRule>& plan) {
  std::string text;
  for (const FaultRule& rule : plan) {
    text += (text.empty() ? "" : "; ") + rule.text;
  }
  return text;
}

}  // namespace rpma::sim
