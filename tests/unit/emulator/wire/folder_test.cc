// SPDX-License-Identifier: BSD-3-Clause
// Which folders are refused, and how the dead are told from the living.

#include "emulator/wire/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/emulator/wire/temporary_folder.h"

namespace rpma::emu::wire {
namespace {

using std::chrono_literals::operator""ms;

constexpr uid_t kNobody = 65534;

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() : directory_(temporary_.path() + "/directory") {}

  std::string Refusal(const std::string& directory) {
    Folder folder;
    std::string why;
    EXPECT_FALSE(folder.Open(directory, "name", &why));
    return why;
  }
  void Open(Folder& folder) {
    std::string why;
    ASSERT_TRUE(folder.Open(directory_, "name", &why)) << why;
  }
  std::string InFolder(const std::string& name) const {
    return directory_ + "/name/" + name;
  }
  void Touch(const std::string& name, std::string_view text) {
    std::ofstream(InFolder(name)) << text;
  }

  TemporaryFolder temporary_;
  const std::string directory_;
};

TEST_F(FolderTest, IsMadeForItsOwnerAlone) {
  Folder folder;
  Open(folder);
  struct stat status;
  ASSERT_EQ(stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0700u);
  ASSERT_EQ(stat((directory_ + "/name").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0700u);
  Folder again;
  Open(again);
  EXPECT_EQ(again.path(), directory_ + "/name");
}

TEST_F(FolderTest, IsRefusedIfOthersHaveRights) {
  ASSERT_EQ(mkdir(directory_.c_str(), 0700), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  EXPECT_EQ(Refusal(directory_),
            directory_ +
                ": its mode is 0755, not 0700; remove it, or name another "
                "folder with RPMA_EMU=dir=PATH");
  ASSERT_EQ(chmod(directory_.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((directory_ + "/name").c_str(), 0700), 0);
  ASSERT_EQ(chmod((directory_ + "/name").c_str(), 01770), 0);
  EXPECT_EQ(Refusal(directory_).substr(directory_.size()),
            "/name: its mode is 1770, not 0700; remove it, or name another "
            "folder with RPMA_EMU=dir=PATH");
}

TEST_F(FolderTest, IsRefusedIfItIsASymbolicLink) {
  const std::string real = temporary_.path() + "/real";
  ASSERT_EQ(mkdir(real.c_str(), 0700), 0);
  ASSERT_EQ(symlink(real.c_str(), directory_.c_str()), 0);
  EXPECT_NE(Refusal(directory_).find("it is a symbolic link or no folder"),
            std::string::npos);
}

TEST_F(FolderTest, IsRefusedIfItIsAFile) {
  std::ofstream(directory_) << "";
  EXPECT_NE(Refusal(directory_).find("it is a symbolic link or no folder"),
            std::string::npos);
}

TEST_F(FolderTest, IsRefusedIfItCannotBeMade) {
  EXPECT_NE(Refusal("/proc/nothing").find("No such file or directory"),
            std::string::npos);
}

TEST_F(FolderTest, IsRefusedIfItBelongsToAnotherUser) {
  ASSERT_EQ(mkdir(directory_.c_str(), 0700), 0);
  if (chown(directory_.c_str(), kNobody, kNobody) != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  EXPECT_NE(Refusal(directory_).find("it belongs to user 65534, not to "),
            std::string::npos);
}

TEST(FolderNameTest, HasLettersDigitsAndSomeOthers) {
  for (const char* const good : {"default", "a", "7", "A.b_c-d"}) {
    EXPECT_TRUE(IsFolderName(good)) << good;
  }
  for (const char* const bad :
       {"", ".", "..", "-a", "a/b", "a b", "\xc3\xa4"}) {
    EXPECT_FALSE(IsFolderName(bad)) << bad;
  }
  EXPECT_TRUE(IsFolderName(std::string(64, 'a')));
  EXPECT_FALSE(IsFolderName(std::string(65, 'a')));
}

TEST_F(FolderTest, AMemberLivesUntilItsFileIsClosed) {
  Folder folder;
  Open(folder);
  const Folder::Lock lock = folder.Acquire(0ms);
  ASSERT_TRUE(lock.is_held());
  Token token;
  Descriptor life;
  ASSERT_EQ(folder.Join(lock, &token, &life), 0);
  EXPECT_TRUE(folder.IsAlive(lock, token));
  life.Close();
  EXPECT_FALSE(folder.IsAlive(lock, token));
  folder.Remove(token);
  EXPECT_FALSE(folder.IsAlive(lock, token));
  EXPECT_EQ(FilesIn(folder.path()), (std::vector<std::string>{"lock"}));
}

TEST_F(FolderTest, AMemberDiesWithItsProcess) {
  Folder folder;
  Open(folder);
  const pid_t child = fork();
  if (child == 0) {
    Token token;
    Descriptor life;
    const int error = folder.Join(folder.Acquire(1000ms), &token, &life);
    kill(getpid(), error == 0 ? SIGKILL : SIGABRT);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(FilesIn(folder.path()).size(), 2u);
  EXPECT_EQ(folder.Sweep(folder.Acquire(0ms)), 1u);
  EXPECT_EQ(FilesIn(folder.path()), (std::vector<std::string>{"lock"}));
}

TEST_F(FolderTest, IsSweptOfAHundredDeadAndOfWhatTheyLeft) {
  Folder folder;
  Open(folder);
  const Folder::Lock lock = folder.Acquire(0ms);
  Token living;
  Descriptor its_life;
  ASSERT_EQ(folder.Join(lock, &living, &its_life), 0);
  Touch(std::string(living.text()) + ".sock", "");
  Touch("1@127.0.0.1", living.text());
  Touch("unknown", "");
  for (int i = 0; i < 100; ++i) {
    Token token;
    Descriptor life;
    ASSERT_EQ(folder.Join(lock, &token, &life), 0);
    Touch(std::string(token.text()) + ".sock", "");
    Touch(std::to_string(1000 + i) + "@any", token.text());
    if (i % 2 == 0) folder.Remove(token);  // all of it
    if (i % 3 == 0) {
      std::filesystem::remove(InFolder(std::string(token.text()) + ".lock"));
      Touch(std::string(token.text()) + ".sock", "");
    }
    Touch(".tmp-" + std::string(token.text()), "");
  }
  EXPECT_GT(folder.Sweep(lock), 30u);
  std::vector<std::string> expected{
      "1@127.0.0.1", std::string(living.text()) + ".lock",
      std::string(living.text()) + ".sock", "lock", "unknown"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(FilesIn(folder.path()), expected);
}

TEST_F(FolderTest, ALockThatAnotherProcessHoldsIsNotWaitedForForEver) {
  Folder folder;
  Open(folder);
  const Folder::Lock held = folder.Acquire(0ms);
  ASSERT_TRUE(held.is_held());
  const Folder::Lock lock = folder.Acquire(5ms);
  EXPECT_FALSE(lock.is_held());
  EXPECT_EQ(lock.error(), EAGAIN);
  EXPECT_EQ(lock.holder(), getpid());
}

TEST_F(FolderTest, ReadsATokenOnlyFromAFileThatHasOne) {
  Folder folder;
  Open(folder);
  Touch("1@any", "0123456789abcdef");
  Touch("2@any", "0123456789abcdef\n");
  Touch("3@any", "0123456789ABCDEF");
  Touch("4@any", "");
  ASSERT_TRUE(folder.ReadToken("1@any").has_value());
  EXPECT_EQ(folder.ReadToken("1@any")->text(), "0123456789abcdef");
  EXPECT_FALSE(folder.ReadToken("2@any").has_value());
  EXPECT_FALSE(folder.ReadToken("3@any").has_value());
  EXPECT_FALSE(folder.ReadToken("4@any").has_value());
  EXPECT_FALSE(folder.ReadToken("5@any").has_value());
}

}  // namespace
}  // namespace rpma::emu::wire
