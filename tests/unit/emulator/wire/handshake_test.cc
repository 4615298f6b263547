// SPDX-License-Identifier: BSD-3-Clause
// A link starts, or a peer that says something else than an intact Hello is
// refused. The peer is a test that speaks for itself.

#include "emulator/wire/handshake.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/wire/link.h"
#include "emulator/wire/shared_memory.h"
#include "tests/unit/emulator/wire/recording_ends.h"

namespace rpma::emu::wire {
namespace {

class HandshakeTest : public ::testing::Test {
 protected:
  HandshakeTest() {
    EXPECT_EQ(NewToken(&own_), 0);
    EXPECT_EQ(NewToken(&peer_), 0);
    EXPECT_EQ(memory_.Create(&memory_fd_), 0);
    Connect();
  }

  void Connect() {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
                         0, fds),
              0);
    socket_ = Descriptor(fds[0]);
    test_socket_ = Descriptor(fds[1]);
  }

  Hello GoodHello() const {
    Hello hello{};
    hello.magic = kMagic;
    hello.version = kVersion;
    hello.size = sizeof(hello);
    std::memcpy(hello.token, peer_.digits.data(), sizeof(hello.token));
    std::memcpy(hello.peer_token, own_.digits.data(), sizeof(hello.peer_token));
    hello.ring_bytes = kRingBytes;
    return hello;
  }

  void Say(const void* data, size_t size, const std::vector<int>& fds) {
    alignas(cmsghdr) char control[256] = {};
    iovec bytes{const_cast<void*>(data), size};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    ASSERT_EQ(sendmsg(test_socket_.get(), &message, 0),
              static_cast<ssize_t>(size));
  }

  // Why the link's end refuses what was said.
  std::string Refusal() {
    std::string why;
    std::shared_ptr<Link> link;
    EXPECT_EQ(Link::Accept(&socket_, own_, &link, &why), Heard::kRefused);
    EXPECT_EQ(link, nullptr);
    return why;
  }
  std::string RefusalOf(const Hello& hello) {
    Say(&hello, sizeof(hello), {memory_fd_.get()});
    return Refusal();
  }
  std::string RefusalOfMemory(int fd) {
    const Hello hello = GoodHello();
    Say(&hello, sizeof(hello), {fd});
    return Refusal();
  }
  // What the refused one is told.
  std::string Goodbye() {
    std::string why;
    EXPECT_EQ(ReceiveAll(test_socket_.get(), &why), Said::kGoodbye);
    return why;
  }

  Token own_;
  Token peer_;
  Descriptor socket_;
  Descriptor test_socket_;
  SharedMemory memory_;
  Descriptor memory_fd_;
};

TEST_F(HandshakeTest, WaitsForTheHello) {
  std::string why;
  std::shared_ptr<Link> link;
  EXPECT_EQ(Link::Accept(&socket_, own_, &link, &why), Heard::kNothing);
  const Hello hello = GoodHello();
  Say(&hello, sizeof(hello), {memory_fd_.get()});
  EXPECT_EQ(Link::Accept(&socket_, own_, &link, &why), Heard::kHello) << why;
  EXPECT_EQ(link->peer(), peer_);
}

TEST_F(HandshakeTest, RefusesAnotherVersionAndSaysWhatToDo) {
  Hello hello = GoodHello();
  hello.version = 7;
  const std::string own = std::to_string(kVersion);
  const std::string rest = " of the wire, this is version " + own +
                           ": install both programs from one build";
  EXPECT_EQ(RefusalOf(hello), "version 7" + rest);
  EXPECT_EQ(Goodbye(), "version " + own + rest);
}

TEST_F(HandshakeTest, RefusesAHelloOfAnotherVersionWhateverItsSize) {
  std::vector<uint32_t> hello(100);
  hello[0] = kMagic;
  hello[1] = 7;
  Say(hello.data(), 400, {});
  EXPECT_EQ(Refusal().substr(0, 9), "version 7");
}

struct Defect {
  void (*spoil)(Hello&);
  const char* refusal;
};

