// SPDX-License-Identifier: BSD-3-Clause
// One end of a connection, from its request to its deletion, and what the model
// knows of it.

#ifndef RPMA_TESTS_SIM_END_H_
#define RPMA_TESTS_SIM_END_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tests/sim/objects.h"

namespace rpma::sim {

enum class Side : uint8_t { kActive, kPassive };
enum class Stage : uint8_t { kRequest, kConnection, kGone };

struct End {
  bool is_active() const { return side == Side::kActive; }
  bool is_gone() const { return stage == Stage::kGone; }
  bool is_connection() const { return stage == Stage::kConnection; }
  Node& node() const { return *peer->node; }

  size_t number = 0;
  Peer* peer = nullptr;
  Side side = Side::kActive;
  Stage stage = Stage::kGone;  // and at first: not there yet
  rpma_conn_req* request = nullptr;
  rpma_conn* conn = nullptr;
  Config config;
  uint32_t qp_num = 0;
  std::unique_ptr<Cq> cq;
  std::unique_ptr<Cq> rcq;  // its own
  Cq* recv_cq = nullptr;    // where its receives complete
  bool direct_write_applied = false;
  bool native_flush_applied = false;

  // --- How far the connection has come.
  End* other = nullptr;
  Endpoint* endpoint = nullptr;  // of an active one: where its request waits
  std::string address;           // where an active one goes
  std::string port;
  const Node* arrives_at = nullptr;   // the owner of the address
  std::vector<uint8_t> private_data;  // that it sent
  bool sent = false;                  // active: the request
  bool accepted = false;              // passive: and so may be established
  bool no_answer = false;             // active: nobody owns the address
  bool rejectable = false;            // active: there may be a rejection
  bool reject_is_due = false;
  // Active, of its request: it may not have arrived; it may come to another
  // endpoint than the one that listened when it was sent.
  bool is_under_way = false;
  bool wanders = false;
  // What the program has fetched: ESTABLISHED; REJECTED, UNREACHABLE or LOST;
  // and how many CLOSED.
  bool established = false;
  bool ended = false;
  unsigned closed = 0;
  bool disconnected = false;     // rpma_conn_disconnect() succeeded
  bool hung_up = false;          // and it was established then
  bool other_hung_up = false;    // or was deleted, and both were connected
  bool both_hung_up = false;     // so that neither may have answered the other
  bool events_in_doubt = false;  // some may be lost, or out of order
  bool is_struck = false;        // its node does not work any more

  // --- The queue pair.
  bool may_fail = false;  // it may be in the error state
  bool failed = false;    // it is
  bool may_lose_requests = false;

  // --- The send queue.
  std::deque<Request> requests;
  bool send_queue_flushes = false;  // an error completion came
  // What success tells nothing of yet (iWARP).
  std::vector<Request> unconfirmed;

  // --- What it sends to the other end, and what it got from there.
  std::vector<Message> messages;
  size_t acknowledged = 0;  // of its messages
  size_t received = 0;      // messages of the other end

  // --- The receive queue, unless it is shared.
  std::deque<Receive> receives;
  size_t receives_posted = 0;
  bool receive_queue_flushes = false;
  uint64_t last_shared_receive = 0;
  StatusSet receive_errors;  // that faults may have caused
};

// What is different between the profiles, and what faults have made of it.
struct Rules {
  bool is_iwarp = false;
  bool is_stepped = false;
  size_t max_request_data = 56;
  size_t max_accept_data = 196;
  bool pads_private_data = true;
  size_t max_qp_wr = 0;
  size_t max_cqe = 0;
  size_t max_srq_wr = 0;

  // What faults have made uncertain. Messages of the connection manager may
  // come late, again or in another order; all tries of one may be lost; so may
  // the answer to a request that has taken effect.
  bool cm_is_late = false;
  bool cm_may_fail = false;
  bool patience_ends = false;  // of who waits for a program on the other side
  bool goodbyes_may_be_lost = false;  // of those that were deleted
  bool answers_may_be_lost = false;
};

// The queue pair may be in the error state from now on, and with it what
// follows: it does not answer the other end.
void MarkMayFail(const Rules& rules, End& end);
// All tries of its requests, and of those to come, may be lost.
void LoseRequests(const Rules& rules, End& end);
StatusSet ErrorOfLoss(const Rules& rules);
// Whether those that connect may give it up, and what that means for one.
bool MayGiveUp(const Rules& rules);
void DoubtConnection(const Rules& rules, End& end);
// It is in the error state.
void MarkFailed(const Rules& rules, End& end);

// Whether a request other than a receive can be posted.
enum class Readiness { kNo, kYes, kUnknown };
Readiness ReadyToSend(const Rules& rules, const End& end);

// Whether nobody knows to which endpoint the request of an end comes.
bool Wanders(const Rules& rules, const End& end);

// Whether the program may get this event now.
bool MayGet(const Rules& rules, const End& end, rpma_conn_event event);
// Whether, in a world in which nothing moves any more, an event must be there.
bool MustHaveEvent(const Rules& rules, const End& end);
// It got it.
void OnEvent(const Rules& rules, End& end, rpma_conn_event event);

// What a program does.
void OnDisconnect(const Rules& rules, End& end);
void OnDelete(const Rules& rules, End& end);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_END_H_
