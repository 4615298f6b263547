// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/two_processes/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace rpma::test::two_processes {
namespace {

// Room for one descriptor, and the message that carries it.
struct Envelope {
  Envelope() {
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
  }

  char byte = 0;
  iovec piece = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
};

}  // namespace

bool SendTurn(int socket, int fd) {
  Envelope envelope;
  if (fd < 0) {
    envelope.message.msg_controllen = 0;
  } else {
    cmsghdr* const header = CMSG_FIRSTHDR(&envelope.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &envelope.message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

Turn AwaitTurn(int socket, int* fd) {
  Envelope envelope;
  *fd = -1;
  const ssize_t received = recvmsg(socket, &envelope.message, MSG_CMSG_CLOEXEC);
  if (received < 0 && errno == EINTR) return Turn::kInterrupted;
  if (received != 1) return Turn::kNobodyThere;
  const cmsghdr* const header = CMSG_FIRSTHDR(&envelope.message);
  if (header != nullptr) std::memcpy(fd, CMSG_DATA(header), sizeof(*fd));
  return Turn::kMine;
}

}  // namespace rpma::test::two_processes
