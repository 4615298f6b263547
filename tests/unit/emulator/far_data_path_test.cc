// SPDX-License-Identifier: BSD-3-Clause
// Messages to another process that are longer than a record: they travel in
// parts. What else requests do there is what the other tests say of linked
// pairs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/emulator/far_pair.h"

namespace rpma::emu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kPart = wire::kMaxPart;

class SizeTest : public ::testing::TestWithParam<size_t> {
 protected:
  SizeTest() {
    ours_.Fill(1);
    theirs_.Fill(77);
  }
  // All of `ours_`, in three buffers.
  std::vector<ibv_sge> Sges() const {
    const size_t third = GetParam() / 3;
    return {ours_.Sge(0, third), ours_.Sge(third, 1),
            ours_.Sge(third + 1, GetParam() - third - 1)};
  }

  FarPair pair_;
  Memory ours_{pair_.client, GetParam()};
  Memory theirs_{pair_.server, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Sizes, SizeTest,
                         ::testing::Values(1, 63, kPart - 1, kPart, kPart + 1,
                                           3 * kPart, 10 * kPart + 5),
                         ::testing::PrintToStringParamName());

TEST_P(SizeTest, AWriteStoresItsBytes) {
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_WRITE, Sges(), theirs_.address(),
                       theirs_.key()),
            0);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(theirs_.bytes, ours_.bytes);
}

TEST_P(SizeTest, AReadFetchesItsBytes) {
  ASSERT_EQ(
      pair_.Rdma(1, IBV_WR_RDMA_READ, Sges(), theirs_.address(), theirs_.key()),
      0);
  const ibv_wc wc = pair_.client.AwaitSend();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.byte_len, GetParam());
  EXPECT_EQ(ours_.bytes, theirs_.bytes);
}

TEST_P(SizeTest, ASendFillsItsReceive) {
  ibv_sge sge = theirs_.Sge(0, GetParam());
  ibv_recv_wr receive{
      .wr_id = 7, .next = nullptr, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(pair_.server.qp->PostRecv(&receive, &bad), 0);
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_SEND, Sges(), 0, 0), 0);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_SUCCESS);
  const ibv_wc wc = pair_.server.AwaitRecv();
  EXPECT_EQ(wc.wr_id, 7u);
  EXPECT_EQ(wc.byte_len, GetParam());
  EXPECT_EQ(theirs_.bytes, ours_.bytes);
}

TEST_P(SizeTest, AWriteWithImmConsumesOneReceive) {
  ASSERT_EQ(pair_.server.Recv(7, 0, 0), 0);
  ASSERT_EQ(pair_.server.Recv(8, 0, 0), 0);
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_WRITE_WITH_IMM, Sges(), theirs_.address(),
                       theirs_.key()),
            0);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_SUCCESS);
  const auto received = pair_.server.PollRecv();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(theirs_.bytes, ours_.bytes);
}

TEST_P(SizeTest, ASendWithoutAReceiveComesAgainWhenThereIsOne) {
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_SEND, Sges(), 0, 0), 0);
  EXPECT_THAT(pair_.client.PollSend(), IsEmpty());
  EXPECT_EQ(pair_.client.qp->rnr_naks_received(), 1u);
  ibv_sge sge = theirs_.Sge(0, GetParam());
  ibv_recv_wr receive{
      .wr_id = 7, .next = nullptr, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(pair_.server.qp->PostRecv(&receive, &bad), 0);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(theirs_.bytes, ours_.bytes);
}

class PartsTest : public ::testing::Test {
 protected:
  PartsTest() {
    ours_.Fill(1);
    theirs_.Fill(77);
  }
  // Nothing is handled but one message at a time.
  void TakeOver() { pair_.SetProgress(nullptr); }
  void LetGo() { pair_.SetProgress(&pair_.link); }

  FarPair pair_;
  Memory ours_{pair_.client, 20 * kPart};
  Memory theirs_{pair_.server, 20 * kPart};
};

TEST_F(PartsTest, AWriteGoesOnWhenThereIsRoom) {
  pair_.link.client().SetCapacity(wire::kMaxRecord);
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_WRITE, ours_, theirs_), 0);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(theirs_.bytes, ours_.bytes);
}