const Defect kDefects[] = {
    {[](Hello& hello) { hello.magic = 1; }, "something else than a Hello"},
    {[](Hello& hello) { hello.size = 57; }, "a Hello of a wrong size"},
    {[](Hello& hello) { hello.ring_bytes = 1 << 30; },
     "a Hello with wrong sizes"},
    {[](Hello& hello) { hello.reserved = 1; }, "a Hello with wrong sizes"},
    {[](Hello& hello) { hello.peer_token[0] = 'z'; },
     "a Hello to somebody else"},
    {[](Hello& hello) { hello.token[15] = '/'; }, "a Hello with a wrong token"},
};

TEST_F(HandshakeTest, RefusesEachFieldThatIsWrong) {
  for (const Defect& defect : kDefects) {
    Connect();
    Hello hello = GoodHello();
    defect.spoil(hello);
    EXPECT_EQ(RefusalOf(hello), defect.refusal);
  }
}

TEST_F(HandshakeTest, RefusesAHelloThatIsCutOrTooLong) {
  const Hello hello = GoodHello();
  Say(&hello, 3, {});
  EXPECT_EQ(Refusal(), "something else than a Hello");
  Connect();
  Say(&hello, 40, {memory_fd_.get()});
  EXPECT_EQ(Refusal(), "a Hello of a wrong size");
  Connect();
  std::vector<char> padded(100);
  std::memcpy(padded.data(), &hello, sizeof(hello));
  Say(padded.data(), padded.size(), {memory_fd_.get()});
  EXPECT_EQ(Refusal(), "a Hello with wrong contents");
}

TEST_F(HandshakeTest, SeesThatNobodyIsThereAnyMore) {
  test_socket_.Close();
  std::string why;
  std::shared_ptr<Link> link;
  EXPECT_EQ(Link::Accept(&socket_, own_, &link, &why), Heard::kGone);
  EXPECT_EQ(link, nullptr);
}

TEST_F(HandshakeTest, RefusesMoreOrLessThanOneDescriptorAndClosesThem) {
  const Hello hello = GoodHello();
  Say(&hello, sizeof(hello), {});
  EXPECT_EQ(Refusal(), "a Hello with wrong contents");
  for (const size_t count : {2u, 3u, 10u}) {
    Connect();
    const int before = dup(memory_fd_.get());
    close(before);
    Say(&hello, sizeof(hello), std::vector<int>(count, memory_fd_.get()));
    EXPECT_EQ(Refusal(), "a Hello with wrong contents");
    const int after = dup(memory_fd_.get());
    close(after);
    EXPECT_EQ(after, before);
  }
}

TEST_F(HandshakeTest, RefusesMemoryThatCanShrink) {
  const Descriptor memory(
      memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory.get(), 4096 + 4 * kRingBytes), 0);
  EXPECT_EQ(RefusalOfMemory(memory.get()), "memory without the seals");
  Connect();
  ASSERT_EQ(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_EQ(RefusalOfMemory(memory.get()), "memory without the seals");
}

TEST_F(HandshakeTest, RefusesMemoryOfAnotherSize) {
  const Descriptor memory(
      memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory.get(), 4096), 0);
  ASSERT_EQ(fcntl(memory.get(), F_ADD_SEALS,
                  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
            0);
  EXPECT_EQ(RefusalOfMemory(memory.get()), "memory of a wrong size");
}

TEST_F(HandshakeTest, RefusesWhatIsNoMemory) {
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(RefusalOfMemory(null.get()).substr(0, 6), "memory");
  Connect();
  EXPECT_EQ(RefusalOfMemory(test_socket_.get()), "memory of another kind");
}

TEST_F(HandshakeTest, SurvivesALackOfDescriptors) {
  const Hello hello = GoodHello();
  Say(&hello, sizeof(hello), {memory_fd_.get()});
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string refusal = Refusal();
  std::string why;
  const std::shared_ptr<Link> offered =
      Link::Offer(std::move(socket_), own_, peer_, &why);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refusal, "a descriptor, but too many are open");
  EXPECT_EQ(Goodbye(), "it lacks descriptors or memory for the link");
  EXPECT_EQ(offered, nullptr);
  EXPECT_EQ(why, "no memory to share: Too many open files");
}

