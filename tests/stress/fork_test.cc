// SPDX-License-Identifier: BSD-3-Clause
// A process forks while it listens and has a connection on the default fabric,
// and its child executes no other program.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/stress/end.h"
#include "tests/stress/holdings.h"
#include "tests/stress/peer.h"
#include "tests/stress/peer_process.h"
#include "tests/stress/story.h"
#include "tests/stress/survivor.h"
#include "tests/support/log_guard.h"

namespace rpma::test {
namespace {

constexpr char kProfile[] = "roce";
constexpr char kPortOfChild[] = "7206";
constexpr unsigned kDeadlineSeconds = 5;
constexpr size_t kLarge = 1 << 20;

constexpr Story kWaits = {.peer_listens = true, .of_peer = Operation::kNothing};
constexpr Story kOperates = {.of_peer = Operation::kWrite, .peer_size = kLarge};

// A child that runs `body`, and then exits with what it returns.
class Child {
 public:
  explicit Child(const std::function<int()>& body) {
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    alarm(kDeadlineSeconds);
    std::exit(body());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) Kill();
  }

  void Kill() {
    kill(pid_, SIGKILL);
    AwaitEnd();
  }
  // One that uses what it inherited may wait for ever, for a lock that a thread
  // of its parent held.
  void AwaitEndOrDeadline() {
    const int status = AwaitEnd();
    EXPECT_TRUE(status == 0 ||
                (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
        << status;
  }
  int AwaitEnd() {
    int status = -1;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

int Nothing() { return 0; }
int WaitForEver() {
  for (;;) pause();
}

class ForkTest : public testing::Test {
 protected:
  ~ForkTest() override {
    EXPECT_THAT(rpma_conn_disconnect(end_.conn), IsOk());
    connected_.AwaitEnd();
  }

  // The connection and the listener work, and the files are those that were.
  void ExpectUnharmed() {
    for (const Operation operation :
         {Operation::kWrite, Operation::kRead, Operation::kFlush,
          Operation::kAtomicWrite}) {
      EXPECT_THAT(Post(end_, operation, kLarge, 1), IsOk());
      EXPECT_EQ(Poll(end_.cq).status, IBV_WC_SUCCESS);
    }
    ExpectToAccept();
    EXPECT_EQ(FilesIn(FabricFolder(kProfile)), files_);
  }
  void ExpectToAccept();

  LogGuard log_;
  Survivor survivor_;
  Endpoint endpoint_ = survivor_.Listen();
  PeerProcess connected_{kWaits, kPortOfPeers};
  End end_ = survivor_.ConnectedTo(connected_);
  const std::vector<std::string> files_ = FilesIn(FabricFolder(kProfile));
};

// Another peer does all that it has to do.
void ForkTest::ExpectToAccept() {
  PeerProcess peer(kOperates, kPort);
  ConnReq request;
  ASSERT_TRUE(BecomesReadable(EndpointFd(endpoint_)));
  ASSERT_THAT(rpma_ep_next_conn_req(endpoint_, nullptr, request.address()),
              IsOk());
  End end = survivor_.NewEnd();
  end.Own(Connect(std::move(request), Introduction(end)));
  EXPECT_EQ(NextEvent(end.conn), RPMA_CONN_ESTABLISHED);
  EXPECT_EQ(NextEvent(end.conn), RPMA_CONN_CLOSED);
  EXPECT_THAT(rpma_conn_disconnect(end.conn), IsOk());
  peer.AwaitEnd();
}

TEST_F(ForkTest, ExitOfTheChild) {
  Child child(&Nothing);
  EXPECT_EQ(child.AwaitEnd(), 0);
  ExpectUnharmed();
}

TEST_F(ForkTest, LifeAndDeathOfTheChild) {
  Child child(&WaitForEver);
  ExpectUnharmed();
  child.Kill();
  ExpectUnharmed();
}

TEST_F(ForkTest, ChildDeletesAllThatItInherited) {
  Child child([this] {
    EXPECT_THAT(rpma_conn_disconnect(end_.conn), IsOk());
    end_ = End();
    endpoint_.reset();
    return HasFailure();
  });
  child.AwaitEndOrDeadline();
  ExpectUnharmed();
}

TEST_F(ForkTest, ChildTakesWhatIsThereForItsParent) {
  EXPECT_THAT(Post(end_, Operation::kWrite, kLarge, 1), IsOk());
  ASSERT_TRUE(BecomesReadable(CompletionFd(end_.cq)));
  Child child([this] {
    EXPECT_THAT(rpma_cq_wait(end_.cq), IsOk());
    EXPECT_EQ(Poll(end_.cq).wr_id, 1u);
    return HasFailure();
  });
  child.AwaitEndOrDeadline();
  EXPECT_TRUE(IsReadable(CompletionFd(end_.cq)));
  EXPECT_THAT(rpma_cq_wait(end_.cq), IsOk());
  EXPECT_EQ(Poll(end_.cq).wr_id, 1u);
  ExpectUnharmed();
}

TEST_F(ForkTest, ChildIsByItself) {
  Child child([this] {
    LogThreshold threshold(RPMA_LOG_LEVEL_WARNING);
    log_.Discard();
    Survivor self;
    const Endpoint endpoint = self.Listen(kPortOfChild);
    EXPECT_THAT(log_.Take(RPMA_LOG_LEVEL_WARNING),
                testing::ElementsAre(testing::HasSubstr(
                    "a child of fork(2) does not reach other processes")));
    End end = self.Connecting();
    EXPECT_EQ(NextEvent(end.conn), RPMA_CONN_REJECTED);
    return HasFailure();
  });
  child.AwaitEndOrDeadline();
  ExpectUnharmed();
}

}  // namespace
}  // namespace rpma::test

int main(int argc, char** argv) {
  if (const auto status = rpma::test::MainOfPeer(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  rpma::test::SetEnvironment(rpma::test::kProfile);
  return RUN_ALL_TESTS();
}
