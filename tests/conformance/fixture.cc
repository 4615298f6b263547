// SPDX-License-Identifier: BSD-3-Clause

#include "tests/conformance/fixture.h"

#include <chrono>
#include <latch>
#include <thread>

#include "tests/conformance/environment.h"
#include "tests/support/pages.h"
#include "tests/support/side.h"

namespace rpma::test {

void* ConformanceTest::operator new(size_t size) { return AllocatePages(size); }

void ConformanceTest::operator delete(void* test) { FreePages(test); }

void ConformanceTest::SetUp() {
  world_.emplace(WorldOptions{
      .emulated = provider().emulated,
      .profile = provider().name,
      .options = ScheduleOptions() + " " + SharingOptions() + " " +
                 provider().options + " " + device_options(),
      .shared = IsShared(),
      .extend = [this](Emulation& emulation) { Extend(emulation); },
      .client_address = address(),
      .server_address = server_address(),
      .first_port = FirstPort()});
}

void ConformanceTest::TearDown() { world_.reset(); }

const char* ConformanceTest::address() const { return TestAddress(); }

bool ConformanceTest::IsShared() const {
  return provider().emulated && !SharingOptions().empty();
}

void ConformanceTest::ExpectExplained(
    const End& end, const ::testing::Matcher<std::string>& why) {
  if (!provider().emulated) return;
  std::optional<ServersSide> side;
  if (IsInOtherProcess(end.conn)) side.emplace();
  EXPECT_THAT(emulation().Explain(end.qp_num), why);
}

rpma_testing::CompletionMatcher ConformanceTest::EndedRefused(
    uint64_t wr_id, ibv_wc_status status, uint32_t qp_num) const {
  rpma_testing::CompletionMatcher as_told = EndedWith(wr_id, status, qp_num);
  if (provider().emulated || status != IBV_WC_SUCCESS) return as_told;
  return ::testing::AnyOf(as_told,
                          EndedWith(wr_id, IBV_WC_LOC_QP_OP_ERR, qp_num));
}

void ConformanceTest::ComeToRest() {
  constexpr int kMostSteps = 100000;
  int steps = 0;
  while (steps < kMostSteps && Emulation::Step()) ++steps;
  EXPECT_LT(steps, kMostSteps) << "the world does not come to rest";
  if (IsShared()) world_->Meet();
}

void ConformanceTest::ComeToRestAfter(const uint8_t& byte, uint8_t value) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto arrived = [&] {
    return __atomic_load_n(&byte, __ATOMIC_ACQUIRE) == value;
  };
  while (!arrived() && std::chrono::steady_clock::now() < deadline) {
    if (!Emulation::Step()) std::this_thread::yield();
  }
  EXPECT_TRUE(arrived());
  ComeToRest();
}

void ConformanceTest::InThreads(
    const std::vector<std::function<void()>>& bodies) {
  // None may wait before all take part: it could wait for those that do not.
  std::latch all_attached(static_cast<ptrdiff_t>(bodies.size()));
  std::vector<std::jthread> threads;
  for (const auto& body : bodies) {
    threads.emplace_back([&] {
      rpma_emu_fabric* const fabric =
          provider().emulated ? emulation().fabric() : nullptr;
      if (fabric != nullptr) {
        EXPECT_THAT(rpma_emu_thread_attach(fabric), IsOk());
      }
      all_attached.arrive_and_wait();
      body();
      if (fabric != nullptr) {
        EXPECT_THAT(rpma_emu_thread_detach(fabric), IsOk());
      }
    });
  }
}

void ConformanceTest::DisconnectBoth(const Pair& pair) {
  EXPECT_THAT(rpma_conn_disconnect(pair.client.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(rpma_conn_disconnect(pair.server.conn), IsOk());
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
}

void ConformanceTest::Disconnect(const Pair& pair) {
  DisconnectBoth(pair);
  if (!provider().time_wait_event) return;
  EXPECT_EQ(NextEvent(pair.client.conn), RPMA_CONN_CLOSED);
  EXPECT_EQ(NextEvent(pair.server.conn), RPMA_CONN_CLOSED);
}

}  // namespace rpma::test
