// SPDX-License-Identifier: BSD-3-Clause
// Another user neither finds a fabric nor is let in. Needs root, to be both.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "emulator/wire/descriptor.h"
#include "emulator/wire/message.h"
#include "emulator/wire/wire.h"
#include "tests/unit/emulator/wire/party.h"
#include "tests/unit/emulator/wire/temporary_folder.h"

namespace rpma::emu::wire {
namespace {

constexpr uid_t kNobody = 65534;

class OtherUserTest : public ::testing::Test {
 protected:
  OtherUserTest() {
    EXPECT_EQ(party_.Claim(7204), 0);
    for (const std::string& name : FilesIn(Path())) {
      if (name.ends_with(".sock")) socket_ = name;
    }
  }

  std::string Path() const { return temporary_.path() + "/name"; }

  // The exit code of `body` in a process of another user; -1: there is none.
  template <typename Body>
  int AsNobody(Body body) {
    // A process of root may enter, whoever it becomes.
    const Descriptor folder(open(Path().c_str(), O_PATH | O_DIRECTORY));
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(255);
      _exit(body(folder.get()));
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
  }

  // 0, or the errno of connect(2).
  int Connect(int folder, int* connected) const {
    const std::string path =
        "/proc/self/fd/" + std::to_string(folder) + "/" + socket_;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    *connected = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return connect(*connected, reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)) == 0
               ? 0
               : errno;
  }

  TemporaryFolder temporary_;
  Party party_{temporary_.path()};
  std::string socket_;
};

TEST_F(OtherUserTest, DoesNotGetAtTheSocket) {
  const int error = AsNobody([&](int folder) {
    int connected;
    return Connect(folder, &connected);
  });
  if (error == -1) GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(error, EACCES);
}

TEST_F(OtherUserTest, IsSentAwayShouldTheFolderBeOpen) {
  ASSERT_EQ(chmod(Path().c_str(), 0777), 0);
  ASSERT_EQ(chmod((Path() + "/" + socket_).c_str(), 0777), 0);
  const int result = AsNobody([&](int folder) {
    int connected;
    if (Connect(folder, &connected) != 0) return 1;
    if (send(connected, "hello", 5, MSG_NOSIGNAL) != 5) return 2;
    Goodbye goodbye{};
    const auto receive = [&] {
      ssize_t size;
      do {
        size = recv(connected, &goodbye, sizeof(goodbye), 0);
      } while (size < 0 && errno == ECONNRESET);  // "hello" was not even read
      return size;
    };
    if (receive() != sizeof(goodbye)) return 3;
    if (goodbye.why != GoodbyeReason::kStranger) return 4;
    return receive() == 0 ? 0 : 5;
  });
  if (result == -1) GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(result, 0);
  EXPECT_NE(party_.AwaitLog().find(" is refused: it belongs to user 65534, "),
            std::string::npos);
}

}  // namespace
}  // namespace rpma::emu::wire
