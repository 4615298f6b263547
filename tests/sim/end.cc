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
  if (end.is_active()) return end.other->accepted;
  return end.accepted && (rules.is_iwarp || end.other->established);
}

bool MayBeRejected(const End& end) {
  if (end.is_active()) return end.sent && end.rejectable;
  return end.accepted && (end.other->is_gone() || end.other->ended);
}

// Fetching the response fails: the queue pair does not become ready, or fails
// at once as messages wait for it.
bool MayBeLost(const End& end) {
  return end.is_active() && end.other != nullptr && end.other->accepted &&
         (end.may_fail || end.other->is_gone());
}

bool MayBeClosed(const Rules& rules, const End& end) {
  if (!end.established && !end.events_in_doubt) return false;
  const End& other = *end.other;
  if (end.closed == 0) {
    return end.disconnected || other.disconnected || other.is_gone() ||
           (rules.is_iwarp && end.may_fail);
  }
  return end.closed == 1 && !rules.is_iwarp && end.disconnected;
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

Readiness ReadyToSend(const Rules& rules, const End& end) {
  if (end.established || end.failed) return Readiness::kYes;
  if (end.events_in_doubt) return Readiness::kUnknown;
  if (!end.is_active()) return end.accepted ? Readiness::kYes : Readiness::kNo;
  // An iWARP queue pair is ready as soon as the other side accepts.
  const bool may_be =
      rules.is_iwarp && end.other != nullptr && end.other->accepted;
  return may_be ? Readiness::kUnknown : Readiness::kNo;
}

bool MayGet(const Rules& rules, const End& end, rpma_conn_event event) {
  if (end.ended) return false;
  const bool is_new = !end.established && end.closed == 0;
  switch (event) {
    case RPMA_CONN_ESTABLISHED:
      return is_new && MayBeEstablished(rules, end);
    case RPMA_CONN_REJECTED:
      return is_new && MayBeRejected(end);
    case RPMA_CONN_UNREACHABLE:
      return is_new && end.no_answer;
    case RPMA_CONN_LOST:
      return is_new && MayBeLost(end);
    case RPMA_CONN_CLOSED:
      return end.other != nullptr && MayBeClosed(rules, end);
    default:
      return false;
  }
}

bool MustHaveEvent(const Rules& rules, const End& end) {
  if (!end.is_connection() || end.ended || end.events_in_doubt) return false;
  if (!end.established) {
    if (end.is_active() && (end.no_answer || end.reject_is_due)) return true;
    return MayBeEstablished(rules, end) || MayBeRejected(end);
  }
  if (end.closed == 0) return end.hung_up || end.other_hung_up;
  return end.closed == 1 && !rules.is_iwarp && end.hung_up;
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
  if (end.established) end.hung_up = true;
  if (end.established && IsConnected(rules, end)) {
    end.other->other_hung_up = true;
  }
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
