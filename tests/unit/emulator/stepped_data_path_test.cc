// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs and completion queues of a stepped world.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syslog.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kSeeds = 64;
const std::string kNothing(1, '\0');

PairOptions Stepped(uint64_t seed = 0) {
  PairOptions options;
  options.seed = seed;
  return options;
}

Scheduler& SchedulerOf(ConnectedPair& pair) {
  return *pair.environment.scheduler();
}

void RunDry(ConnectedPair& pair) {
  while (SchedulerOf(pair).Step()) continue;
}

std::string Report(const ConnectedPair& pair) {
  std::string report;
  for (const auto& line : pair.environment.log()) {
    if (line.level == LOG_CRIT) report += line.text + "\n";
  }
  return report;
}

// --- Steps -------------------------------------------------------------------

TEST(SteppedDataPathTest, PostingExecutesNothing) {
  ConnectedPair pair(Stepped());
  pair.client.SetText(0, "written");
  ASSERT_EQ(pair.client.Write(1, 0, 7, pair.server, 64), 0);
  EXPECT_EQ(pair.server.Text(64, 1), kNothing);
  EXPECT_TRUE(SchedulerOf(pair).Step());
  EXPECT_EQ(pair.server.Text(64, 7), "written");
  EXPECT_FALSE(SchedulerOf(pair).Step());
}

TEST(SteppedDataPathTest, OneStepExecutesOneRequest) {
  ConnectedPair pair(Stepped());
  pair.client.SetText(0, "ab");
  ASSERT_EQ(pair.client.Write(1, 0, 1, pair.server, 64), 0);
  ASSERT_EQ(pair.client.Write(2, 1, 1, pair.server, 65), 0);
  EXPECT_TRUE(SchedulerOf(pair).Step());
  EXPECT_EQ(pair.server.Text(64, 2), "a" + kNothing);
  EXPECT_TRUE(SchedulerOf(pair).Step());
  EXPECT_EQ(pair.server.Text(64, 2), "ab");
  EXPECT_FALSE(SchedulerOf(pair).Step());
}

TEST(SteppedDataPathTest, AVainPollMakesOneStepAndLooksAgain) {
  ConnectedPair pair(Stepped());
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);
  ibv_wc wc;
  EXPECT_EQ(pair.client.send_cq->Poll(1, &wc), 0);
  EXPECT_EQ(pair.client.send_cq->Poll(1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 2u);
  EXPECT_EQ(pair.client.send_cq->Poll(1, &wc), 0);
}

TEST(SteppedDataPathTest, AQueuePairThatIsDestroyedTakesNoStep) {
  ConnectedPair pair(Stepped());
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  pair.client.DestroyQp();
  EXPECT_FALSE(SchedulerOf(pair).Step());
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
}

TEST(SteppedDataPathTest, AQueuePairThatFailsFlushesAtOnce) {
  ConnectedPair pair(Stepped());
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Recv(2, 0, 8), 0);
  ASSERT_EQ(pair.client.qp->ToError(), 0);
  const auto sent = pair.client.PollSend();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_THAT(pair.client.PollRecv(), SizeIs(1));
}

// --- Orders ------------------------------------------------------------------

// The order in which two queue pairs write to one byte.
TEST(SteppedDataPathTest, QueuePairsTakeTurnsAsTheSeedSays) {
  std::set<std::string> last_writers;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ConnectedPair pair(Stepped(seed));
    const auto second_client = pair.client.MakeQp();
    const auto second_server = pair.server.MakeQp();
    Connect(second_client, second_server, {});
    pair.client.SetText(0, "12");
    ASSERT_EQ(pair.client.Write(1, 0, 1, pair.server, 64), 0);
    ibv_sge sge = pair.client.Sge(1, 1);
    ibv_send_wr second =
        End::RdmaRequest(2, IBV_WR_RDMA_WRITE, &sge, 0, pair.server, 64);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(second_client->PostSend(&second, &bad), 0);
    RunDry(pair);
    last_writers.insert(pair.server.Text(64, 1));
    EXPECT_EQ(pair.client.device.DestroyQp(second_client.get()), 0);
    EXPECT_EQ(pair.server.device.DestroyQp(second_server.get()), 0);
  }
  EXPECT_THAT(last_writers, ElementsAre("1", "2"));
}

