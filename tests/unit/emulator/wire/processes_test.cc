// SPDX-License-Identifier: BSD-3-Clause
// Wires and the life of processes: they fork, exit and are killed.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "emulator/wire/wire.h"
#include "tests/unit/emulator/wire/party.h"
#include "tests/unit/emulator/wire/recording_ends.h"
#include "tests/unit/emulator/wire/temporary_folder.h"

namespace rpma::emu::wire {
namespace {

// A child that runs `body`, until it is killed or exits.
class Child {
 public:
  explicit Child(const std::function<void(Child&)>& body) {
    if (pipe(ready_) != 0 || pipe(end_) != 0) ADD_FAILURE() << "no pipe";
    pid_ = fork();
    if (pid_ != 0) return;
    body(*this);
    AwaitEnd();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) Kill();
    for (const int fd : {ready_[0], ready_[1], end_[0], end_[1]}) close(fd);
  }

  void SayReady() {
    if (write(ready_[1], "r", 1) != 1) _exit(99);
  }
  void AwaitReady() {
    char byte;
    EXPECT_EQ(read(ready_[0], &byte, 1), 1);
  }
  // Until it is killed, or its test is over.
  [[noreturn]] void AwaitEnd() {
    close(end_[1]);
    char byte;
    _exit(static_cast<int>(read(end_[0], &byte, 1)));
  }
  void Kill() {
    kill(pid_, SIGKILL);
    AwaitExit();
  }
  int AwaitExit() {
    int status = -1;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  int ready_[2];
  int end_[2];
};

class ProcessesTest : public ::testing::Test {
 protected:
  std::vector<std::string> Files() const {
    return FilesIn(temporary_.path() + "/name");
  }
  std::unique_ptr<Party> NewParty() {
    return std::make_unique<Party>(temporary_.path());
  }

  TemporaryFolder temporary_;
};

TEST_F(ProcessesTest, AKilledListenerIsSeenAndCleanedUp) {
  Child child([&](Child& self) {
    Party party(temporary_.path());
    if (party.Claim(7204) == 0) self.SayReady();
    self.AwaitEnd();
  });
  child.AwaitReady();
  const std::unique_ptr<Party> party = NewParty();
  ASSERT_EQ(party->Find(7204), Wire::Found::kLink);
  child.Kill();
  party->AwaitEnds(1);
  EXPECT_EQ(party->Log(), "");
  EXPECT_EQ(party->Find(7204), Wire::Found::kNobody);
  EXPECT_EQ(Files().size(), 3u);  // the folder's lock and the party's own two
}

TEST_F(ProcessesTest, AKilledConnectorIsSeen) {
  const std::unique_ptr<Party> party = NewParty();
  ASSERT_EQ(party->Claim(7204), 0);
  Child child([&](Child& self) {
    Party connector(temporary_.path());
    if (connector.Find(7204) == Wire::Found::kLink) {
      SendDreq(*connector.link, 1);
    }
    self.AwaitEnd();
  });
  party->AwaitMessages(1);
  child.Kill();
  party->AwaitEnds(1);
}

TEST_F(ProcessesTest, ExitRemovesTheFiles) {
  Child child([&](Child&) {
    Party* const party = new Party(temporary_.path());  // never destroyed
    std::exit(party->Claim(7204));
  });
  EXPECT_EQ(child.AwaitExit(), 0);
  EXPECT_EQ(Files(), std::vector<std::string>{"lock"});
}

TEST_F(ProcessesTest, AChildHasNoPartInIt) {
  const std::unique_ptr<Party> a = NewParty();
  const std::unique_ptr<Party> b = NewParty();
  ASSERT_EQ(a->Claim(7204), 0);
  ASSERT_EQ(b->Find(7204), Wire::Found::kLink);
  Child child([&](Child&) {
    const bool is_alone = b->progress.load() == nullptr && b->link->is_dead() &&
                          !SendDreq(*b->link, 1) && b->Claim(7205) == 0 &&
                          b->Find(7204) == Wire::Found::kNobody;
    const bool warned =
        b->Log() ==
        "a child of fork(2) does not reach other processes over the fabric of "
        "its parent; connections work within this process only\n";
    std::exit(is_alone ? (warned ? 0 : 2) : 1);
  });
  EXPECT_EQ(child.AwaitExit(), 0);
  EXPECT_EQ(Files().size(), 6u);  // nothing of the parent is gone
  EXPECT_TRUE(SendDreq(*b->link, 1));
  a->AwaitMessages(1);
}

// Of this process; those of epoll(7), eventfd(2) and sockets have no path.
int CountDescriptorsWithoutPath() {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string target = std::filesystem::read_symlink(entry);
    if (target.starts_with("anon_inode:") || target.starts_with("socket:")) {
      ++count;
    }
  }
  return count;
}

TEST_F(ProcessesTest, AChildKeepsNoDescriptorOfALink) {
  const int before = CountDescriptorsWithoutPath();
  const std::unique_ptr<Party> a = NewParty();
  const std::unique_ptr<Party> b = NewParty();
  ASSERT_EQ(a->Claim(7204), 0);
  ASSERT_EQ(b->Find(7204), Wire::Found::kLink);
  EXPECT_TRUE(SendDreq(*b->link, 1));
  a->AwaitMessages(1);
  EXPECT_GT(CountDescriptorsWithoutPath(), before);
  Child child([&](Child&) { _exit(CountDescriptorsWithoutPath() - before); });
  EXPECT_EQ(child.AwaitExit(), 0);
}

TEST_F(ProcessesTest, AParentThatDiesIsSeenThoughItsChildLives) {
  Child parent([&](Child& self) {
    Party party(temporary_.path());
    if (party.Claim(7204) != 0) _exit(1);
    Party other(temporary_.path());
    self.SayReady();
    party.AwaitMessages(1);
    if (fork() == 0) {  // has what its parent has, but for the wire
      self.SayReady();
      self.AwaitEnd();
    }
    self.AwaitEnd();
  });
  parent.AwaitReady();
  const std::unique_ptr<Party> party = NewParty();
  ASSERT_EQ(party->Find(7204), Wire::Found::kLink);
  EXPECT_TRUE(SendDreq(*party->link, 1));
  parent.AwaitReady();
  parent.Kill();
  party->AwaitEnds(1);
  EXPECT_EQ(party->Find(7204), Wire::Found::kNobody);
  EXPECT_EQ(party->Claim(7204), 0);
}

TEST_F(ProcessesTest, AChildThatForkedBeforeTheFirstClaimIsAProcessLikeOthers) {
  const std::unique_ptr<Party> party = NewParty();
  EXPECT_EQ(party->Find(7204), Wire::Found::kNobody);
  Child child([&](Child& self) {
    if (party->Claim(7204) == 0) self.SayReady();
    self.AwaitEnd();
  });
  child.AwaitReady();
  EXPECT_EQ(party->Find(7204), Wire::Found::kLink);
}

}  // namespace
}  // namespace rpma::emu::wire
