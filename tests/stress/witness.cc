// SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <utility>

namespace rpma::test {
namespace {

constexpr std::chrono::seconds kDeadline(60);  // of a peer that lives
constexpr size_t kOutstanding = 2;
constexpr size_t kSmall = 8;

bool HasFailed(const std::vector<ibv_wc_status>& statuses) {
  return !statuses.empty() && statuses.back() != IBV_WC_SUCCESS;
}

// Successes, and then what there is for requests that nobody answers.
std::vector<ibv_wc_status> ExpectedEnd(
    const std::vector<ibv_wc_status>& statuses, bool is_flushed) {
  std::vector<ibv_wc_status> expected(statuses.size(), IBV_WC_WR_FLUSH_ERR);
  const auto first_failed = std::find_if(
      statuses.begin(), statuses.end(),
      [](ibv_wc_status status) { return status != IBV_WC_SUCCESS; });
  const auto successes = first_failed - statuses.begin();
  std::fill_n(expected.begin(), successes, IBV_WC_SUCCESS);
  if (!is_flushed && first_failed != statuses.end()) {
    expected[static_cast<size_t>(successes)] = IBV_WC_RETRY_EXC_ERR;
  }
  return expected;
}

}  // namespace

Witness::Witness(const Story& story, bool iwarp, PeerProcess& peer, End end)
    : story_(story), iwarp_(iwarp), peer_(peer), end_(std::move(end)) {}

void Witness::Testify() {
  AwaitEndOfConnection();
  if (was_established_ && is_over_) {
    ExpectReceivesToStay();
    ExpectRequestsToEnd();
  }
  Disconnect();
}

void Witness::AwaitEndOfConnection() {
  while (!is_over_) {
    PostWhatIsDue();
    const bool is_dead = death_ != Clock::time_point();
    const Clock::time_point deadline =
        is_dead ? death_ + kPromptly : Clock::now() + kDeadline;
    if (!Sleep(deadline)) {
      ADD_FAILURE() << (is_dead ? "no event tells that the peer is dead"
                                : "the peer does nothing");
      return;
    }
    TakeEvent();
    TakeCompletions();
  }
}

void Witness::PostWhatIsDue() {
  if (story_.of_survivor == Operation::kNothing || !was_established_) return;
  while (!HasFailed(requests_) &&
         requests_posted_ - requests_.size() < kOutstanding) {
    PostRequest(story_.of_survivor, story_.survivor_size);
  }
}

void Witness::PostRequest(Operation operation, size_t size) {
  EXPECT_THAT(Post(end_, operation, size, requests_posted_++), IsOk());
}

bool Witness::Sleep(Clock::time_point deadline) {
  const int timeout = static_cast<int>(
      std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now())
          .count());
  pollfd entries[] = {{EventFd(end_.conn), POLLIN, 0},
                      {CompletionFd(end_.cq), POLLIN, 0},
                      {peer_.is_gone() ? -1 : peer_.report(), POLLIN, 0}};
  if (poll(entries, std::size(entries), std::max(timeout, 0)) <= 0) {
    return false;
  }
  peer_.Hear();
  if (peer_.is_gone() && death_ == Clock::time_point()) death_ = Clock::now();
  return true;
}

void Witness::TakeEvent() {
  if (!HasEvent(end_.conn)) return;
  switch (const rpma_conn_event event = NextEvent(end_.conn)) {
    case RPMA_CONN_ESTABLISHED:
      EXPECT_FALSE(was_established_);
      was_established_ = true;
      if (end_.remote == nullptr) {
        GetAcquainted(PrivateData(end_.conn), &end_);
      }
      return;
    case RPMA_CONN_CLOSED:
      EXPECT_TRUE(was_established_);
      break;
    case RPMA_CONN_REJECTED:
      ExpectThatItMayBeRejected();
      was_rejected_ = true;
      break;
    case RPMA_CONN_LOST:  // refused when this side fetched the acceptance
      EXPECT_FALSE(was_established_);
      ExpectHalfAConnection();
      break;
    default:
      ADD_FAILURE() << "event " << rpma_utils_conn_event_2str(event);
  }
  is_over_ = true;
  if (death_ != Clock::time_point()) time_to_event_ = Clock::now() - death_;
}

void Witness::ExpectThatItMayBeRejected() {
  if (was_established_) ExpectHalfAConnection();
}

// The peer accepted and then died before it learned that the connection is
// established: it is refused, whatever this side has seen.
void Witness::ExpectHalfAConnection() {
  EXPECT_TRUE(!iwarp_ && story_.peer_listens);
  EXPECT_LT(peer_.last_step(), Step::kEstablished);
}

void Witness::TakeCompletions() {
  if (IsReadable(CompletionFd(end_.cq))) {
    const int rc = rpma_cq_wait(end_.cq);
    EXPECT_THAT(rc, testing::AnyOf(0, RPMA_E_NO_COMPLETION));
  }
  ibv_wc wc = {};
  int rc;
  while ((rc = rpma_cq_get_wc(end_.cq, 1, &wc, nullptr)) == 0) Take(wc);
  EXPECT_EQ(rc, RPMA_E_NO_COMPLETION);
}

void Witness::Take(const ibv_wc& wc) {
  if (wc.wr_id != kReceiveId) {
    EXPECT_EQ(wc.wr_id, requests_.size());
    requests_.push_back(wc.status);
    return;
  }
  receives_.push_back(wc.status);
  if (wc.status == IBV_WC_SUCCESS && !is_over_) {
    EXPECT_THAT(PostReceive(end_), IsOk());
    ++receives_posted_;
  }
}

void Witness::ExpectReceivesToStay() {
  if (IsFlushed() || requests_posted_ > requests_.size() ||
      HasFailed(requests_)) {
    return;
  }
  TakeCompletions();
  EXPECT_FALSE(HasFailed(receives_));
}

void Witness::ExpectRequestsToEnd() {
  if (story_.survivor_goes_on) {
    for (size_t i = 0; i < kOutstanding; ++i) {
      PostRequest(Operation::kWrite, kSmall);
    }
  }
  AwaitCompletions(/*of_receives=*/IsFlushed());
  EXPECT_EQ(requests_, ExpectedEnd(requests_, IsFlushed()));
  EXPECT_TRUE(HasFailed(requests_) || !story_.survivor_goes_on);
}

void Witness::Disconnect() {
  EXPECT_THAT(rpma_conn_disconnect(end_.conn), IsOk());
  AwaitCompletions(/*of_receives=*/true);
  EXPECT_EQ(receives_, ExpectedEnd(receives_, /*is_flushed=*/true));
  // Messages that came before the end may have taken all.
  EXPECT_TRUE(HasFailed(receives_) || story_.of_peer == Operation::kSend);
  const Clock::time_point start = Clock::now();
  end_.conn.reset();
  EXPECT_LT(Clock::now() - start, kPromptly);
}

void Witness::AwaitCompletions(bool of_receives) {
  const Clock::time_point deadline = Clock::now() + kPromptly;
  for (;;) {
    TakeCompletions();
    const bool all_requests = requests_.size() == requests_posted_;
    const bool all_receives = receives_.size() == receives_posted_;
    if (all_requests && (all_receives || !of_receives)) return;
    pollfd entry = {CompletionFd(end_.cq), POLLIN, 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() > 0 &&
        poll(&entry, 1, static_cast<int>(left.count())) == 1) {
      continue;
    }
    ADD_FAILURE() << requests_.size() << " of " << requests_posted_
                  << " requests and " << receives_.size() << " of "
                  << receives_posted_ << " receives are completed";
    return;
  }
}

}  // namespace rpma::test
