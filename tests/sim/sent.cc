// SPDX-License-Identifier: BSD-3-Clause
// The completions of requests other than receives.

#include <algorithm>

#include "tests/sim/receiving.h"
#include "tests/sim/sending.h"

namespace rpma::sim {
namespace {

std::string Name(const End& end, const Request& request) {
  return Text("request ", request.id, " of end ", end.number);
}

StatusSet AllowedStatuses(const World& world, const End& end,
                          const Request& request) {
  if (request.must_be_flushed) return {IBV_WC_WR_FLUSH_ERR};
  StatusSet allowed = request.errors;
  if (request.may_succeed) allowed.Add(IBV_WC_SUCCESS);
  if (end.may_fail) allowed.Add(IBV_WC_WR_FLUSH_ERR);
  if (!world.rules.is_iwarp && end.other->may_fail) {
    allowed.Add(IBV_WC_RETRY_EXC_ERR);
  }
  return allowed;
}

// On iWARP, whether its success says that what was posted before has arrived.
bool Confirms(const Request& request) {
  return request.opcode != IBV_WC_SEND && request.opcode != IBV_WC_RDMA_WRITE;
}

void Release(const Request& request) {
  if (!request.holds_source()) return;
  for (size_t i = 0; i < request.length; ++i) {
    --request.local->held[request.local_offset + i];
  }
}

// It has taken effect.
void Finish(World& world, End& end, const Request& request) {
  if (request.target != nullptr) {
    request.target->model->Finish(request.transfer, world.now);
    request.target->model->Check(request.target->bytes());
  }
  if (!request.message.has_value()) return;
  end.messages[*request.message].acknowledged = true;
  end.acknowledged = *request.message + 1;
  FinishMessage(world, *end.other, *request.message);
}

void Succeed(World& world, End& end, const Request& request) {
  Release(request);
  if (!world.rules.is_iwarp) return Finish(world, end, request);
  end.unconfirmed.push_back(request);
  if (!Confirms(request)) return;
  for (const Request& confirmed : end.unconfirmed) {
    Finish(world, end, confirmed);
  }
  end.unconfirmed.clear();
}

// Whether a request that failed with this status has done nothing.
bool MeansNoEffect(ibv_wc_status status) {
  return status != IBV_WC_WR_FLUSH_ERR && status != IBV_WC_RETRY_EXC_ERR;
}

void Fail(End& end, const Request& request, ibv_wc_status status) {
  Release(request);
  const bool no_effect = MeansNoEffect(status);
  if (request.target != nullptr) {
    MemoryModel& model = *request.target->model;
    no_effect ? model.Cancel(request.transfer)
              : model.Abandon(request.transfer);
  }
  if (request.message.has_value() && no_effect) {
    end.messages[*request.message].is_undelivered = true;
  }
}

// A request was passed over by the completion of a later one.
void CheckSilentSuccess(const World& world, const Cq& cq, const End& end,
                        const Request& request, uint64_t later) {
  if (cq.may_lose) return;
  Require(!end.send_queue_flushes, Name(end, request),
          " was not flushed, but request ", later, " behind it");
  Require(!request.signaled, Name(end, request),
          " has had no completion, but request ", later, " behind it");
  Require(AllowedStatuses(world, end, request).Has(IBV_WC_SUCCESS),
          Name(end, request),
          " cannot succeed, but has had no completion before request ", later);
}

void CheckSuccess(const End& end, const Request& request, const ibv_wc& wc) {
  Require(request.signaled, Name(end, request),
          " is unsignalled, but its success was told");
  Require(!end.send_queue_flushes, Name(end, request),
          " succeeded after one of its queue was flushed");
  Require(int{wc.opcode} == request.opcode, Name(end, request),
          " completed with opcode ", int{wc.opcode}, ", not ", request.opcode);
  if (request.kind == OpKind::kRead) {
    Require(wc.byte_len == request.length, Name(end, request), " read ",
            wc.byte_len, " of ", request.length, " bytes");
  }
}

// How many messages the other end can surely take by its receives.
size_t ReceivableMessages(const End& receiver) {
  const Srq* const srq = receiver.config.srq;
  if (srq == nullptr) return receiver.receives_posted;
  const bool surely_has_some = srq->receives.size() > srq->maybe_gone;
  return surely_has_some ? SIZE_MAX : 0;
}

// Whether the other end cannot be reached yet, and nothing else is wrong.
bool WaitsForReadiness(const World& world, const End& end) {
  if (end.other == nullptr || end.failed) return end.requests.empty();
  const End& other = *end.other;
  return !end.is_active() && other.is_connection() && !other.failed &&
         ReadyToSend(world.rules, other) != Readiness::kYes;
}

// Whether it is a message that waits for a receive, with all behind it.
bool WaitsForReceive(const World& world, const End& end,
                     const Request& request) {
  return !world.rules.is_iwarp && request.message.has_value() &&
         *request.message >= ReceivableMessages(*end.other);
}

}  // namespace

bool HasRequest(const End& end, uint64_t id) {
  return std::any_of(end.requests.begin(), end.requests.end(),
                     [id](const Request& request) { return request.id == id; });
}

void CheckSent(World& world, Cq& cq, End& end, const ibv_wc& wc) {
  Require(&cq == end.cq.get(), "a request of end ", end.number,
          " completed in the wrong queue");
  while (end.requests.front().id != wc.wr_id) {
    const Request passed = std::move(end.requests.front());
    CheckSilentSuccess(world, cq, end, passed, wc.wr_id);
    end.requests.pop_front();
    if (cq.may_lose && wc.status != IBV_WC_SUCCESS) {
      Fail(end, passed, IBV_WC_WR_FLUSH_ERR);
    } else {
      Succeed(world, end, passed);
      world.Mark("silent success");
    }
  }
  const Request request = std::move(end.requests.front());
  end.requests.pop_front();
  const StatusSet allowed = AllowedStatuses(world, end, request);
  const bool injected = !allowed.Has(wc.status) &&
                        request.injected.Has(wc.status) &&
                        world.faults.TakeCompletion(wc.status);
  Require(allowed.Has(wc.status) || injected, Name(end, request),
          " completed with ", ToText(wc.status), "; only ", ToText(allowed),
          " may come");
  world.Mark(ToText(wc.status));
  if (wc.status == IBV_WC_SUCCESS) {
    CheckSuccess(end, request, wc);
    return Succeed(world, end, request);
  }
  end.send_queue_flushes = true;
  Fail(end, request,
       world.rules.answers_may_be_lost ? IBV_WC_RETRY_EXC_ERR : wc.status);
  MarkFailed(world.rules, end);
}

void AbandonRequests(End& end) {
  for (const Request& request : end.requests) {
    Fail(end, request, IBV_WC_WR_FLUSH_ERR);
  }
  end.requests.clear();
}

void CheckNoneIsStuck(const World& world, const End& end) {
  if (!end.is_connection() || end.is_struck) return;
  const bool lossy = end.recv_cq->may_lose;
  Require(!end.failed || end.receives.empty() || lossy, "end ", end.number,
          " has failed, but its receives are not flushed");
  if (end.cq->may_lose || WaitsForReadiness(world, end)) return;
  for (const Request& request : end.requests) {
    if (!end.failed && WaitsForReceive(world, end, request)) return;
    const bool must_complete =
        request.signaled || request.must_be_flushed || end.send_queue_flushes;
    Require(!must_complete, Name(end, request),
            " is stuck: nothing moves any more, and it has not completed");
  }
}

}  // namespace rpma::sim
