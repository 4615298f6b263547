// SPDX-License-Identifier: BSD-3-Clause
// The model of a connection: its events and the state of its queue pair.

#include "tests/sim/end.h"

namespace rpma::sim {
namespace {

// Both ends are connected in the eyes of the connection manager, so that the
// end of one is told to the other.
bool IsConnected(const Rules& rules, const End& end) {
  if (end.other == nullptr) return false;
  const End& active = end.is_active() ? end : *end.other;
  const End& passive = end.is_active() ? *end.other : end;
  return rules.is_iwarp ? passive.accepted : active.established;
}

bool MayBeEstablished(const Rules& rules, const End& end) {
  if (end.other == nullptr) return false;
  const End& other = *end.other;
  if (end.is_active()) return other.accepted;
  return end.accepted &&
         (rules.is_iwarp || other.established || other.events_in_doubt);
}

bool MayBeRejected(const End& end) {
  if (end.is_active()) return end.sent && end.rejectable;
  const End& other = *end.other;
  return end.accepted &&
         (other.is_gone() || other.ended || other.events_in_doubt);
}

bool MayBeUnreachable(const Rules& rules, const End& end) {
  return end.no_answer || MayGiveUp(rules);
}

// Fetching the response fails: the queue pair does not become ready, or fails
// at once as messages wait for it.
bool MayBeLost(const End& end) {
  return end.is_active() && end.other != nullptr && end.other->accepted &&
         (end.may_fail || end.other->is_gone() || end.other->ended);
}

bool MayBeClosed(const Rules& rules, const End& end) {
  if (end.other == nullptr) return false;
  const End& other = *end.other;
  // The message that it is established may come too late.
  const bool may_be_connected =
      end.established || (rules.cm_is_late && (end.accepted || other.accepted));
  if (!may_be_connected) return false;
  if (end.closed == 0) {
    return end.disconnected || other.disconnected || other.is_gone() ||
           other.events_in_doubt || (rules.is_iwarp && end.may_fail);
  }
  return end.closed == 1 && !rules.is_iwarp && end.disconnected;
}

// It was refused after it got the response, and before the other end got to
// know.
bool MayBeRejectedLate(const Rules& rules, const End& end) {
  return rules.is_stepped && !rules.is_iwarp && end.is_active() &&
         end.established && end.closed == 0 && end.other->is_gone() &&
         !end.other->established;
}

// Events may be missing, early or late; those of what is broken come, too.
bool MayGetInDoubt(const Rules& rules, const End& end, rpma_conn_event event) {
  switch (event) {
    case RPMA_CONN_ESTABLISHED:
      return !end.established && !end.ended && MayBeEstablished(rules, end);
    case RPMA_CONN_CLOSED:
      return end.closed < (rules.is_iwarp ? 1 : 2);
    case RPMA_CONN_LOST:
      return end.is_struck || !end.ended;
    case RPMA_CONN_REJECTED:
    case RPMA_CONN_UNREACHABLE:
      return !end.ended;
    default:
      return false;
  }
}

// Of the end of a connection that its other end has ended.
bool MustLearn(const Rules& rules, const End& end) {
  if (rules.cm_may_fail) return false;
  return !rules.goodbyes_may_be_lost || !end.other->is_gone();
}

}  // namespace

void MarkMayFail(const Rules& rules, End& end) {
  if (end.may_fail) return;
  end.may_fail = true;
  End* const other = end.other;
  if (other == nullptr) return;
  // Whoever waits for its answer fails; on iWARP the connection ends.
  if (rules.is_iwarp || !other->requests.empty()) MarkMayFail(rules, *other);
}

void MarkFailed(const Rules& rules, End& end) {
  end.failed = true;
  MarkMayFail(rules, end);
}

void LoseRequests(const Rules& rules, End& end) {
  end.may_lose_requests = true;
  if (end.requests.empty()) return;
  for (Request& request : end.requests) request.errors.Add(ErrorOfLoss(rules));
  MarkMayFail(rules, end);
}

bool MayGiveUp(const Rules& rules) {
  return rules.cm_may_fail || rules.patience_ends;
}

void DoubtConnection(const Rules& rules, End& end) {
  if (!end.is_connection() || end.established) return;
  if (rules.is_iwarp) {
    // The connection ends with the messages that nobody gets.
    MarkMayFail(rules, end);
  } else if (!end.is_active()) {
    // The other end may never be ready for what it sends.
    LoseRequests(rules, end);
  }
}

StatusSet ErrorOfLoss(const Rules& rules) {
  return {rules.is_iwarp ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR};
}

bool Wanders(const Rules& rules, const End& end) {
  return end.sent && (end.wanders || rules.cm_is_late);
}

Readiness ReadyToSend(const Rules& rules, const End& end) {
  if (end.is_struck) return Readiness::kUnknown;
  if (end.established || end.failed) return Readiness::kYes;
  if (end.events_in_doubt) return Readiness::kUnknown;
  if (!end.is_active()) return end.accepted ? Readiness::kYes : Readiness::kNo;
  // An iWARP queue pair is ready as soon as the other side accepts.
  const bool may_be =
      rules.is_iwarp && end.other != nullptr && end.other->accepted;
  return may_be ? Readiness::kUnknown : Readiness::kNo;
}

bool MayGet(const Rules& rules, const End& end, rpma_conn_event event) {
  if (end.events_in_doubt) return MayGetInDoubt(rules, end, event);
  if (end.ended) return false;
  const bool is_new = !end.established && end.closed == 0;
  switch (event) {
    case RPMA_CONN_ESTABLISHED:
      return is_new && MayBeEstablished(rules, end);
    case RPMA_CONN_REJECTED:
      // One that is late may come even to an established connection.
      return (is_new && MayBeRejected(end)) || MayBeRejectedLate(rules, end) ||
             rules.cm_is_late;
    case RPMA_CONN_UNREACHABLE:
      return is_new && MayBeUnreachable(rules, end);
    case RPMA_CONN_LOST:
      return is_new && MayBeLost(end);
    case RPMA_CONN_CLOSED:
      return MayBeClosed(rules, end);
    default:
      return false;
  }
}

bool MustHaveEvent(const Rules& rules, const End& end) {
  if (!end.is_connection() || end.ended || end.events_in_doubt) return false;
  if (!end.established && end.closed == 0) {
    if (end.no_answer) return true;
    // A request that is late may wait somewhere else.
    if (end.reject_is_due && !rules.cm_is_late) return true;
    if (end.other == nullptr || end.other->events_in_doubt) return false;
    return MayBeEstablished(rules, end) ||
           (!rules.cm_is_late && MayBeRejected(end));
  }
  if (end.closed == 0) {
    return end.hung_up || (end.other_hung_up && MustLearn(rules, end));
  }
  return end.closed == 1 && !rules.is_iwarp && end.hung_up && !end.both_hung_up;
}

void OnEvent(const Rules& rules, End& end, rpma_conn_event event) {
  switch (event) {
    case RPMA_CONN_ESTABLISHED:
      end.established = true;
      break;
    case RPMA_CONN_CLOSED:
      ++end.closed;
      if (rules.is_iwarp) MarkFailed(rules, end);
      break;
    case RPMA_CONN_UNREACHABLE:
      end.ended = true;
      break;
    default:  // REJECTED, LOST
      end.ended = true;
      MarkFailed(rules, end);
  }
}

void OnDisconnect(const Rules& rules, End& end) {
  end.disconnected = true;
  const bool is_connected =
      (end.established || end.closed > 0) && !end.events_in_doubt;
  if (is_connected) end.hung_up = true;
  // Perhaps: what says that they are connected may not have been fetched.
  if (rules.is_stepped && end.closed == 0 && end.other != nullptr &&
      end.other->disconnected) {
    end.both_hung_up = end.other->both_hung_up = true;
  }
  if (is_connected && IsConnected(rules, end)) end.other->other_hung_up = true;
  MarkFailed(rules, end);
}

void OnDelete(const Rules& rules, End& end) {
  End* const other = end.other;
  if (other != nullptr && !other->is_gone()) {
    if (IsConnected(rules, end)) other->other_hung_up = true;
    // Refused, or withdrawn.
    other->rejectable = true;
    if (!end.accepted) other->reject_is_due = true;
  }
  end.stage = Stage::kGone;
  MarkFailed(rules, end);
}

}  // namespace rpma::sim
