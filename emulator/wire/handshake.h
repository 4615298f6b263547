// SPDX-License-Identifier: BSD-3-Clause
// How two processes start a link over a connected socket (unix(7),
// SOCK_SEQPACKET), and how they tell why they end it.

#ifndef RPMA_EMULATOR_WIRE_HANDSHAKE_H_
#define RPMA_EMULATOR_WIRE_HANDSHAKE_H_

#include <sys/types.h>

#include <string>

#include "emulator/wire/descriptor.h"
#include "emulator/wire/message.h"
#include "emulator/wire/token.h"

namespace rpma::emu::wire {

// Who is at the other end, as the kernel says: who connected, or who listens.
// False: not a process of this user, root included; *why says so.
bool CheckPeer(int socket, pid_t* pid, std::string* why);

// The connector's part; the acceptor does not answer. 0, or an errno of
// sendmsg(2). REQUIRES, here and below: the socket does not block.
int SendHello(int socket, const Token& own, const Token& peer,
              const Descriptor& memory);

enum class Heard { kNothing, kHello, kRefused, kGone };
// The acceptor's part. kHello: *peer is who says it, with a descriptor that
// came with it. kRefused: *why says what is wrong with it, and *goodbye is what
// the connector is to be told; kNothing: it may still come; kGone: nobody is at
// the other end any more.
Heard ReceiveHello(int socket, const Token& own, Token* peer,
                   Descriptor* memory, GoodbyeReason* goodbye,
                   std::string* why);

void SayGoodbye(int socket, GoodbyeReason why);
void Wake(int socket);

enum class Said {
  kNothing,  // that ends the link; what wakes is consumed
  kGoodbye,  // *why is what the peer objects to
  kEnd,      // the peer closed its end, or died
  kRubbish,  // *why says what
};
// Reads all that came on the socket of a link.
Said ReceiveAll(int socket, std::string* why);

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_HANDSHAKE_H_