TEST(SteppedDataPathTest, RequestsOfAQueuePairTakeEffectInOrder) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ConnectedPair pair(Stepped(seed));
    pair.client.SetText(0, "abc");
    for (uint32_t i = 0; i < 3; ++i) {
      ASSERT_EQ(pair.client.Write(i, i, 1, pair.server, 64), 0);
    }
    std::string seen;
    while (SchedulerOf(pair).Step()) seen += pair.server.Text(64, 1);
    EXPECT_EQ(seen, "abc");
    const auto completed = pair.client.PollSend();
    ASSERT_THAT(completed, SizeIs(3));
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(completed[i].wr_id, i);
  }
}

// What a READ of two bytes sees that two WRITEs of one byte each follow.
std::set<std::string> SeenByARead(unsigned flags_of_writes,
                                  ReadOrder order = ReadOrder::kPosted) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    PairOptions options = Stepped(seed);
    options.profile.reads = order;
    ConnectedPair pair(options);
    pair.client.SetText(0, "ab");
    pair.server.SetText(64, "..");
    EXPECT_EQ(pair.client.Read(1, 128, 2, pair.server, 64), 0);
    for (uint32_t i = 0; i < 2; ++i) {
      EXPECT_EQ(pair.client.Write(2 + i, i, 1, pair.server, 64 + i,
                                  IBV_SEND_SIGNALED | flags_of_writes),
                0);
    }
    RunDry(pair);
    seen.insert(pair.client.Text(128, 2));
    const auto completed = pair.client.PollSend();
    EXPECT_THAT(completed, SizeIs(3));
    for (uint64_t i = 0; i < completed.size(); ++i) {
      EXPECT_EQ(completed[i].wr_id, 1 + i);
      EXPECT_EQ(completed[i].status, IBV_WC_SUCCESS);
    }
  }
  return seen;
}

TEST(SteppedDataPathTest, LaterWritesMayOvertakeARead) {
  EXPECT_THAT(SeenByARead(0), ElementsAre("..", "a.", "ab"));
}

TEST(SteppedDataPathTest, FencedWritesOvertakeNoRead) {
  EXPECT_THAT(SeenByARead(IBV_SEND_FENCE), ElementsAre(".."));
}

TEST(SteppedDataPathTest, ReadsMayBeMadeAsLateAsAllowed) {
  EXPECT_THAT(SeenByARead(0, ReadOrder::kLate), ElementsAre("ab"));
}

TEST(SteppedDataPathTest, ReadsDoNotOvertakeEachOther) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ConnectedPair pair(Stepped(seed));
    pair.client.SetText(0, "abcd");
    pair.server.SetText(64, ".");
    for (uint32_t i = 0; i < 4; ++i) {
      ASSERT_EQ(pair.client.Read(0, 128 + i, 1, pair.server, 64, 0), 0);
      ASSERT_EQ(pair.client.Write(0, i, 1, pair.server, 64, 0), 0);
    }
    RunDry(pair);
    const std::string read = pair.client.Text(128, 4);
    EXPECT_LE(read[0], read[1]);
    EXPECT_LE(read[1], read[2]);
    EXPECT_LE(read[2], read[3]);
    seen.insert(read);
  }
  EXPECT_GT(seen.size(), 5u);
}

TEST(SteppedDataPathTest, AReadThatFailsFlushesWhatOvertookIt) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ConnectedPair pair(Stepped(seed));
    ASSERT_EQ(pair.client.Read(1, 0, 8, pair.server, End::kSize - 4), 0);
    ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 64), 0);
    RunDry(pair);
    const auto completed = pair.client.PollSend();
    ASSERT_THAT(completed, SizeIs(2));
    EXPECT_EQ(completed[0].status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(completed[1].status, IBV_WC_WR_FLUSH_ERR);
  }
}

// --- Requests that wait ------------------------------------------------------

TEST(SteppedDataPathTest, AReceiveResumesTheSendThatWaitsForIt) {
  ConnectedPair pair(Stepped());
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  RunDry(pair);
  EXPECT_THAT(pair.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 1u);
  ASSERT_EQ(pair.server.Recv(2, 0, 8), 0);
  EXPECT_EQ(pair.client.qp->rnr_naks_received(), 1u);
  EXPECT_THAT(pair.client.PollSend(), SizeIs(1));
  EXPECT_THAT(pair.server.PollRecv(), SizeIs(1));
}

