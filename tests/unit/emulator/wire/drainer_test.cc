// SPDX-License-Identifier: BSD-3-Clause
// When nobody needs to look at the links, and when somebody does.

#include "emulator/wire/drainer.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "emulator/wire/link.h"
#include "tests/unit/emulator/wire/recording_ends.h"

namespace rpma::emu::wire {
namespace {

bool IsReadable(int fd) {
  pollfd readable{fd, POLLIN, 0};
  return poll(&readable, 1, 0) == 1;
}

class DrainerTest : public ::testing::Test {
 protected:
  // A new link of the drainer's; its other end.
  std::shared_ptr<Link> AddLink() {
    Token peer;
    Token own;
    EXPECT_EQ(NewToken(&peer) + NewToken(&own), 0);
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
                         0, fds),
              0);
    Descriptor socket(fds[1]);
    std::string why;
    std::shared_ptr<Link> there =
        Link::Offer(Descriptor(fds[0]), peer, own, &why);
    std::shared_ptr<Link> here;
    EXPECT_EQ(Link::Accept(&socket, own, &here, &why), Heard::kHello) << why;
    drainer_.Add(std::move(here));
    return there;
  }

  RecordingEnds ends_;
  std::string log_;
  int kicks_ = 0;
  std::atomic<Progress*> progress_ = nullptr;
  Drainer drainer_{ends_, [this](int, const char* text) { log_ += text; },
                   [this] { ++kicks_; }, nullptr, &progress_};
};

TEST_F(DrainerTest, DoesNotFallAsleepBeforeItKnowsALink) {
  EXPECT_TRUE(drainer_.FallAsleep());
  const std::shared_ptr<Link> link = AddLink();
  EXPECT_EQ(kicks_, 1);
  EXPECT_FALSE(drainer_.FallAsleep());
  EXPECT_TRUE(drainer_.Drain().won);
  EXPECT_TRUE(drainer_.FallAsleep());
}

TEST_F(DrainerTest, DoesNotFallAsleepOverAMessage) {
  const std::shared_ptr<Link> first = AddLink();
  const std::shared_ptr<Link> second = AddLink();
  drainer_.Drain();
  EXPECT_TRUE(SendReply(*first, 1, ""));
  EXPECT_FALSE(drainer_.FallAsleep());
  EXPECT_EQ(drainer_.Drain().handled, 1u);
  EXPECT_TRUE(SendWrite(*second, 1, ""));
  EXPECT_FALSE(drainer_.FallAsleep());
  EXPECT_EQ(drainer_.Drain().handled, 1u);
  EXPECT_TRUE(drainer_.FallAsleep());
}

TEST_F(DrainerTest, SaysOnceThatAPeerHasWokenThisSide) {
  EXPECT_EQ(drainer_.arrivals(), -1);
  const std::shared_ptr<Link> first = AddLink();
  const std::shared_ptr<Link> second = AddLink();
  drainer_.Drain();
  EXPECT_FALSE(IsReadable(drainer_.arrivals()));
  for (Link* const link : {first.get(), second.get(), first.get()}) {
    EXPECT_TRUE(drainer_.FallAsleep());
    EXPECT_TRUE(SendWrite(*link, 1, ""));
    EXPECT_TRUE(IsReadable(drainer_.arrivals()));
    drainer_.TakeArrivals();
    EXPECT_FALSE(IsReadable(drainer_.arrivals()));
    EXPECT_EQ(drainer_.DrainInline().handled, 1u);
  }
}

TEST_F(DrainerTest, NothingArrivesOnALinkThatHasEnded) {
  const std::shared_ptr<Link> link = AddLink();
  drainer_.Drain();
  const Descriptor of_child(dup(drainer_.link(0).socket()));
  drainer_.EndLater(0, std::nullopt, "");
  drainer_.Drain();
  link->Close(std::nullopt);
  EXPECT_FALSE(IsReadable(drainer_.arrivals()));
}

TEST_F(DrainerTest, LeavesOneThreadToDrain) {
  const std::shared_ptr<Link> link = AddLink();
  drainer_.Drain();
  ends_.on_message = [&](FarLink&, const Message&) {
    EXPECT_FALSE(drainer_.Drain().won);
    EXPECT_FALSE(drainer_.FallAsleep());
    EXPECT_EQ(drainer_.DrainInline().handled, 0u);
  };
  EXPECT_TRUE(SendWrite(*link, 1, ""));
  EXPECT_EQ(drainer_.Drain().handled, 1u);
}

TEST_F(DrainerTest, EndsALinkOnceAfterAllThatCame) {
  const std::shared_ptr<Link> link = AddLink();
  drainer_.Drain();
  EXPECT_TRUE(SendDreq(*link, 1));
  drainer_.EndLater(0, std::nullopt, "a reason");
  drainer_.Drain();
  EXPECT_EQ(drainer_.num_links(), 0u);
  EXPECT_EQ(ends_.received.size(), 1u);
  EXPECT_EQ(ends_.ended.size(), 1u);
  EXPECT_TRUE(ends_.was_dead);
  EXPECT_NE(log_.find(" is closed: a reason"), std::string::npos);
  drainer_.Drain();
  EXPECT_EQ(ends_.ended.size(), 1u);
}

}  // namespace
}  // namespace rpma::emu::wire
