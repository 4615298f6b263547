// SPDX-License-Identifier: BSD-3-Clause
// A link whose two ends are in one process.

#include "emulator/wire/link.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/emulator/wire/recording_ends.h"

namespace rpma::emu::wire {
namespace {

bool IsReadable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

class LinkTest : public ::testing::Test {
 protected:
  LinkTest() {
    EXPECT_EQ(NewToken(&token_a_), 0);
    EXPECT_EQ(NewToken(&token_b_), 0);
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
                         0, fds),
              0);
    socket_b_ = Descriptor(fds[1]);
    std::string why;
    a_ = Link::Offer(Descriptor(fds[0]), token_a_, token_b_, &why);
    EXPECT_NE(a_, nullptr) << why;
    EXPECT_EQ(Link::Accept(&socket_b_, token_b_, &b_, &why), Heard::kHello)
        << why;
    // Both are awake at first.
    a_->StayAwake();
    b_->StayAwake();
  }

  // Lets `link` hand what came to ends_.
  Link::Drained Drain(Link& link, bool with_cm = true, size_t limit = 10'000) {
    handled_ = 0;
    return link.Drain(ends_, with_cm, limit, &handled_, &why_);
  }

  Token token_a_;
  Token token_b_;
  Descriptor socket_b_;
  std::shared_ptr<Link> a_;
  std::shared_ptr<Link> b_;
  RecordingEnds ends_;
  size_t handled_ = 0;
  const char* why_ = "nothing";
};

TEST_F(LinkTest, KnowsWhoIsAtTheOtherEnd) {
  EXPECT_EQ(a_->pid(), getpid());
  EXPECT_EQ(b_->pid(), getpid());
  EXPECT_EQ(a_->peer(), token_b_);
  EXPECT_EQ(b_->peer(), token_a_);
  EXPECT_FALSE(a_->is_dead());
}

TEST_F(LinkTest, CarriesMessagesBothWays) {
  EXPECT_TRUE(SendWrite(*a_, 1, "there"));
  EXPECT_TRUE(SendWrite(*b_, 2, "back"));
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_EQ(Drain(*a_), Link::Drained::kAll);
  EXPECT_EQ(ends_.received,
            (std::vector<Received>{{Type::kRequest, 1, "there"},
                                   {Type::kRequest, 2, "back"}}));
  EXPECT_FALSE(a_->MayHaveMore());
}

TEST_F(LinkTest, GivesAllRepliesBeforeARequest) {
  EXPECT_TRUE(SendWrite(*a_, 1, ""));
  EXPECT_TRUE(SendDreq(*a_, 2));
  EXPECT_TRUE(SendReply(*a_, 3, "bytes"));
  EXPECT_TRUE(SendResume(*a_, 4));
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_EQ(ends_.received, (std::vector<Received>{{Type::kReply, 3, "bytes"},
                                                   {Type::kResume, 4, ""},
                                                   {Type::kRequest, 1, ""},
                                                   {Type::kCm, 2, ""}}));
}

TEST_F(LinkTest, LeavesMessagesOfTheCmToOthersIfAsked) {
  EXPECT_TRUE(SendDreq(*a_, 1));
  EXPECT_TRUE(SendWrite(*a_, 2, ""));
  EXPECT_TRUE(SendReply(*a_, 3, ""));
  EXPECT_EQ(Drain(*b_, /*with_cm=*/false), Link::Drained::kCm);
  EXPECT_EQ(ends_.received, (std::vector<Received>{{Type::kReply, 3, ""}}));
  EXPECT_EQ(handled_, 1u);
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_EQ(ends_.received.size(), 3u);
}

