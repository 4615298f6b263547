// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/fault_effects.h"

#include "tests/sim/completing.h"

namespace rpma::sim {
namespace {

bool IsOn(const End& end, const FaultRule& rule) {
  return !rule.node.has_value() || end.node().number == *rule.node;
}

// Either end is.
bool Touches(const End& end, const FaultRule& rule) {
  return IsOn(end, rule) || (end.other != nullptr && IsOn(*end.other, rule));
}

template <typename Do>
void ForConnected(World& world, Do what) {
  for (const auto& end : world.ends) {
    if (end->is_connection() && end->other != nullptr) what(*end);
  }
}

void MarkBothMayFail(World& world, End& end) {
  MarkMayFail(world.rules, end);
  MarkMayFail(world.rules, *end.other);
}

bool IsTold(ibv_wc_status status) {
  return status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ACCESS_ERR ||
         status == IBV_WC_REM_OP_ERR || status == IBV_WC_REM_ABORT_ERR;
}

// What the device makes of it: without native operations an atomic write is a
// write, and a flush a read.
OpKind OperationOf(const Request& request) {
  if (request.opcode == IBV_WC_RDMA_WRITE) return OpKind::kWrite;
  if (request.opcode == IBV_WC_RDMA_READ) return OpKind::kRead;
  return request.kind;
}

// Any request that fits may be the one.
void OnComplete(World& world, const FaultRule& rule) {
  ForConnected(world, [&](End& end) {
    if (!IsOn(end, rule)) return;
    for (Request& request : end.requests) {
      if (rule.op.has_value() && OperationOf(request) != *rule.op) continue;
      request.injected.Add(rule.status);
      MarkMayFail(world.rules, end);
      if (!IsTold(rule.status)) continue;
      // The other end has found the error, with a receive that it took.
      MarkMayFail(world.rules, *end.other);
      end.other->receive_errors.Add(
          {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_GENERAL_ERR});
    }
  });
}

void OnCompleteReceive(World& world, const FaultRule& rule) {
  ForConnected(world, [&](End& end) {
    if (!IsOn(end, rule)) return;
    bool has_sender = false;
    for (Request& request : end.other->requests) {
      if (!request.message.has_value()) continue;
      if (!world.rules.is_iwarp) request.errors.Add(IBV_WC_REM_OP_ERR);
      has_sender = true;
    }
    // On iWARP the sender may have seen its request succeed.
    if (!has_sender && !world.rules.is_iwarp) return;
    end.receive_errors.Add(rule.status);
    MarkBothMayFail(world, end);
  });
}

void OnLoss(World& world, const FaultRule& rule) {
  for (const auto& end : world.ends) {
    if (Touches(*end, rule)) LoseRequests(world.rules, *end);
  }
  world.nodes[*rule.node]->may_lose_requests = true;
}

void OnCmHindrance(World& world, const FaultRule& rule) {
  world.rules.cm_is_late = true;
  world.rules.goodbyes_may_be_lost |= rule.loses_goodbyes;
  if (!rule.ends_patience) return;
  world.rules.patience_ends = true;
  for (const auto& end : world.ends) DoubtConnection(world.rules, *end);
}

void OnCmLoss(World& world) {
  world.rules.cm_is_late = true;
  world.rules.cm_may_fail = true;
  for (const auto& end : world.ends) DoubtConnection(world.rules, *end);
}

void OnEventOrder(World& world) {
  for (const auto& end : world.ends) {
    if (end->is_connection()) end->events_in_doubt = true;
  }
}

// Whether something was posted that may complete there, well or not.
bool HasAnything(const Cq& cq) {
  for (const End* const end : cq.feeders) {
    if (!end->requests.empty() || !end->receives.empty()) return true;
    if (end->config.srq != nullptr) return true;
  }
  return false;
}

void OnOverrun(World& world) {
  for (Cq* const cq : AllCqs(world)) {
    if (HasAnything(*cq)) LoseCompletions(world, *cq);
  }
}

// The objects on the node have stopped working; those at the other end of their
// connections see it in one way or another.
void Strike(World& world, const FaultRule& rule) {
  for (const auto& end : world.ends) {
    if (end->is_gone() || !IsOn(*end, rule)) continue;
    end->is_struck = end->events_in_doubt = true;
    MarkMayFail(world.rules, *end);
    if (end->other == nullptr) continue;
    end->other->events_in_doubt = true;
    LoseRequests(world.rules, *end->other);
  }
  for (const auto& endpoint : world.endpoints) {
    if (endpoint->peer->node->number != *rule.node) continue;
    endpoint->is_struck = true;
    for (End* const caller : endpoint->callers) caller->rejectable = true;
  }
  OnCmLoss(world);
}

}  // namespace

void OnFired(World& world, const FaultRule& rule) {
  world.rules.answers_may_be_lost |= rule.loses_answers;
  switch (rule.kind) {
    case FaultKind::kComplete:
      return OnComplete(world, rule);
    case FaultKind::kCompleteReceive:
      return OnCompleteReceive(world, rule);
    case FaultKind::kLoss:
      return OnLoss(world, rule);
    case FaultKind::kCmHindrance:
      return OnCmHindrance(world, rule);
    case FaultKind::kCmLoss:
      return OnCmLoss(world);
    case FaultKind::kEventOrder:
      return OnEventOrder(world);
    case FaultKind::kOverrun:
      return OnOverrun(world);
    case FaultKind::kLink:
      OnLoss(world, rule);
      return OnCmLoss(world);
    case FaultKind::kExit:
      return Strike(world, rule);
    case FaultKind::kPower:
    case FaultKind::kRemove:
      world.nodes[*rule.node]->is_gone = true;
      OnLoss(world, rule);
      return Strike(world, rule);
    default:
      return;  // seen where it acts, or without effect in the end
  }
}

}  // namespace rpma::sim
