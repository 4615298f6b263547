// SPDX-License-Identifier: BSD-3-Clause
// A way between the two processes for one call at a time: the frame is shared
// memory, and one byte over a socket says whose turn it is.

#ifndef RPMA_TESTS_SUPPORT_TWO_PROCESSES_CHANNEL_H_
#define RPMA_TESTS_SUPPORT_TWO_PROCESSES_CHANNEL_H_

#include <sys/types.h>

#include <atomic>

#include "tests/support/two_processes/helper.h"

namespace rpma::test::two_processes {

struct Channel {
  int socket_of_test;
  int socket_of_helper;
  std::atomic<pid_t> thread_of_helper;
  Frame frame;
};

// Hands the turn over, with a descriptor unless it is -1. False: nobody is
// there.
bool SendTurn(int socket, int fd);
// Waits for the turn; `*fd` is a descriptor that came with it, or -1. Calls
// `interrupted` whenever a signal comes. False: nobody is there any more.
template <typename Interrupted>
bool ReceiveTurn(int socket, int* fd, Interrupted interrupted);

enum class Turn { kMine, kInterrupted, kNobodyThere };
Turn AwaitTurn(int socket, int* fd);

template <typename Interrupted>
bool ReceiveTurn(int socket, int* fd, Interrupted interrupted) {
  while (true) {
    const Turn turn = AwaitTurn(socket, fd);
    if (turn != Turn::kInterrupted) return turn == Turn::kMine;
    interrupted();
  }
}

}  // namespace rpma::test::two_processes

#endif  // RPMA_TESTS_SUPPORT_TWO_PROCESSES_CHANNEL_H_
