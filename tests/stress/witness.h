// SPDX-License-Identifier: BSD-3-Clause
// The survivor's end of one connection: what it does, and what it sees of the
// peer's death.

#ifndef RPMA_TESTS_STRESS_WITNESS_H_
#define RPMA_TESTS_STRESS_WITNESS_H_

#include <librpma.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/stress/end.h"
#include "tests/stress/peer_process.h"
#include "tests/stress/story.h"

namespace rpma::test {

// No wait for what a death brings may last longer.
inline constexpr std::chrono::seconds kPromptly(5);

class Witness {
 public:
  // `end` has the connection, which is not established yet, with kReceives
  // posted.
  Witness(const Story& story, bool iwarp, PeerProcess& peer, End end);

  // Lives with the peer until the connection ends, and expects what is to be
  // expected of that; then ends it on this side, too.
  void Testify();

  bool was_established() const { return was_established_; }
  // From the peer's death to the event that tells of it.
  std::chrono::nanoseconds time_to_event() const { return time_to_event_; }

 private:
  using Clock = std::chrono::steady_clock;

  void AwaitEndOfConnection();
  void PostWhatIsDue();
  void PostRequest(Operation operation, size_t size);
  // Sleeps until something is there. False: nothing came in time.
  bool Sleep(Clock::time_point deadline);
  void TakeEvent();
  void ExpectThatItMayBeRejected();
  void ExpectHalfAConnection();
  void TakeCompletions();
  void Take(const ibv_wc& wc);

  // Whether the end of the connection flushes all.
  bool IsFlushed() const { return iwarp_ || was_rejected_; }
  void ExpectReceivesToStay();
  void ExpectRequestsToEnd();
  void Disconnect();
  // Until all of the requests, or the receives too, are completed.
  void AwaitCompletions(bool of_receives);

  const Story& story_;
  const bool iwarp_;
  PeerProcess& peer_;
  End end_;

  bool was_established_ = false;
  bool was_rejected_ = false;
  bool is_over_ = false;
  Clock::time_point death_{};
  std::chrono::nanoseconds time_to_event_{0};
  size_t requests_posted_ = 0;
  size_t receives_posted_ = kReceives;
  std::vector<ibv_wc_status> requests_;  // as they completed
  std::vector<ibv_wc_status> receives_;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_STRESS_WITNESS_H_
