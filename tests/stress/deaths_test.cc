// SPDX-License-Identifier: BSD-3-Clause
// A process that survives the deaths of many peers, at any moment of theirs.
//
// RPMA_DEATHS: how many, for each profile. RPMA_DEATHS_SEED: of the first; the
// others have those that follow.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/stress/end.h"
#include "tests/stress/holdings.h"
#include "tests/stress/moment.h"
#include "tests/stress/peer.h"
#include "tests/stress/peer_process.h"
#include "tests/stress/story.h"
#include "tests/stress/survivor.h"
#include "tests/stress/witness.h"
#include "tests/support/emulation.h"
#include "tests/support/log_guard.h"

namespace rpma::test {
namespace {

// Unless told otherwise; peers under a sanitizer take several times as long.
constexpr uint64_t kDeaths = 100;
constexpr uint64_t kDeathsUnderSanitizer = 30;

// A sanitizer has a heap of its own, which keeps what is freed for a while.
bool IsUnderSanitizer() { return TakeStock().heap_bytes == 0; }

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

// How many peers died, by the last step that they reported.
class Toll {
 public:
  void Add(Step last_step) { ++counts_[static_cast<size_t>(last_step)]; }
  void Print() const {
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] == 0) continue;
      std::cout << ' ' << NameOf(static_cast<Step>(i)) << ' ' << counts_[i];
    }
    std::cout << '\n';
  }

 private:
  std::array<size_t, static_cast<size_t>(Step::kNumber)> counts_ = {};
};

class DeathsTest : public testing::TestWithParam<const char*> {
 protected:
  DeathsTest() {
    SetEnvironment(GetParam());
    survivor_.emplace();
    endpoint_ = survivor_->Listen();
    const int fd = EndpointFd(endpoint_);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    sockets_at_rest_ = CountSockets();
  }

  static bool IsIwarp() { return GetParam() == std::string("iwarp"); }
  static Story StoryOf(uint64_t seed) {
    emu::Random random(seed);
    Story story = DrawStory(random);
    // There the connection ends if a message finds no receive.
    if (IsIwarp()) story.peer_receives = true;
    return story;
  }

  // One peer lives and dies.
  void Survive(const Story& story);
  void SurviveThoseThatDoNotDie();
  Holdings StockAtRest() const;
  static void ExpectNothingLeft(const Holdings& before, const Holdings& after);
  std::optional<Witness> NextConnection(const Story& story, PeerProcess& peer);
  std::optional<Witness> ConnectTo(const Story& story, PeerProcess& peer);
  std::optional<Witness> Accept(const Story& story, PeerProcess& peer);

  LogGuard log_;
  Emulation emulation_{GetParam(), FabricOptions(GetParam())};
  std::optional<Survivor> survivor_;
  Endpoint endpoint_;
  long sockets_at_rest_ = 0;
  Toll toll_;
  size_t killed_ = 0;
  size_t established_ = 0;
  std::chrono::nanoseconds longest_{0};
};

INSTANTIATE_TEST_SUITE_P(Profiles, DeathsTest,
                         testing::Values("roce", "ib", "iwarp"),
                         [](const auto& of) { return of.param; });

std::optional<Witness> DeathsTest::ConnectTo(const Story& story,
                                             PeerProcess& peer) {
  peer.AwaitStep(Step::kListening);
  End end = survivor_->Connecting();
  return std::optional<Witness>(std::in_place, story, IsIwarp(), peer,
                                std::move(end));
}

std::optional<Witness> DeathsTest::Accept(const Story& story,
                                          PeerProcess& peer) {
  ConnReq request;
  const int rc = rpma_ep_next_conn_req(endpoint_, nullptr, request.address());
  if (rc == RPMA_E_NO_EVENT) return std::nullopt;
  EXPECT_THAT(rc, IsOk());
  End end = survivor_->NewEnd();
  GetAcquainted(PrivateData(request), &end);
  PostReceives(request, *end.region);
  const std::vector<uint8_t> introduction = Introduction(end);
  const rpma_conn_private_data data = {
      const_cast<uint8_t*>(introduction.data()),
      static_cast<uint8_t>(introduction.size())};
  Conn conn;
  if (rpma_conn_req_connect(request.address(), &data, conn.address()) != 0) {
    // Who wanted to connect is gone.
    log_.Discard();
    return std::nullopt;
  }
  end.Own(std::move(conn));
  return std::optional<Witness>(std::in_place, story, IsIwarp(), peer,
                                std::move(end));
}

