// SPDX-License-Identifier: BSD-3-Clause
// Ends of links that keep what comes.

#ifndef RPMA_TESTS_UNIT_EMULATOR_WIRE_RECORDING_ENDS_H_
#define RPMA_TESTS_UNIT_EMULATOR_WIRE_RECORDING_ENDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "emulator/far_link.h"

namespace rpma::emu::wire {

struct Received {
  Type type;
  uint32_t to;  // of a message of the CM: its to_id
  std::string payload;

  bool operator==(const Received&) const = default;
};

class RecordingEnds final : public FarEnds {
 public:
  const char* OnMessage(FarLink& link, const Message& message,
                        std::span<const std::byte> payload) override {
    const bool is_cm = message.head.type == Type::kCm;
    received.push_back(
        {message.head.type,
         is_cm ? static_cast<uint32_t>(message.cm.to_id) : message.head.to,
         {reinterpret_cast<const char*>(payload.data()), payload.size()}});
    if (on_message) on_message(link, message);
    return objection;
  }
  void OnRoom(FarLink&) override { ++rooms; }
  void OnEnd(FarLink& link) override {
    ended.push_back(&link);
    was_dead = link.is_dead();
  }

  std::vector<Received> received;
  std::function<void(FarLink&, const Message&)> on_message;
  const char* objection = nullptr;
  int rooms = 0;
  std::vector<FarLink*> ended;
  bool was_dead = false;
};

// A WRITE of these bytes to a queue pair; at most kMaxPart.
inline bool SendWrite(FarLink& link, uint32_t to, std::string data) {
  Message message = NewMessage(Type::kRequest);
  message.head.flags = kLast;
  message.head.to = to;
  message.request.operation = Operation::kWrite;
  message.request.part = static_cast<uint32_t>(data.size());
  message.request.total = data.size();
  const Piece piece{reinterpret_cast<std::byte*>(data.data()), data.size()};
  return link.Send(Lane::kRequests, message, {&piece, 1});
}

// The answer to a READ.
inline bool SendReply(FarLink& link, uint32_t to, std::string data) {
  Message message = NewMessage(Type::kReply);
  message.head.to = to;
  message.reply.part = static_cast<uint32_t>(data.size());
  const Piece piece{reinterpret_cast<std::byte*>(data.data()), data.size()};
  return link.Send(Lane::kReplies, message, {&piece, 1});
}

inline bool SendResume(FarLink& link, uint32_t to) {
  Message message = NewMessage(Type::kResume);
  message.head.to = to;
  return link.Send(Lane::kReplies, message, {});
}

inline bool SendDreq(FarLink& link, uint32_t to_id) {
  Message message = NewMessage(Type::kCm);
  message.cm.kind = CmKind::kDreq;
  message.cm.to_id = to_id;
  return link.Send(Lane::kRequests, message, {});
}

}  // namespace rpma::emu::wire

#endif  // RPMA_TESTS_UNIT_EMULATOR_WIRE_RECORDING_ENDS_H_
