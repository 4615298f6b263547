// SPDX-License-Identifier: BSD-3-Clause
// Whoever finds a queue empty makes progress, also while it waits.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "emulator/far_link.h"
#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

class ProgressTest : public ::testing::Test, private Progress {
 protected:
  ProgressTest() { pair_.environment.progress() = this; }

  int polls_ = 0;
  int sleeps_ = 0;
  std::function<void()> brings_ = [] {};
  std::function<void()> while_looking_ = [] {};
  std::function<void()> before_sleep_ = [] {};
  ConnectedPair pair_;

 private:
  void Poll() override {
    ++polls_;
    std::exchange(brings_, [] {})();
  }
  // Looks, and then returns once, as if something had come.
  int Wait(int fd, const std::function<bool()>* found) override {
    EXPECT_FALSE((*found)());
    std::exchange(while_looking_, [] {})();
    if ((*found)()) return 0;
    ++sleeps_;
    std::exchange(before_sleep_, [] {})();
    pollfd readable{fd, POLLIN, 0};
    return poll(&readable, 1, 0) < 0 ? errno : 0;
  }
};

TEST_F(ProgressTest, AnEmptyPollGetsWhatProgressBrings) {
  brings_ = [&] { EXPECT_EQ(pair_.client.Write(7, 0, 8, pair_.server, 0), 0); };
  ibv_wc wc;
  ASSERT_EQ(pair_.client.send_cq->Poll(1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 7u);
  EXPECT_GE(polls_, 1);
}

TEST_F(ProgressTest, APollThatFindsSomethingMakesNone) {
  ASSERT_EQ(pair_.client.Write(7, 0, 8, pair_.server, 0), 0);
  polls_ = 0;  // posting has made some
  ibv_wc wc;
  ASSERT_EQ(pair_.client.send_cq->Poll(1, &wc), 1);
  EXPECT_EQ(polls_, 0);
}

TEST_F(ProgressTest, WithoutAnyoneToMakeItThePollIsEmpty) {
  pair_.environment.progress() = nullptr;
  EXPECT_TRUE(pair_.client.PollSend().empty());
}

TEST_F(ProgressTest, AWaitMakesProgressBeforeItGivesUp) {
  fcntl(pair_.server.channel->fd, F_SETFL, O_NONBLOCK);
  pair_.server.recv_cq->Arm(/*solicited_only=*/false);
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(pair_.server.channel->GetEvent(&cq), EAGAIN);
  brings_ = [&] {
    EXPECT_EQ(pair_.server.Recv(1, 0, 8), 0);
    EXPECT_EQ(pair_.client.Send(2, 0, 8), 0);
  };
  ASSERT_EQ(pair_.server.channel->GetEvent(&cq), 0);
  cq->AckEvents(1);
  EXPECT_EQ(sleeps_, 0);
}

TEST_F(ProgressTest, AWaitLooksForAnEventBeforeItSleeps) {
  pair_.server.recv_cq->Arm(/*solicited_only=*/false);
  ASSERT_EQ(pair_.server.Recv(1, 0, 8), 0);
  while_looking_ = [&] { EXPECT_EQ(pair_.client.Send(2, 0, 8), 0); };
  CompletionQueue* cq = nullptr;
  ASSERT_EQ(pair_.server.channel->GetEvent(&cq), 0);
  cq->AckEvents(1);
  EXPECT_EQ(sleeps_, 0);
}

TEST_F(ProgressTest, AnEventThatComesBeforeTheSleepEndsTheWait) {
  pair_.server.recv_cq->Arm(/*solicited_only=*/false);
  ASSERT_EQ(pair_.server.Recv(1, 0, 8), 0);
  before_sleep_ = [&] { EXPECT_EQ(pair_.client.Send(2, 0, 8), 0); };
  CompletionQueue* cq = nullptr;
  ASSERT_EQ(pair_.server.channel->GetEvent(&cq), 0);
  cq->AckEvents(1);
  EXPECT_EQ(sleeps_, 1);
}

}  // namespace
}  // namespace rpma::emu