TEST_F(HandshakeTest, OfAnOfferToAPeerThatEndedNothingIsSaid) {
  test_socket_.Close();
  std::string why = "something";
  EXPECT_EQ(Link::Offer(std::move(socket_), own_, peer_, &why), nullptr);
  EXPECT_EQ(why, "");
}

TEST_F(HandshakeTest, WorksOverSocketsWithNames) {
  // The path of the folder may be too long for a socket.
  const Descriptor folder(
      open(testing::TempDir().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get()) +
                           "/" + std::string(own_.text());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto& name = reinterpret_cast<const sockaddr&>(address);
  constexpr int kKind = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const Descriptor listener(socket(AF_UNIX, kKind, 0));
  ASSERT_EQ(bind(listener.get(), &name, sizeof(address)), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  Descriptor connector(socket(AF_UNIX, kKind, 0));
  ASSERT_EQ(connect(connector.get(), &name, sizeof(address)), 0);
  Descriptor accepted(
      accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));

  std::string why;
  const auto a = Link::Offer(std::move(connector), peer_, own_, &why);
  ASSERT_NE(a, nullptr) << why;
  EXPECT_TRUE(SendWrite(*a, 1, "at once"));
  std::shared_ptr<Link> b;
  ASSERT_EQ(Link::Accept(&accepted, own_, &b, &why), Heard::kHello) << why;
  EXPECT_EQ(b->pid(), getpid());
  RecordingEnds ends;
  size_t handled = 0;
  const char* rubbish = "";
  EXPECT_EQ(b->Drain(ends, true, 10, &handled, &rubbish), Link::Drained::kAll);
  EXPECT_EQ(ends.received,
            (std::vector<Received>{{Type::kRequest, 1, "at once"}}));
  unlink(path.c_str());
}

// --- A peer that starts a link and then goes mad.

class MadPeerTest : public HandshakeTest {
 protected:
  MadPeerTest() {
    const Hello hello = GoodHello();
    Say(&hello, sizeof(hello), {memory_fd_.get()});
    std::string why;
    EXPECT_EQ(Link::Accept(&socket_, own_, &link_, &why), Heard::kHello) << why;
  }

  RingMemory Ring(Side writer, Lane lane) { return memory_.ring(writer, lane); }

  // What the link's end finds in the rings.
  std::string Rubbish() {
    RecordingEnds ends;
    size_t handled = 0;
    const char* why = "nothing";
    EXPECT_EQ(link_->Drain(ends, true, 100, &handled, &why),
              Link::Drained::kRubbish);
    EXPECT_EQ(ends.received.size(), 0u);
    return why;
  }

  std::shared_ptr<Link> link_;
};

TEST_F(MadPeerTest, IsFoundByARecordAmongTheReplies) {
  const RingMemory ring = Ring(Side::kConnector, Lane::kReplies);
  std::memset(ring.bytes.data(), 0xff, 64);
  EXPECT_EQ(Rubbish(), "a record of a wrong size");
}

TEST_F(MadPeerTest, IsFoundByWhatTheDecoderRefuses) {
  RingProducer producer(Ring(Side::kConnector, Lane::kReplies));
  EXPECT_TRUE(producer.Write(NewMessage(Type::kCm), {}, 0));
  EXPECT_EQ(Rubbish(), "a request among the replies");
}

TEST_F(MadPeerTest, IsFoundByAPositionOfWhatItReads) {
  Ring(Side::kAcceptor, Lane::kRequests).position->read = 65;
  while (SendWrite(*link_, 1, std::string(kMaxPart, 'x'))) {
  }
  EXPECT_EQ(Rubbish(), "a wrong position in a ring");
}

}  // namespace
}  // namespace rpma::emu::wire
