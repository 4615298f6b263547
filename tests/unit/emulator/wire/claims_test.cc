// SPDX-License-Identifier: BSD-3-Clause
// Who has a port.

#include "emulator/wire/claims.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "tests/unit/emulator/wire/temporary_folder.h"

namespace rpma::emu::wire {
namespace {

using std::chrono_literals::operator""ms;

class Address {
 public:
  Address(const char* ip, uint16_t port) {
    auto& in = reinterpret_cast<sockaddr_in&>(storage_);
    auto& in6 = reinterpret_cast<sockaddr_in6&>(storage_);
    storage_.ss_family = AF_INET;
    if (inet_pton(AF_INET, ip, &in.sin_addr) != 1) {
      storage_.ss_family = AF_INET6;
      EXPECT_EQ(inet_pton(AF_INET6, ip, &in6.sin6_addr), 1) << ip;
    }
    in.sin_port = htons(port);
  }
  operator const sockaddr&() const {
    return reinterpret_cast<const sockaddr&>(storage_);
  }

 private:
  sockaddr_storage storage_{};
};

class ClaimsTest : public ::testing::Test {
 protected:
  // A fabric in the folder.
  struct Member {
    Token token;
    Descriptor life;
  };

  ClaimsTest() {
    std::string why;
    EXPECT_TRUE(folder_.Open(temporary_.path(), "name", &why)) << why;
    Join(a_);
    Join(b_);
  }

  void Join(Member& member) {
    EXPECT_EQ(
        folder_.Join(folder_.Acquire(1000ms), &member.token, &member.life), 0);
  }
  int Claim(const Member& member, const Address& address) {
    return Claims(folder_, member.token, patience_).Claim(address, &why_);
  }
  void Release(const Member& member, const Address& address) {
    Claims(folder_, member.token).Release(address);
  }
  std::optional<Token> Find(const Member& member, const Address& address) {
    return Claims(folder_, member.token).Find(address);
  }

  // Writes a letter for each port: whether it is got.
  void Race(const Member& member, int results) {
    for (uint16_t port = 1; port <= kPorts; ++port) {
      const int error = Claim(member, Address("127.0.0.1", port));
      const char result = error == 0 ? 'y' : error == EADDRINUSE ? 'n' : '?';
      if (write(results, &result, 1) != 1) abort();
    }
  }

