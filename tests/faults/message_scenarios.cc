// SPDX-License-Identifier: BSD-3-Clause
// Messages, and the queues that receives come from and complete on.

#include <arpa/inet.h>

#include "tests/faults/conversation.h"
#include "tests/faults/scenario.h"

namespace rpma::faults {
namespace {

constexpr size_t kSize = 128;
constexpr size_t kInbox = 1024;  // where messages arrive

// One message from one side to the other, of which the receive is posted.
bool Deliver(Program& program, Side& from, Side& to, uintptr_t receive,
             uint8_t first) {
  const uintptr_t send = receive + 100;
  from.Fill(0, kSize, first);
  if (!from.Send(send, 0, kSize) || !from.Completes(send)) return false;
  ibv_wc wc = {};
  if (!to.Receives(receive, &wc)) return false;
  if (wc.opcode != IBV_WC_RECV || wc.byte_len != kSize) {
    program.findings().Add("a message arrived as something else");
  }
  return to.Holds(kInbox, kSize, first);
}

// There and back, as in a request and its answer.
bool Converse(Program& program, Conversation& talk) {
  if (!talk.Start()) return false;
  Side& client = talk.client;
  Side& server = talk.server;
  return server.Receive(1, kInbox, kSize) && client.Receive(2, kInbox, kSize) &&
         Deliver(program, client, server, 1, 0x10) &&
         Deliver(program, server, client, 2, 0x80);
}

bool SendAndReceive(Program& program) {
  Conversation talk(program);
  return Converse(program, talk);
}

// Receives complete on a queue of their own.
bool SendAndReceiveWithRcq(Program& program) {
  Conversation talk(program, {.rcq_size = 8}, {.rcq_size = 8});
  return Converse(program, talk);
}

// One channel tells of both queues.
bool SharedChannel(Program& program) {
  const SideOptions options = {.rcq_size = 8, .shared_channel = true};
  Conversation talk(program, options, options);
  return Converse(program, talk);
}

bool SharedReceiveQueue(Program& program) {
  Conversation talk(program, {}, {.srq = true});
  return Converse(program, talk);
}

// The shared receive queue brings the queue that receives complete on.
bool SharedReceiveQueueWithRcq(Program& program) {
  Conversation talk(program, {}, {.srq = true, .srq_rcq_size = 8});
  return Converse(program, talk);
}

// The receive is posted before there is a connection, so that the first message
// finds it.
bool ReceiveBeforeConnecting(Program& program) {
  Conversation talk(program);
  if (!talk.Listen() || !talk.Request() || !talk.TakeRequest() ||
      !talk.server.Receive(1, kInbox, kSize) || !talk.server.Connect() ||
      !talk.AwaitEstablished()) {
    return false;
  }
  return Deliver(program, talk.client, talk.server, 1, 0x20);
}

bool SendWithImmediate(Program& program) {
  constexpr uint32_t kImm = 0x87654321;
  Conversation talk(program);
  if (!talk.Start() || !talk.server.Receive(1, kInbox, kSize)) return false;
  talk.client.Fill(0, kSize, 0x30);
  if (!talk.client.SendWithImm(2, 0, kSize, kImm) ||
      !talk.client.Completes(2)) {
    return false;
  }
  ibv_wc wc = {};
  if (!talk.server.Receives(1, &wc)) return false;
  if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0 || wc.imm_data != htonl(kImm)) {
    program.findings().Add("the message brought another number");
  }
  return talk.server.Holds(kInbox, kSize, 0x30);
}

// --- Both sides send before either looks for what came. Which message goes
// first is up to the network.

constexpr uintptr_t kMessages = 5;

size_t PlaceOf(uintptr_t message) { return kSize * message; }

bool PostAll(Side& side, uint8_t first) {
  for (uintptr_t i = 0; i < kMessages; ++i) {
    if (!side.Receive(i, kInbox + PlaceOf(i), kSize)) return false;
  }
  side.Fill(0, PlaceOf(kMessages), first);
  return true;
}

bool SendAll(Side& side) {
  for (uintptr_t i = 0; i < kMessages; ++i) {
    if (!side.Send(i, PlaceOf(i), kSize)) return false;
  }
  return true;
}

bool GetAll(Side& side, uint8_t first) {
  ibv_wc wc = {};
  for (uintptr_t i = 0; i < kMessages; ++i) {
    if (!side.Completes(i) || !side.Receives(i, &wc)) return false;
  }
  return side.Holds(kInbox, PlaceOf(kMessages), first);
}

bool BothSend(Program& program) {
  const SideOptions options = {.rcq_size = 8};
  Conversation talk(program, options, options);
  return talk.Start() && PostAll(talk.client, 0x10) &&
         PostAll(talk.server, 0x80) && SendAll(talk.client) &&
         SendAll(talk.server) && GetAll(talk.client, 0x80) &&
         GetAll(talk.server, 0x10);
}

constexpr Scenario kScenarios[] = {
    {"send_and_receive", SendAndReceive},
    {"send_and_receive_iwarp", SendAndReceive, "profile=iwarp"},
    {"send_and_receive_with_rcq", SendAndReceiveWithRcq},
    {"shared_channel", SharedChannel},
    {"shared_receive_queue", SharedReceiveQueue},
    {"shared_receive_queue_with_rcq", SharedReceiveQueueWithRcq},
    {"receive_before_connecting", ReceiveBeforeConnecting},
    {"send_with_immediate", SendWithImmediate},
    {"both_send", BothSend},
    {"both_send_iwarp", BothSend, "profile=iwarp"},
};

}  // namespace

std::span<const Scenario> MessageScenarios() { return kScenarios; }

}  // namespace rpma::faults
