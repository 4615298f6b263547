// SPDX-License-Identifier: BSD-3-Clause
// Wires of one process, and of a process that is killed, find each other and
// see each other end.

#include "emulator/wire/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/emulator/wire/party.h"
#include "tests/unit/emulator/wire/recording_ends.h"
#include "tests/unit/emulator/wire/temporary_folder.h"

namespace rpma::emu::wire {
namespace {

class WireTest : public ::testing::Test {
 protected:
  std::string Path() const { return temporary_.path() + "/directory"; }
  std::unique_ptr<Party> NewParty(const std::string& name = "name") {
    return std::make_unique<Party>(Path(), name);
  }
  std::vector<std::string> Files() const { return FilesIn(Path() + "/name"); }

  // `a` listens, and `b` has a link to it.
  void Connect() {
    ASSERT_EQ(a_->Claim(7204), 0);
    ASSERT_EQ(b_->Find(7204), Wire::Found::kLink);
    ASSERT_NE(b_->link, nullptr);
  }

  // Connects to the only one who listens.
  Descriptor Stranger() const {
    std::string socket_name;
    for (const std::string& name : Files()) {
      if (name.ends_with(".sock")) socket_name = name;
    }
    const Descriptor folder(
        open((Path() + "/name").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string path =
        "/proc/self/fd/" + std::to_string(folder.get()) + "/" + socket_name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    Descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(made.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
              0);
    return made;
  }

  TemporaryFolder temporary_;
  std::unique_ptr<Party> a_ = NewParty();
  std::unique_ptr<Party> b_ = NewParty();
};

TEST_F(WireTest, MakesNothingBeforeTheFirstClaim) {
  EXPECT_EQ(b_->Find(7204), Wire::Found::kNobody);
  EXPECT_EQ(Files(), std::vector<std::string>{});
  EXPECT_EQ(b_->progress.load(), nullptr);
}

TEST_F(WireTest, FindsWhoHasAPort) {
  Connect();
  EXPECT_NE(b_->progress.load(), nullptr);
  EXPECT_TRUE(SendDreq(*b_->link, 1));
  a_->AwaitMessages(1);
  EXPECT_TRUE(SendDreq(*a_->last_link(), 2));
  b_->AwaitMessages(1);
  EXPECT_EQ(b_->last_link(), b_->link);
  EXPECT_EQ(a_->Log() + b_->Log(), "");
}

TEST_F(WireTest, UsesTheLinkThatIsThere) {
  Connect();
  const std::shared_ptr<FarLink> first = b_->link;
  ASSERT_EQ(a_->Claim(7205), 0);
  EXPECT_EQ(b_->Find(7205), Wire::Found::kLink);
  EXPECT_EQ(b_->link, first);
}

TEST_F(WireTest, DoesNotFindItself) {
  ASSERT_EQ(a_->Claim(7204), 0);
  EXPECT_EQ(a_->Find(7204), Wire::Found::kNobody);
}

TEST_F(WireTest, APortIsTakenUntilItIsReleased) {
  ASSERT_EQ(a_->Claim(7204), 0);
  EXPECT_EQ(b_->Claim(7204), EADDRINUSE);
  EXPECT_EQ(b_->Log(), "");
  a_->Release(7204);
  EXPECT_EQ(b_->Claim(7204), 0);
}

TEST_F(WireTest, OtherNamesAreOtherWorlds) {
  const std::unique_ptr<Party> other = NewParty("other");
  ASSERT_EQ(a_->Claim(7204), 0);
  EXPECT_EQ(other->Find(7204), Wire::Found::kNobody);
  EXPECT_EQ(other->Claim(7204), 0);
}

TEST_F(WireTest, AnEndIsSeenAtTheOtherEndAfterAllThatCameBefore) {
  Connect();
  for (uint32_t i = 0; i < 100; ++i) EXPECT_TRUE(SendDreq(*b_->link, i));
  b_.reset();
  a_->AwaitEnds(1);
  a_->AwaitMessages(100);
  EXPECT_EQ(a_->progress.load(), nullptr);
  EXPECT_TRUE(a_->last_link()->is_dead());
  EXPECT_FALSE(SendDreq(*a_->last_link(), 1));
  EXPECT_EQ(a_->Log(), "");
}

TEST_F(WireTest, ALinkThatEndedIsMadeAgain) {
  Connect();
  const std::shared_ptr<FarLink> first = b_->link;
  a_ = nullptr;
  b_->AwaitEnds(1);
  EXPECT_EQ(b_->Find(7204), Wire::Found::kNobody);
  a_ = NewParty();
  Connect();
  EXPECT_NE(b_->link, first);
}

TEST_F(WireTest, LeavesNoFiles) {
  Connect();
  a_.reset();
  b_.reset();
  EXPECT_EQ(Files(), std::vector<std::string>{"lock"});
}

TEST_F(WireTest, RubbishEndsTheLinkWithALineAtBothEnds) {
  Connect();
  a_->objection = "a message to nobody";
  EXPECT_TRUE(SendDreq(*b_->link, 1));
  a_->AwaitEnds(1);
  b_->AwaitEnds(1);
  const std::string link =
      "the link to process " + std::to_string(getpid()) + " is closed: ";
  EXPECT_EQ(a_->Log(), link + "it sent a message to nobody\n");
  EXPECT_EQ(b_->Log(), link + "it found rubbish in what this process sent\n");
}

TEST_F(WireTest, RubbishThatAPollFindsEndsTheLink) {
  Connect();
  EXPECT_TRUE(SendDreq(*b_->link, 1));
  a_->AwaitMessages(1);
  a_->objection = "a write to nobody";
  EXPECT_TRUE(SendWrite(*b_->link, 1, ""));
  while (Progress* const progress = a_->progress.load()) progress->Poll();
  a_->AwaitEnds(1);
}

TEST_F(WireTest, WhoConnectsAndSaysRubbishIsRefused) {
  ASSERT_EQ(a_->Claim(7204), 0);
  const Descriptor stranger = Stranger();
  ASSERT_EQ(send(stranger.get(), "hello", 5, 0), 5);
  EXPECT_EQ(a_->AwaitLog(), "a link from process " + std::to_string(getpid()) +
                                " is refused: something else than a Hello\n");
  EXPECT_EQ(b_->Find(7204), Wire::Found::kLink);
}

TEST_F(WireTest, OfWhoConnectsAndDiesNothingIsSaid) {
  ASSERT_EQ(a_->Claim(7204), 0);
  Stranger().Close();
  ASSERT_EQ(b_->Find(7204), Wire::Found::kLink);  // is heard after it
  EXPECT_TRUE(SendDreq(*b_->link, 1));
  a_->AwaitMessages(1);
  EXPECT_EQ(a_->Log(), "");
}

TEST_F(WireTest, AFolderThatIsRefusedLeavesTheFabricByItself) {
  ASSERT_EQ(mkdir(Path().c_str(), 0700), 0);
  ASSERT_EQ(chmod(Path().c_str(), 0777), 0);
  EXPECT_EQ(a_->Claim(7204), 0);
  EXPECT_EQ(a_->Claim(7205), 0);
  EXPECT_EQ(a_->Find(7204), Wire::Found::kNobody);
  EXPECT_EQ(a_->Log(),
            Path() +
                ": its mode is 0777, not 0700; remove it, or name another "
                "folder with RPMA_EMU=dir=PATH; connections work within this "
                "process only\n");
}

TEST_F(WireTest, ALackOfDescriptorsRefusesALinkAndNoMore) {
  ASSERT_EQ(a_->Claim(7204), 0);
  ASSERT_EQ(b_->Claim(7205), 0);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);
  close(next);
  // For the file of the claim and the socket, not for the memory.
  const rlimit few{static_cast<rlim_t>(next) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Wire::Found found = b_->Find(7204);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(found, Wire::Found::kNobody);
  EXPECT_EQ(b_->Log(),
            "a link to another process cannot be made: no memory to share: Too "
            "many open files\n");
  EXPECT_EQ(b_->Find(7204), Wire::Found::kLink);
}

}  // namespace
}  // namespace rpma::emu::wire