TEST(SteppedDataPathTest, AnyOfThoseThatWaitGetsTheSharedReceive) {
  std::set<bool> first_got_it;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    PairOptions options = Stepped(seed);
    options.with_srq = true;
    ConnectedPair pair(options);
    const auto second_client = pair.client.MakeQp();
    const auto second_server = pair.server.MakeQp();
    Connect(second_client, second_server, {});
    ibv_sge sge = pair.client.Sge(0, 8);
    ibv_send_wr wr = End::Request(2, IBV_WR_SEND, &sge, IBV_SEND_SIGNALED);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
    ASSERT_EQ(second_client->PostSend(&wr, &bad), 0);
    RunDry(pair);
    ASSERT_EQ(pair.server.Recv(7, 0, 8), 0);
    RunDry(pair);
    const auto received = pair.server.PollRecv();
    ASSERT_THAT(received, SizeIs(1));
    first_got_it.insert(received[0].qp_num == pair.server.qp->qp_num);
    ASSERT_EQ(pair.server.Recv(8, 0, 8), 0);
    EXPECT_THAT(pair.server.PollRecv(), SizeIs(1));
    EXPECT_EQ(pair.client.device.DestroyQp(second_client.get()), 0);
    EXPECT_EQ(pair.server.device.DestroyQp(second_server.get()), 0);
  }
  EXPECT_THAT(first_got_it, SizeIs(2));
}

TEST(SteppedDataPathTest, TimeOutsTakeVirtualTimeOnly) {
  PairOptions options = Stepped();
  options.time_divisor = 1;
  ConnectedPair pair(options);
  ASSERT_EQ(pair.server.qp->ToError(), 0);
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ibv_wc wc{};
  while (pair.client.send_cq->Poll(1, &wc) == 0) continue;
  EXPECT_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.environment.timers().Now().time_since_epoch(),
            8 * options.profile.timers.ack_timeout);
}