std::optional<Witness> DeathsTest::NextConnection(const Story& story,
                                                  PeerProcess& peer) {
  if (story.peer_listens) return ConnectTo(story, peer);
  while (!peer.is_gone()) {
    pollfd entries[] = {{EndpointFd(endpoint_), POLLIN, 0},
                        {peer.report(), POLLIN, 0}};
    EXPECT_GT(poll(entries, 2, -1), 0);
    peer.Hear();
    if (entries[0].revents == 0) continue;
    std::optional<Witness> accepted = Accept(story, peer);
    if (accepted.has_value()) return accepted;
  }
  return std::nullopt;
}

void DeathsTest::Survive(const Story& story) {
  PeerProcess peer(story, story.peer_listens ? kPortOfPeers : kPort);
  std::optional<Witness> witness = NextConnection(story, peer);
  if (witness.has_value()) {
    witness->Testify();
    if (witness->was_established()) ++established_;
    longest_ = std::max(longest_, witness->time_to_event());
  }
  const bool is_killed = peer.AwaitEnd();
  if (is_killed) ++killed_;
  EXPECT_TRUE(story.death != Death::kNone || !is_killed);
  peer.Hear();
  toll_.Add(peer.last_step());
}

void DeathsTest::SurviveThoseThatDoNotDie() {
  for (const bool peer_listens : {true, false}) {
    Survive({.peer_listens = peer_listens});
  }
}

// A link is given up soon after its peer is gone, but not at once.
Holdings DeathsTest::StockAtRest() const {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (CountSockets() > sockets_at_rest_ &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(CountSockets(), sockets_at_rest_);
  return TakeStock();
}

void DeathsTest::ExpectNothingLeft(const Holdings& before,
                                   const Holdings& after) {
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  if (IsUnderSanitizer()) return;
  EXPECT_LE(after.mappings, before.mappings + 8);
  EXPECT_LE(after.heap_bytes, before.heap_bytes + (128 << 10));
  EXPECT_LE(after.resident_bytes, before.resident_bytes + (16 << 20));
}

TEST_P(DeathsTest, AreSurvived) {
  const std::vector<std::string> files = FilesIn(FabricFolder(GetParam()));
  SurviveThoseThatDoNotDie();
  const Holdings before = StockAtRest();
  const uint64_t deaths = FromEnvironment(
      "RPMA_DEATHS", IsUnderSanitizer() ? kDeathsUnderSanitizer : kDeaths);
  const uint64_t seed = FromEnvironment("RPMA_DEATHS_SEED", 1);
  std::cout << deaths << " deaths, seeds from " << seed << '\n';
  for (uint64_t i = seed; i < seed + deaths && !HasFailure(); ++i) {
    const Story story = StoryOf(i);
    SCOPED_TRACE("RPMA_DEATHS_SEED=" + std::to_string(i) + ": " +
                 testing::PrintToString(story));
    Survive(story);
  }
  // Some exit, and some have done all before their moment comes.
  EXPECT_GT(killed_, deaths / 4);
  EXPECT_GT(established_, 0u);
  SurviveThoseThatDoNotDie();
  const Holdings after = StockAtRest();
  ExpectNothingLeft(before, after);
  EXPECT_EQ(FilesIn(FabricFolder(GetParam())), files);
  std::cout << "before: " << testing::PrintToString(before)
            << "\nafter:  " << testing::PrintToString(after)
            << "\nkilled: " << killed_ << "; established: " << established_
            << "; longest from a death to its event: "
            << longest_.count() / 1000 << " us\nlast steps:";
  toll_.Print();
}

}  // namespace
}  // namespace rpma::test

int main(int argc, char** argv) {
  if (const auto status = rpma::test::MainOfPeer(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
