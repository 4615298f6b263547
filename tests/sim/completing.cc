// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/completing.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "tests/sim/receiving.h"
#include "tests/sim/sending.h"

namespace rpma::sim {
namespace {

constexpr uint8_t kUntouched = 0xa5;
constexpr size_t kMaxCompletions = 256;        // of the largest queue
constexpr size_t kMaxReceives = SIZE_MAX / 4;  // that a run can post

bool IsReadable(int fd) {
  pollfd entry = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1;
}

End& OwnerOf(const Cq& cq, const ibv_wc& wc) {
  for (End* const end : cq.feeders) {
    if (end->qp_num == wc.qp_num) return *end;
  }
  Violated("a completion in cq ", cq.number, " names queue pair ", wc.qp_num,
           ", which does not complete there");
}

void CheckCompletion(World& world, Cq& cq, const ibv_wc& wc) {
  End& end = OwnerOf(cq, wc);
  world.Say(Text("  cq ", cq.number, ", end ", end.number, ": ", wc.wr_id, " ",
                 ToText(wc.status)));
  if (HasRequest(end, wc.wr_id)) {
    CheckSent(world, cq, end, wc);
  } else {
    CheckReceive(world, cq, end, wc);
  }
}

void OnPolled(Cq& cq) {
  if (cq.sleeps && !cq.arming_is_unknown) cq.event_is_due = true;
  cq.sleeps = false;
  cq.must_hold = false;
  cq.woken_since_polled = 0;
  ++cq.polled_since_armed;
}

void OnEmpty(World& world, Cq& cq) {
  if (cq.must_hold && cq.armed_too_often > 0) {
    --cq.armed_too_often;
    cq.must_hold = false;
  }
  Require(!cq.must_hold || cq.may_lose, "cq ", cq.number,
          " announced a completion and has none");
  cq.must_hold = false;
  cq.sleeps = true;
  CheckAllArrived(world, cq);
}

// Its event was fetched, and it was armed again.
void OnWoken(Cq& cq) {
  ++cq.woken_since_polled;
  Require(cq.woken_since_polled <= kMaxCompletions, "cq ", cq.number,
          " announces more completions than it can hold");
  cq.must_hold = cq.polled_since_armed == 0 && !cq.arming_is_unknown;
  cq.polled_since_armed = 0;
  cq.event_is_due = cq.sleeps = cq.arming_is_unknown = false;
}

void CheckWait(World& world, int rc, bool was_readable, bool is_due) {
  if (rc == 0) return world.Mark("woken");
  world.Expect({RPMA_E_NO_COMPLETION});
  Require(!is_due, "a completion was fetched whose event never came");
  Require(!was_readable,
          "the descriptor was readable, but the wait found nothing");
}

// A provider call failed in a wait. If it was to arm the queue, its event was
// fetched before.
void FailToWait(World& world, Cq& cq) {
  world.ExpectFailure({RPMA_E_PROVIDER, RPMA_E_NO_COMPLETION});
  if (!world.faults.CallFailed("ibv_req_notify_cq")) return;
  cq.event_is_due = cq.sleeps = cq.must_hold = false;
  cq.arming_is_unknown = true;
}

// How many completions may be in a queue at most, by what an end has posted.
size_t PossibleFrom(const Cq& cq, const End& end) {
  size_t count = 0;
  if (end.cq.get() == &cq) {
    for (const Request& request : end.requests) {
      count += end.may_fail || request.signaled ? 1 : 0;
    }
  }
  if (end.recv_cq != &cq) return count;
  const size_t messages =
      end.other != nullptr ? end.other->messages.size() - end.received : 0;
  const Srq* const srq = end.config.srq;
  if (srq != nullptr) return count + std::min(messages, srq->receives.size());
  const size_t receives = end.receives.size();
  return count + (end.may_fail ? receives : std::min(messages, receives));
}

bool MayOverrun(const Cq& cq, size_t srq_receives) {
  size_t count = 0;
  if (srq_receives > 0) return srq_receives > cq.size;
  for (const End* const end : cq.feeders) count += PossibleFrom(cq, *end);
  return count > cq.size;
}

bool NoteOverrun(World& world, Cq& cq, size_t srq_receives) {
  if (cq.may_lose || !MayOverrun(cq, srq_receives)) return false;
  LoseCompletions(world, cq);
  return true;
}

}  // namespace

std::vector<Cq*> AllCqs(const World& world) {
  std::vector<Cq*> cqs;
  for (const auto& end : world.ends) {
    if (!end->is_connection()) continue;
    cqs.push_back(end->cq.get());
    if (end->rcq != nullptr) cqs.push_back(end->rcq.get());
  }
  for (const auto& srq : world.srqs) {
    if (srq->rcq != nullptr) cqs.push_back(srq->rcq.get());
  }
  return cqs;
}

bool MayGetMore(const Cq& cq) {
  return std::any_of(cq.feeders.begin(), cq.feeders.end(), [&](const End* end) {
    return PossibleFrom(cq, *end) > 0;
  });
}

size_t Poll(World& world, Cq& cq, size_t capacity) {
  NoteOverruns(world);
  std::vector<ibv_wc> wcs(capacity);
  std::memset(wcs.data(), kUntouched, capacity * sizeof(ibv_wc));
  int got = -1;
  const int rc = world.Call("rpma_cq_get_wc", [&] {
    return world.api.cq_get_wc(cq.handle, static_cast<int>(capacity),
                               wcs.data(), &got);
  });
  world.Say(Text("cq ", cq.number, ": poll for ", capacity, world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER, RPMA_E_UNKNOWN});
    return 0;
  }
  if (rc == RPMA_E_NO_COMPLETION) {
    OnEmpty(world, cq);
    return 0;
  }
  if (rc == RPMA_E_PROVIDER && cq.may_lose) return 0;
  world.Expect({0});
  Require(got >= 1 && static_cast<size_t>(got) <= capacity, "cq ", cq.number,
          " gave ", got, " completions of ", capacity);
  const auto count = static_cast<size_t>(got);
  for (size_t i = 0; i < count; ++i) {
    OnPolled(cq);
    CheckCompletion(world, cq, wcs[i]);
  }
  return count;
}