  static constexpr int kPorts = 100;
  TemporaryFolder temporary_;
  Folder folder_;
  Member a_;
  Member b_;
  std::string why_;
  std::chrono::milliseconds patience_{10'000};
};

TEST_F(ClaimsTest, AClaimIsFoundByOthersUntilItIsReleased) {
  const Address address("127.0.0.1", 7204);
  EXPECT_FALSE(Find(b_, address));
  EXPECT_EQ(Claim(a_, address), 0);
  EXPECT_EQ(Find(b_, address), a_.token);
  EXPECT_FALSE(Find(a_, address));  // it is its own
  EXPECT_FALSE(Find(b_, Address("127.0.0.1", 7205)));
  EXPECT_FALSE(Find(b_, Address("127.0.0.2", 7204)));
  Release(a_, address);
  EXPECT_FALSE(Find(b_, address));
}

TEST_F(ClaimsTest, AFifoWithTheNameOfAClaimIsNone) {
  const std::string path = temporary_.path() + "/name/7204@127.0.0.1";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(Find(b_, Address("127.0.0.1", 7204)));
  EXPECT_EQ(Claim(a_, Address("127.0.0.1", 7205)), 0);
}

TEST_F(ClaimsTest, AWildcardIsFoundByEveryAddress) {
  EXPECT_EQ(Claim(a_, Address("::", 7204)), 0);
  EXPECT_EQ(Find(b_, Address("127.0.0.1", 7204)), a_.token);
  EXPECT_EQ(Find(b_, Address("fe80::1", 7204)), a_.token);
  EXPECT_FALSE(Find(b_, Address("127.0.0.1", 720)));
  EXPECT_FALSE(Find(b_, Address("127.0.0.1", 17204)));
}

TEST_F(ClaimsTest, AnIpv4AddressWithinIpv6IsThatAddress) {
  EXPECT_EQ(Claim(a_, Address("::ffff:10.0.0.1", 7204)), 0);
  EXPECT_EQ(Find(b_, Address("10.0.0.1", 7204)), a_.token);
}

TEST_F(ClaimsTest, APortIsTakenOnTheSameAndOnWildcardAddresses) {
  EXPECT_EQ(Claim(a_, Address("127.0.0.1", 7204)), 0);
  EXPECT_EQ(Claim(b_, Address("127.0.0.1", 7204)), EADDRINUSE);
  EXPECT_EQ(Claim(b_, Address("0.0.0.0", 7204)), EADDRINUSE);
  EXPECT_EQ(Claim(b_, Address("::", 7204)), EADDRINUSE);
  EXPECT_EQ(Claim(b_, Address("127.0.0.2", 7204)), 0);
  EXPECT_EQ(Claim(b_, Address("::", 204)), 0);
  EXPECT_EQ(Claim(a_, Address("127.0.0.1", 204)), EADDRINUSE);
}

TEST_F(ClaimsTest, OnlyTheOwnerReleasesAClaim) {
  const Address address("127.0.0.1", 7204);
  EXPECT_EQ(Claim(a_, address), 0);
  Release(b_, address);
  EXPECT_EQ(Find(b_, address), a_.token);
}

TEST_F(ClaimsTest, AClaimOfTheDeadIsFree) {
  EXPECT_EQ(Claim(a_, Address("127.0.0.1", 7204)), 0);
  EXPECT_EQ(Claim(a_, Address("127.0.0.1", 7205)), 0);
  a_.life.Close();
  EXPECT_EQ(Claim(b_, Address("::", 7204)), 0);
  EXPECT_EQ(Find(a_, Address("127.0.0.1", 7204)), b_.token);
  for (const std::string& name : FilesIn(folder_.path())) {
    EXPECT_EQ(name.find(a_.token.text()), std::string::npos) << name;
    EXPECT_NE(name, "7205@127.0.0.1");
  }
}

TEST_F(ClaimsTest, OnlyTheDeadAreForgotten) {
  const Address address("127.0.0.1", 7204);
  EXPECT_EQ(Claim(a_, address), 0);
  Claims(folder_, b_.token).Forget(a_.token);
  EXPECT_EQ(Find(b_, address), a_.token);
  a_.life.Close();
  Claims(folder_, b_.token).Forget(a_.token);
  EXPECT_FALSE(Find(b_, address));
}

TEST_F(ClaimsTest, AClaimFailsWhileAnotherHoldsTheFolderAndSaysWho) {
  const Folder::Lock held = folder_.Acquire(0ms);
  patience_ = 1ms;
  EXPECT_EQ(Claim(a_, Address("127.0.0.1", 7204)), EAGAIN);
  EXPECT_EQ(why_, folder_.path() +
                      ": port 7204 cannot be claimed: Resource temporarily "
                      "unavailable, as process " +
                      std::to_string(getpid()) +
                      " holds the lock of the folder");
}

TEST_F(ClaimsTest, OneOfTwoProcessesThatRaceForAPortGetsIt) {
  int results[2];
  int end_of_test[2];
  ASSERT_EQ(pipe(results), 0);
  ASSERT_EQ(pipe(end_of_test), 0);
  pid_t racers[2];
  for (pid_t& racer : racers) {
    racer = fork();
    if (racer != 0) continue;
    close(end_of_test[1]);
    Member member;
    Join(member);
    Race(member, results[1]);
    char end;  // lives until the test has counted
    _exit(static_cast<int>(read(end_of_test[0], &end, 1)));
  }
  int got = 0;
  int taken = 0;
  for (int i = 0; i < 2 * kPorts; ++i) {
    char result = '?';
    ASSERT_EQ(read(results[0], &result, 1), 1);
    got += result == 'y';
    taken += result == 'n';
  }
  EXPECT_EQ(got, kPorts);
  EXPECT_EQ(taken, kPorts);
  for (const int fd :
       {results[0], results[1], end_of_test[0], end_of_test[1]}) {
    close(fd);
  }
  for (const pid_t racer : racers) {
    int status;
    ASSERT_EQ(waitpid(racer, &status, 0), racer);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace rpma::emu::wire