TEST_F(PartsTest, AReadAsksAgainWhenThereIsRoom) {
  pair_.link.client().SetCapacity(100);
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_READ, ours_, theirs_), 0);
  EXPECT_THAT(pair_.client.PollSend(), IsEmpty());
  pair_.link.client().SetCapacity(wire::kMaxRecord);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(ours_.bytes, theirs_.bytes);
}

TEST_F(PartsTest, AReadAsksForAWindowAtATime) {
  TakeOver();
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_READ, ours_, theirs_), 0);
  EXPECT_EQ(pair_.link.client().waiting(), 4u);
  ASSERT_TRUE(pair_.link.HandleOneAtServer());
  EXPECT_EQ(pair_.link.client().waiting(), 3u);
  ASSERT_TRUE(pair_.link.HandleOneAtClient());
  EXPECT_EQ(pair_.link.client().waiting(), 4u);
}

TEST_F(PartsTest, NothingIsPinnedWhileAWriteWaitsForRoom) {
  TakeOver();
  pair_.link.client().SetCapacity(wire::kMaxRecord);
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_WRITE, ours_, theirs_), 0);
  ours_.Deregister();
  LetGo();
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(pair_.server.qp->State(), IBV_QPS_RTS);
}

TEST_F(PartsTest, AWriteDoesNotAwaitAllItsRoomAtOnce) {
  TakeOver();
  pair_.link.client().SetCapacity(wire::kMaxRecord);
  int waits = 0;
  pair_.link.client().await_room = [&] { return ++waits < 10'000; };
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_WRITE, ours_, theirs_), 0);
  EXPECT_LT(waits, 100);
  LetGo();
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_SUCCESS);
  EXPECT_EQ(theirs_.bytes, ours_.bytes);
}

TEST_F(PartsTest, ATargetThatGoesBetweenPartsRefusesTheRest) {
  TakeOver();
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_WRITE, ours_, theirs_), 0);
  ASSERT_TRUE(pair_.link.HandleOneAtServer());
  EXPECT_EQ(theirs_.bytes[0], ours_.bytes[0]);
  const std::vector<uint8_t> before = theirs_.bytes;
  theirs_.Deregister();
  LetGo();
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(pair_.server.qp->State(), IBV_QPS_ERR);
  EXPECT_EQ(theirs_.bytes, before);
  EXPECT_THAT(pair_.client.Explanation(), HasSubstr("deregistered"));
  EXPECT_EQ(pair_.server.Explanation(), pair_.client.Explanation());
}

TEST_F(PartsTest, ASourceThatGoesBetweenPartsRefusesTheRest) {
  TakeOver();
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_READ, ours_, theirs_), 0);
  ASSERT_TRUE(pair_.link.HandleOneAtServer());
  theirs_.Deregister();
  LetGo();
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ours_.bytes[kPart - 1], theirs_.bytes[kPart - 1]);
  EXPECT_NE(ours_.bytes[kPart], theirs_.bytes[kPart]);
}

TEST_F(PartsTest, TheSinkOfAReadMayGo) {
  TakeOver();
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_READ, ours_, theirs_), 0);
  const std::vector<uint8_t> before = ours_.bytes;
  ours_.Deregister();
  LetGo();
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(ours_.bytes, before);
  EXPECT_EQ(pair_.server.qp->State(), IBV_QPS_RTS);
}

TEST_F(PartsTest, NoneIsStoredIfTheWholeDoesNotFit) {
  const std::vector<uint8_t> before = theirs_.bytes;
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_WRITE, ours_, theirs_, 1), 0);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(theirs_.bytes, before);
  EXPECT_EQ(pair_.link.wrong(), nullptr);
}

TEST_F(PartsTest, NoneIsFetchedIfTheWholeIsNotThere) {
  const std::vector<uint8_t> before = ours_.bytes;
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_RDMA_READ, ours_, theirs_, 1), 0);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ours_.bytes, before);
}