bool EventIsDue(const Cq& cq) { return cq.event_is_due; }

bool Wait(World& world, Cq& cq) {
  int fd = -1;
  Require(rpma_cq_get_fd(cq.handle, &fd) == 0, "cq ", cq.number,
          " has no descriptor");
  const bool was_readable = IsReadable(fd);
  const int rc =
      world.Call("rpma_cq_wait", [&] { return world.api.cq_wait(cq.handle); });
  world.Say(Text("cq ", cq.number, ": wait", world.Result()));
  if (cq.is_shared_channel) {
    world.Expect({RPMA_E_SHARED_CHANNEL});
    return false;
  }
  if (world.CallFailed()) {
    FailToWait(world, cq);
    return false;
  }
  if (world.faults.FiredNow(FaultKind::kForeignCq)) {
    world.Expect({0});
    ++cq.armed_too_often;
    return true;
  }
  CheckWait(world, rc, was_readable, EventIsDue(cq));
  if (rc == 0) OnWoken(cq);
  return rc == 0;
}

bool Wait(World& world, End& end) {
  int fd = -1;
  const int no_fd = rpma_conn_get_compl_fd(end.conn, &fd);
  rpma_cq* handle = nullptr;
  bool is_rcq = false;
  const bool was_readable = no_fd == 0 && IsReadable(fd);
  const int rc = world.Call("rpma_conn_wait", [&] {
    return world.api.conn_wait(end.conn, 0, &handle, &is_rcq);
  });
  world.Say(Text("end ", end.number, ": wait", world.Result()));
  if (!end.config.shared_channel) {
    Require(no_fd == RPMA_E_NOT_SHARED_CHNL, "end ", end.number,
            " has a completion descriptor");
    world.Expect({RPMA_E_NOT_SHARED_CHNL});
    return false;
  }
  if (world.CallFailed()) {
    FailToWait(world, *end.cq);
    if (end.rcq != nullptr) FailToWait(world, *end.rcq);
    return false;
  }
  if (world.faults.FiredNow(FaultKind::kForeignCq)) {
    world.Expect({RPMA_E_UNKNOWN});
    return true;
  }
  const bool is_due =
      EventIsDue(*end.cq) || (end.rcq != nullptr && EventIsDue(*end.rcq));
  CheckWait(world, rc, was_readable, is_due);
  if (rc != 0) return false;
  Cq* const woken = is_rcq ? end.rcq.get() : end.cq.get();
  Require(woken != nullptr && woken->handle == handle,
          "rpma_conn_wait() named a queue that is not of end ", end.number);
  OnWoken(*woken);
  return true;
}

void LoseCompletions(World& world, Cq& cq) {
  if (cq.may_lose) return;
  cq.may_lose = true;
  world.Mark("possible overrun");
  for (End* const end : cq.feeders) {
    MarkMayFail(world.rules, *end);
    Srq* const srq = end->config.srq;
    if (srq != nullptr && end->recv_cq == &cq) srq->maybe_gone = kMaxReceives;
  }
}

void NoteOverruns(World& world) {
  for (bool found = true; found;) {
    found = false;
    for (const auto& end : world.ends) {
      if (end->is_gone()) continue;
      if (NoteOverrun(world, *end->cq, 0)) found = true;
      if (end->rcq != nullptr && NoteOverrun(world, *end->rcq, 0)) found = true;
    }
    for (const auto& srq : world.srqs) {
      if (srq->rcq == nullptr) continue;
      if (NoteOverrun(world, *srq->rcq, srq->receives.size())) found = true;
    }
  }
}

}  // namespace rpma::sim