TEST(SteppedDataPathTest, ReceiverNotReadyIsTriedAgainInVirtualTime) {
  PairOptions options = Stepped();
  options.time_divisor = 1;
  options.connection.rnr_retry = 3;
  ConnectedPair pair(options);
  ASSERT_EQ(pair.client.Send(1, 0, 8), 0);
  const auto sent = pair.client.AwaitSend();
  EXPECT_EQ(sent.status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(pair.environment.timers().Now().time_since_epoch(),
            3 * options.profile.timers.min_rnr);
}

// --- Waits -------------------------------------------------------------------

TEST(SteppedDataPathTest, WaitingForACompletionRunsTheWorld) {
  ConnectedPair pair(Stepped());
  pair.server.recv_cq->Arm(/*solicited_only=*/false);
  ASSERT_EQ(pair.server.Recv(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Send(3, 0, 8), 0);
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(pair.server.channel->GetEvent(&cq), 0);
  EXPECT_EQ(cq, pair.server.recv_cq);
  cq->AckEvents(1);
}

TEST(SteppedDataPathTest, WaitingForWhatNeverComesFails) {
  ConnectedPair pair(Stepped());
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(pair.server.channel->GetEvent(&cq), EDEADLK);
  EXPECT_EQ(cq, nullptr);
  EXPECT_THAT(Report(pair),
              HasSubstr("waits in GetCqEvent on completion channel 2"));
}

TEST(SteppedDataPathTest, ASendThatWaitsForEverIsReported) {
  ConnectedPair pair(Stepped());
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Send(2, 0, 32), 0);
  ASSERT_EQ(pair.client.Send(3, 0, 8), 0);
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(pair.client.channel->GetEvent(&cq), EDEADLK);
  EXPECT_THAT(Report(pair),
              HasSubstr("QP 1 has 2 outstanding requests; request 2, a SEND of "
                        "32 bytes, waits for QP 2 to have a receive"));
}

TEST(SteppedDataPathTest, ANonBlockingWaitMakesOneStep) {
  ConnectedPair pair(Stepped());
  ASSERT_EQ(fcntl(pair.server.channel->fd, F_SETFL, O_NONBLOCK), 0);
  pair.server.recv_cq->Arm(/*solicited_only=*/false);
  ASSERT_EQ(pair.server.Recv(1, 0, 8), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Send(3, 0, 8), 0);
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(pair.server.channel->GetEvent(&cq), EAGAIN);
  EXPECT_EQ(pair.server.channel->GetEvent(&cq), 0);
  cq->AckEvents(1);
  EXPECT_EQ(pair.server.channel->GetEvent(&cq), EAGAIN);
  EXPECT_EQ(Report(pair), "");
}

TEST(SteppedDataPathTest, ACqWithAnUnacknowledgedEventIsNotDestroyed) {
  TestEnvironment environment(1000, 0);
  Device device("device", *FindProfile("roce"), 0, environment);
  CompletionChannel* channel = nullptr;
  CompletionQueue* cq = nullptr;
  ASSERT_EQ(device.CreateCompChannel(&channel), 0);
  ASSERT_EQ(device.CreateCq(8, channel, &cq), 0);
  for (int i = 0; i < 2; ++i) {
    cq->Arm(/*solicited_only=*/false);
    ASSERT_EQ(cq->Push({.wc = {}}), CompletionQueue::PushResult::kOk);
  }
  CompletionQueue* from = nullptr;
  ASSERT_EQ(channel->GetEvent(&from), 0);

  EXPECT_EQ(device.DestroyCq(cq), EDEADLK);
  EXPECT_EQ(device.Census().cqs, 1u);
  // Its other event is still there.
  ASSERT_EQ(channel->GetEvent(&from), 0);
  cq->AckEvents(2);
  EXPECT_EQ(device.DestroyCq(cq), 0);
  EXPECT_EQ(device.DestroyCompChannel(channel), 0);
}

TEST(SteppedDataPathTest, LookingForAnAsyncEventMakesOneStep) {
  ConnectedPair pair(Stepped());
  ASSERT_EQ(pair.client.Write(1, 0, 8, pair.server, 0), 0);
  ASSERT_EQ(pair.client.Write(2, 0, 8, pair.server, End::kSize), 0);
  ibv_async_event event{};
  EXPECT_EQ(pair.server.device.GetAsyncEvent(&event), EAGAIN);
  EXPECT_EQ(pair.server.device.GetAsyncEvent(&event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
}

// --- Trace -------------------------------------------------------------------

uint64_t HashOfAnExchange(uint64_t seed) {
  // What was allocated before moves what the pair allocates.
  const auto shift = std::make_unique<char[]>(4096 * (1 + seed % 7));
  ConnectedPair pair(Stepped(seed));
  EXPECT_EQ(pair.server.Recv(1, 0, 64), 0);
  EXPECT_EQ(pair.client.Recv(2, 0, 64), 0);
  EXPECT_EQ(pair.client.Read(3, 128, 8, pair.server, 64), 0);
  EXPECT_EQ(pair.client.Write(4, 0, 8, pair.server, 64), 0);
  EXPECT_EQ(pair.client.Send(5, 0, 8), 0);
  EXPECT_EQ(pair.server.Send(6, 0, 8), 0);
  EXPECT_EQ(pair.server.Write(7, 0, 8, pair.client, 64), 0);
  RunDry(pair);
  return SchedulerOf(pair).trace().hash();
}

TEST(SteppedDataPathTest, ASeedHasOneHistoryAndSeedsDiffer) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const uint64_t hash = HashOfAnExchange(seed);
    EXPECT_EQ(HashOfAnExchange(seed), hash);
    hashes.insert(hash);
  }
  EXPECT_GT(hashes.size(), 10u);
}

uint64_t HashOfAWriteTo(size_t offset) {
  ConnectedPair pair(Stepped());
  EXPECT_EQ(pair.client.Write(1, 0, 8, pair.server, offset), 0);
  return SchedulerOf(pair).trace().hash();
}

// It depends on what lies where in the process.
TEST(SteppedDataPathTest, HowFarARequestMissesARegionIsNotTraced) {
  EXPECT_EQ(HashOfAWriteTo(size_t{1} << 20), HashOfAWriteTo(size_t{1} << 21));
  EXPECT_NE(HashOfAWriteTo(0), HashOfAWriteTo(8));
}

}  // namespace
}  // namespace rpma::emu