TEST_F(PartsTest, ASendLongerThanTheReceiveFailsBoth) {
  ASSERT_EQ(pair_.server.Recv(7, 0, 100), 0);
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_SEND, ours_, theirs_), 0);
  EXPECT_EQ(pair_.client.AwaitSend().status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(pair_.server.AwaitRecv().status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(PartsTest, AFlushedMessageDoesNotDisturbTheNextOne) {
  TakeOver();
  pair_.link.client().SetCapacity(wire::kMaxRecord);
  ASSERT_EQ(pair_.Rdma(1, IBV_WR_SEND, ours_, theirs_), 0);
  ASSERT_TRUE(pair_.link.HandleOneAtServer());
  ASSERT_EQ(pair_.client.qp->ToReset(), 0);
  ASSERT_EQ(pair_.client.qp->ToInit(), 0);
  ASSERT_EQ(pair_.client.qp->ToReadyToReceive(
                pair_.link.ServerQp(*pair_.server.qp), {}),
            0);
  ASSERT_EQ(pair_.client.qp->ToReadyToSend(), 0);
  LetGo();
  ASSERT_EQ(pair_.server.Recv(7, 0, 8), 0);
  pair_.client.SetText(0, "the next");
  ASSERT_EQ(pair_.client.Send(2, 0, 8), 0);
  const ibv_wc wc = pair_.client.AwaitSend();
  EXPECT_EQ(wc.wr_id, 2u);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair_.server.Text(0, 8), "the next");
}

TEST(FarAtomicWriteTest, IsSeenAsAWhole) {
  PairOptions options;
  options.profile.native_atomic_write = true;
  FarPair pair(options);
  const std::atomic_ref<uint64_t> seen(
      *reinterpret_cast<uint64_t*>(pair.server.Address()));
  std::atomic<bool> over = false;
  std::vector<uint64_t> torn;
  std::thread poller([&] {
    while (!over) {
      const uint64_t value = seen.load();
      if (value != 0 && value != UINT64_MAX) torn.push_back(value);
    }
  });
  for (uint64_t i = 0; i < 1000 && !HasFailure(); ++i) {
    const uint64_t value = i % 2 == 0 ? UINT64_MAX : 0;
    EXPECT_EQ(
        pair.client.qp->PostAtomicWrite({.wr_id = i,
                                         .remote_addr = pair.server.Address(),
                                         .source = &value,
                                         .rkey = pair.server.mr->rkey,
                                         .send_flags = IBV_SEND_SIGNALED}),
        0);
    EXPECT_EQ(pair.client.AwaitSend().status, IBV_WC_SUCCESS);
    EXPECT_EQ(seen.load(), value);
  }
  over = true;
  poller.join();
  EXPECT_THAT(torn, IsEmpty());
}

// Sees how many messages the program knows of when an answer is sent.
class WitnessLink final : public FarLink {
 public:
  explicit WitnessLink(End& end) : end_(end) {}

  bool Send(Lane, const wire::Message& message,
            std::span<const Piece>) override {
    EXPECT_EQ(message.reply.outcome, wire::Outcome::kDone);
    received_when_answered.push_back(end_.PollRecv().size());
    return true;
  }
  bool is_dead() const override { return false; }
  bool AwaitRoom() override { return false; }
  void WantRoom() override {}
  uint64_t Sent() override { return 0; }
  bool IsHandled(uint64_t) override { return true; }

  std::vector<size_t> received_when_answered;

 private:
  End& end_;
};

// What the program does next may end the connection.
TEST(FarMessageTest, IsAnsweredBeforeTheProgramKnowsOfIt) {
  constexpr uint32_t kSender = 7;
  TestEnvironment world;
  End server("server", 1, {}, world);
  const auto link = std::make_shared<WitnessLink>(server);
  const QpRef sender(std::make_shared<FarQp>(link, kSender, false));
  ASSERT_EQ(server.qp->ToReadyToReceive(sender, {}), 0);
  for (const bool is_write : {false, true}) {
    ASSERT_EQ(server.Recv(1, 0, 8), 0);
    wire::Message message = wire::NewMessage(wire::Type::kRequest);
    message.head.flags = wire::kLast;
    message.head.to = server.qp->qp_num;
    message.head.from = kSender;
    if (is_write) {
      message.request.operation = wire::Operation::kWrite;
      message.request.op_flags = wire::kWithImm;
    }
    EXPECT_STREQ(server.device.OnData(*link, message, {}), nullptr);
    EXPECT_EQ(server.PollRecv().size(), 1u);
  }
  EXPECT_THAT(link->received_when_answered, ElementsAre(0, 0));
  world.timers().Stop();
}

}  // namespace
}  // namespace rpma::emu