TEST_F(LinkTest, HandlesNoMoreThanTheLimit) {
  for (uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(SendWrite(*a_, i, ""));
  EXPECT_EQ(Drain(*b_, true, 2), Link::Drained::kLimit);
  EXPECT_EQ(handled_, 2u);
  EXPECT_EQ(Drain(*b_, true, 2), Link::Drained::kAll);
  EXPECT_EQ(handled_, 1u);
}

TEST_F(LinkTest, DataLeavesRoomForTheCm) {
  while (SendWrite(*a_, 1, std::string(kMaxPart, 'x'))) {
  }
  while (SendWrite(*a_, 1, "")) {
  }
  size_t messages = 0;
  while (SendDreq(*a_, 1)) ++messages;
  EXPECT_EQ(messages, kRoomForCm / SizeInRing(sizeof(Head) + sizeof(CmBody)));
}

TEST_F(LinkTest, AwaitsRoomWhileThePeerMakesSome) {
  while (SendWrite(*a_, 1, std::string(kMaxPart, 'x'))) {
  }
  EXPECT_FALSE(a_->AwaitRoom());
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_TRUE(a_->AwaitRoom());
  EXPECT_TRUE(SendWrite(*a_, 1, std::string(kMaxPart, 'x')));
  a_->Abandon();
  EXPECT_FALSE(a_->AwaitRoom());
}

TEST_F(LinkTest, KnowsWhatThePeerHasHandled) {
  EXPECT_TRUE(SendDreq(*a_, 1));
  const uint64_t first = a_->Sent();
  EXPECT_TRUE(SendDreq(*a_, 2));
  const uint64_t second = a_->Sent();
  EXPECT_FALSE(a_->IsHandled(first));
  EXPECT_EQ(Drain(*b_, true, 1), Link::Drained::kLimit);
  EXPECT_TRUE(a_->IsHandled(first));
  EXPECT_FALSE(a_->IsHandled(second));
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_TRUE(a_->IsHandled(second));
  EXPECT_TRUE(SendDreq(*a_, 3));
  const uint64_t third = a_->Sent();
  a_->Abandon();
  EXPECT_TRUE(a_->IsHandled(third));
}

TEST_F(LinkTest, ARequestWaitsUntilItsReplyHasRoom) {
  while (SendReply(*b_, 1, std::string(kMaxPart, 'x'))) {
  }
  while (SendResume(*b_, 1)) {
  }
  ends_.on_message = [](FarLink& link, const Message&) {
    EXPECT_TRUE(SendReply(link, 1, std::string(kMaxPart, 'y')));
  };
  EXPECT_TRUE(SendWrite(*a_, 1, ""));
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_TRUE(SendWrite(*a_, 1, ""));
  EXPECT_EQ(Drain(*b_), Link::Drained::kNoRoom);
  EXPECT_TRUE(b_->WaitsForRoom());

  ends_.on_message = nullptr;
  EXPECT_EQ(Drain(*a_), Link::Drained::kAll);
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_FALSE(b_->WaitsForRoom());
}

TEST_F(LinkTest, TellsOnceThatThereIsRoom) {
  while (SendWrite(*a_, 1, std::string(kMaxPart, 'x'))) {
  }
  a_->WantRoom();
  EXPECT_TRUE(a_->WaitsForRoom());
  EXPECT_EQ(Drain(*a_), Link::Drained::kAll);
  EXPECT_EQ(ends_.rooms, 0);
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_EQ(Drain(*a_), Link::Drained::kAll);
  EXPECT_EQ(Drain(*a_), Link::Drained::kAll);
  EXPECT_EQ(ends_.rooms, 1);
  EXPECT_FALSE(a_->WaitsForRoom());
}

TEST_F(LinkTest, TellsOfRoomThatIsThereAlready) {
  a_->WantRoom();
  EXPECT_EQ(Drain(*a_), Link::Drained::kAll);
  EXPECT_EQ(ends_.rooms, 1);
}

TEST_F(LinkTest, WakesASleeperOnce) {
  EXPECT_TRUE(SendWrite(*a_, 1, ""));
  EXPECT_FALSE(IsReadable(b_->socket()));
  b_->FallAsleep();
  EXPECT_TRUE(b_->MayHaveMore());
  EXPECT_TRUE(SendWrite(*a_, 1, ""));
  EXPECT_TRUE(IsReadable(b_->socket()));
  std::string why;
  EXPECT_EQ(ReceiveAll(b_->socket(), &why), Said::kNothing);
  EXPECT_TRUE(SendWrite(*a_, 1, ""));
  EXPECT_FALSE(IsReadable(b_->socket()));
  b_->FallAsleep();
  b_->StayAwake();
  EXPECT_TRUE(SendWrite(*a_, 1, ""));
  EXPECT_FALSE(IsReadable(b_->socket()));
}

TEST_F(LinkTest, IsDeadOnceItIsClosed) {
  EXPECT_TRUE(SendWrite(*a_, 1, "the last"));
  a_->Close(std::nullopt);
  EXPECT_TRUE(a_->is_dead());
  EXPECT_FALSE(SendWrite(*a_, 1, ""));
  std::string why;
  EXPECT_EQ(ReceiveAll(b_->socket(), &why), Said::kEnd);
  EXPECT_EQ(Drain(*b_), Link::Drained::kAll);
  EXPECT_EQ(ends_.received,
            (std::vector<Received>{{Type::kRequest, 1, "the last"}}));
  EXPECT_TRUE(SendWrite(*b_, 1, ""));  // nobody will read it
}

TEST_F(LinkTest, SaysWhyItIsClosed) {
  a_->Close(GoodbyeReason::kRubbish);
  std::string why;
  EXPECT_EQ(ReceiveAll(b_->socket(), &why), Said::kGoodbye);
  EXPECT_EQ(why, "it found rubbish in what this process sent");
  EXPECT_EQ(ReceiveAll(b_->socket(), &why), Said::kEnd);
}

TEST_F(LinkTest, SaysWhyItIsClosedEvenIfItDidNotListen) {
  a_->FallAsleep();
  EXPECT_TRUE(SendWrite(*b_, 1, ""));  // wakes it
  a_->Close(GoodbyeReason::kRubbish);
  std::string why;
  EXPECT_EQ(ReceiveAll(b_->socket(), &why), Said::kGoodbye);
}

TEST_F(LinkTest, IsDeadOnceItIsAbandoned) {
  a_->Abandon();
  EXPECT_TRUE(a_->is_dead());
  EXPECT_FALSE(SendWrite(*a_, 1, ""));
}

TEST_F(LinkTest, TakesAnObjectionForRubbish) {
  EXPECT_TRUE(SendWrite(*a_, 1, ""));
  ends_.objection = "a write to nobody";
  EXPECT_EQ(Drain(*b_), Link::Drained::kRubbish);
  EXPECT_STREQ(why_, "a write to nobody");
}

TEST_F(LinkTest, TakesOtherDatagramsForRubbish) {
  std::string why;
  ASSERT_EQ(send(b_->socket(), "ww", 2, 0), 2);
  EXPECT_EQ(ReceiveAll(a_->socket(), &why), Said::kRubbish);
  EXPECT_EQ(why, "an unknown datagram");
  ASSERT_EQ(send(b_->socket(), "x", 1, 0), 1);
  EXPECT_EQ(ReceiveAll(a_->socket(), &why), Said::kRubbish);
  const std::string huge(1000, 'w');
  ASSERT_EQ(send(b_->socket(), huge.data(), huge.size(), 0), 1000);
  EXPECT_EQ(ReceiveAll(a_->socket(), &why), Said::kRubbish);
}

}  // namespace
}  // namespace rpma::emu::wire
