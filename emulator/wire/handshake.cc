// SPDX-License-Identifier: BSD-3-Clause
// How two processes start a link, and how they end it.

#include "emulator/wire/handshake.h"

#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "emulator/no_cancellation.h"
#include "emulator/wire/shared_memory.h"

namespace rpma::emu::wire {
namespace {

constexpr int kSendFlags = MSG_DONTWAIT | MSG_NOSIGNAL;

// The control message with descriptors, in memory that is aligned for it.
// Room for two: one too many is to be seen.
union ControlBuffer {
  cmsghdr header;
  char bytes[CMSG_SPACE(2 * sizeof(int))];
};

// Takes the descriptors that came. How many there were.
size_t TakeDescriptors(msghdr& message, Descriptor* first) {
  size_t taken = 0;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(fd));
      Descriptor descriptor(fd);
      if (taken++ == 0) *first = std::move(descriptor);
    }
  }
  return taken;
}

std::string OtherVersion(uint32_t version) {
  return "version " + std::to_string(version) +
         " of the wire, this is version " + std::to_string(kVersion) +
         ": install both programs from one build";
}

bool HasText(const uint8_t (&bytes)[16], const Token& token) {
  return std::memcmp(bytes, token.digits.data(), sizeof(bytes)) == 0;
}

// What is wrong with it, or "".
std::string CheckHello(const Hello& hello, size_t size, const Token& own,
                       Token* peer, GoodbyeReason* goodbye) {
  // Magic and version stay where they are in all versions.
  *goodbye = GoodbyeReason::kRubbish;
  if (size < offsetof(Hello, size) || hello.magic != kMagic) {
    return "something else than a Hello";
  }
  if (hello.version != kVersion) {
    *goodbye = GoodbyeReason::kOtherVersion;
    return OtherVersion(hello.version);
  }
  if (size != sizeof(Hello) || hello.size != sizeof(Hello)) {
    return "a Hello of a wrong size";
  }
  if (hello.ring_bytes != kRingBytes || hello.reserved != 0) {
    return "a Hello with wrong sizes";
  }
  if (!HasText(hello.peer_token, own)) {
    *goodbye = GoodbyeReason::kStranger;
    return "a Hello to somebody else";
  }
  const auto token = ParseToken(
      {reinterpret_cast<const char*>(hello.token), sizeof(hello.token)});
  if (!token) return "a Hello with a wrong token";
  *peer = *token;
  return "";
}

std::string Objection(const Goodbye& goodbye) {
  switch (goodbye.why) {
    case GoodbyeReason::kOtherVersion:
      return OtherVersion(goodbye.version);
    case GoodbyeReason::kRubbish:
      return "it found rubbish in what this process sent";
    case GoodbyeReason::kResources:
      return "it lacks descriptors or memory for the link";
    case GoodbyeReason::kStranger:
      return "it is not the process that was looked for";
  }
  return "it gives a reason that this version does not know";
}

Said Interpret(const char (&datagram)[sizeof(Goodbye) + 1], size_t size,
               std::string* why) {
  if (size == 1 && datagram[0] == 'w') return Said::kNothing;
  Goodbye goodbye;
  std::memcpy(&goodbye, datagram, sizeof(goodbye));
  if (size == sizeof(goodbye) && goodbye.magic == kMagic) {
    *why = Objection(goodbye);
    return Said::kGoodbye;
  }
  *why = "an unknown datagram";
  return Said::kRubbish;
}

// As recv(2), but it goes on after a signal and is no cancellation point.
ssize_t Receive(int socket, msghdr* message) {
  const NoCancellation none;
  ssize_t size;
  do {
    size = recvmsg(socket, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  return size;
}

bool IsNothingYet(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

bool CheckPeer(int socket, pid_t* pid, std::string* why) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    *why = "nothing is known of its user";
    return false;
  }
  *pid = peer.pid;
  if (peer.uid == geteuid()) return true;
  *why = "it belongs to user " + std::to_string(peer.uid) + ", not to " +
         std::to_string(geteuid());
  return false;
}

int SendHello(int socket, const Token& own, const Token& peer,
              const Descriptor& memory) {
  Hello hello{};
  hello.magic = kMagic;
  hello.version = kVersion;
  hello.size = sizeof(hello);
  hello.pid = static_cast<uint32_t>(getpid());
  std::memcpy(hello.token, own.digits.data(), sizeof(hello.token));
  std::memcpy(hello.peer_token, peer.digits.data(), sizeof(hello.peer_token));
  hello.ring_bytes = kRingBytes;

  ControlBuffer control{};
  iovec data{&hello, sizeof(hello)};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = CMSG_SPACE(sizeof(int));
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = memory.get();
  std::memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));

  const NoCancellation none;
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, kSendFlags);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? errno : 0;
}

Heard ReceiveHello(int socket, const Token& own, Token* peer,
                   Descriptor* memory, GoodbyeReason* goodbye,
                   std::string* why) {
  Hello hello{};
  ControlBuffer control{};
  iovec data{&hello, sizeof(hello)};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof(control);
  const ssize_t size = Receive(socket, &message);
  if (size < 0 && IsNothingYet(errno)) return Heard::kNothing;
  if (size == 0 || (size < 0 && errno == ECONNRESET)) return Heard::kGone;
  if (size < 0) {
    *goodbye = GoodbyeReason::kResources;
    *why = std::strerror(errno);
    return Heard::kRefused;
  }
  *goodbye = GoodbyeReason::kRubbish;
  const size_t descriptors = TakeDescriptors(message, memory);
  *why = CheckHello(hello, static_cast<size_t>(size), own, peer, goodbye);
  if (!why->empty()) return Heard::kRefused;
  if (descriptors == 0 && (message.msg_flags & MSG_CTRUNC) != 0) {
    *goodbye = GoodbyeReason::kResources;
    *why = "a descriptor, but too many are open";
    return Heard::kRefused;
  }
  if ((message.msg_flags & MSG_TRUNC) != 0 || descriptors != 1) {
    *why = "a Hello with wrong contents";
    return Heard::kRefused;
  }
  return Heard::kHello;
}

void SayGoodbye(int socket, GoodbyeReason why) {
  const NoCancellation none;
  const Goodbye goodbye{kMagic, kVersion, sizeof(Goodbye), why};
  // Whoever does not hear it sees the socket closed.
  static_cast<void>(send(socket, &goodbye, sizeof(goodbye), kSendFlags));
}

void Wake(int socket) {
  const NoCancellation none;
  // EAGAIN: the socket is full of what wakes. EPIPE: there is nobody to wake.
  static_cast<void>(send(socket, "w", 1, kSendFlags));
}

Said ReceiveAll(int socket, std::string* why) {
  bool was_reset = false;
  for (;;) {
    char datagram[sizeof(Goodbye) + 1];
    iovec data{datagram, sizeof(datagram)};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    const ssize_t size = Receive(socket, &message);
    if (size < 0 && IsNothingYet(errno)) return Said::kNothing;
    // The peer closed its end with datagrams unread; it may have said why.
    if (size < 0 && errno == ECONNRESET && !was_reset) {
      was_reset = true;
      continue;
    }
    if (size <= 0) return Said::kEnd;
    const Said said = Interpret(datagram, static_cast<size_t>(size), why);
    if (said != Said::kNothing) return said;
  }
}

}  // namespace rpma::emu::wire
