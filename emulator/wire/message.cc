// SPDX-License-Identifier: BSD-3-Clause
// The check of what other processes send.

#include "emulator/wire/message.h"

#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace rpma::emu::wire {
namespace {

constexpr uint32_t kMaxQpNum = 0xff'ffff;
constexpr uint8_t kMaxStatus = IBV_WC_TM_RNDV_INCOMPLETE;
constexpr uint64_t kMaxMessage = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kAtomicSize = 8;

bool IsFlag(uint8_t value) { return value <= 1; }

bool IsZero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](uint8_t byte) { return byte == 0; });
}

bool HasData(const RequestBody& body) {
  return body.operation == Operation::kSend ||
         body.operation == Operation::kWrite ||
         body.operation == Operation::kAtomicWrite;
}

bool IsSmall(const RequestBody& body) {
  return HasData(body) && body.total > 0 && body.total <= kMaxSmall;
}

// Each returns what is wrong, or nullptr.

const char* CheckHead(const Head& head, size_t size, Lane lane) {
  if (head.size != size) return "a size that changes";
  if (head.reserved != 0) return "a reserved field that is not 0";
  const bool is_cm = head.type == Type::kCm;
  const bool is_request = head.type == Type::kRequest;
  switch (head.type) {
    case Type::kRequest:
    case Type::kCm:
      if (lane != Lane::kRequests) return "a request among the replies";
      break;
    case Type::kReply:
    case Type::kResume:
      if (lane != Lane::kReplies) return "a reply among the requests";
      break;
    default:
      return "a message of an unknown type";
  }
  if ((head.flags & ~(is_request ? kAllFlags : 0)) != 0) return "unknown flags";
  if (head.to > (is_cm ? 0 : kMaxQpNum)) return "a wrong queue pair";
  if (head.from > (is_cm ? 0 : kMaxQpNum)) return "a wrong queue pair";
  return nullptr;
}

const char* CheckOpFlags(const RequestBody& body) {
  const bool takes_imm =
      body.operation == Operation::kSend || body.operation == Operation::kWrite;
  if ((body.op_flags & ~kAllOpFlags) != 0) return "unknown flags";
  if ((body.op_flags & kWithImm) != 0 && !takes_imm) {
    return "immediate data of an operation without";
  }
  if ((body.op_flags & kPersistent) != 0 &&
      body.operation != Operation::kFlush) {
    return "a flag of another operation";
  }
  return nullptr;
}

const char* CheckPart(const RequestBody& body, bool is_last) {
  if (body.operation == Operation::kFlush) {
    if (body.part != 0 || body.skip != 0 || !is_last) return "parts of a flush";
    return nullptr;
  }
  if (IsSmall(body) && body.part != body.total) {
    return "parts of a small message";
  }
  if (body.total > kMaxMessage) return "a message that is too long";
  if (body.part > kMaxPart) return "a part that is too long";
  if (body.skip > body.total || body.part > body.total - body.skip) {
    return "a part beyond the end of its message";
  }
  if (body.part == 0 && body.total != 0) return "an empty part";
  if (is_last != (body.skip + body.part == body.total)) {
    return "a last part that is none";
  }
  if (body.operation == Operation::kAtomicWrite &&
      (body.total != kAtomicSize || body.part != kAtomicSize)) {
    return "an atomic write of another size";
  }
  return nullptr;
}

const char* CheckRequest(const Head& head, const RequestBody& body,
                         size_t payload) {
  if (body.operation > Operation::kFlush) return "an unknown operation";
  if (const char* const why = CheckOpFlags(body); why != nullptr) return why;
  const bool is_last = (head.flags & kLast) != 0;
  if (const char* const why = CheckPart(body, is_last); why != nullptr) {
    return why;
  }
  const size_t expected = HasData(body) && !IsSmall(body) ? body.part : 0;
  if (payload != expected) return "a payload of another size";
  const bool refused = (head.flags & kRefuse) != 0;
  if (body.status > kMaxStatus || refused != (body.status != 0)) {
    return "a wrong status";
  }
  return nullptr;
}

const char* CheckReply(const ReplyBody& body, size_t payload) {
  if (body.outcome > Outcome::kFailed) return "an unknown outcome";
  const bool failed = body.outcome == Outcome::kFailed;
  if (body.status > kMaxStatus || failed != (body.status != 0)) {
    return "a wrong status";
  }
  if (!IsFlag(body.injected) || !IsFlag(body.by_fault)) return "a wrong flag";
  if (!IsZero(body.reserved)) return "a reserved field that is not 0";
  if (body.outcome == Outcome::kDone) {
    if (body.part > kMaxPart) return "a part that is too long";
    if (payload != body.part) return "a payload of another size";
    if (body.skip > kMaxMessage) return "a part beyond any message";
    return nullptr;
  }
  if (body.part != 0) return "a part of a failure";
  if (payload > kMaxText) return "a text that is too long";
  return nullptr;
}

const char* CheckAddress(const CmAddress& address, bool required) {
  const std::span<const uint8_t> ip(address.ip);
  switch (address.family) {
    case AF_INET:
      if (!IsZero(ip.subspan(4)) || address.scope != 0)
        return "a wrong address";
      return nullptr;
    case AF_INET6:
      return nullptr;
    case 0:
      if (required) return "no address";
      if (!IsZero(ip) || address.port != 0 || address.scope != 0) {
        return "a wrong address";
      }
      return nullptr;
    default:
      return "an address of an unknown family";
  }
}

const char* CheckCm(const CmBody& body, size_t payload) {
  if (body.kind > CmKind::kGiveUp) return "an unknown message of the CM";
  const bool is_req = body.kind == CmKind::kReq;
  const bool has_data =
      is_req || body.kind == CmKind::kRep || body.kind == CmKind::kRej;
  if (is_req && body.from_id == 0) return "a REQ of nobody";
  if (!IsFlag(body.iwarp) || !IsFlag(body.srq) || !IsFlag(body.on)) {
    return "a wrong flag";
  }
  if (!IsZero(body.reserved)) return "a reserved field that is not 0";
  if (payload != body.private_length) return "a payload of another size";
  if (payload != 0 && !has_data) return "private data of a message without";
  if (const char* const why = CheckAddress(body.source, is_req);
      why != nullptr) {
    return why;
  }
  return CheckAddress(body.destination, is_req);
}

const char* CheckBody(const Message& message, size_t payload) {
  switch (message.head.type) {
    case Type::kRequest:
      return CheckRequest(message.head, message.request, payload);
    case Type::kReply:
      return CheckReply(message.reply, payload);
    case Type::kCm:
      return CheckCm(message.cm, payload);
    default:
      return payload == 0 ? nullptr : "a payload of a message without";
  }
}

// Copies what the record has of head and body; what is wrong, or nullptr.
const char* Read(std::span<const std::byte> record, Lane lane,
                 Message* message) {
  if (record.size() < sizeof(Head) || record.size() > kMaxRecord) {
    return "a message of a wrong size";
  }
  std::memcpy(&message->head, record.data(), sizeof(Head));
  if (const char* const why = CheckHead(message->head, record.size(), lane);
      why != nullptr) {
    return why;
  }
  const size_t fixed = FixedSize(message->head.type);
  if (record.size() < fixed) return "a message that is too short";
  std::memcpy(reinterpret_cast<std::byte*>(message) + sizeof(Head),
              record.data() + sizeof(Head), fixed - sizeof(Head));
  if (message->head.type == Type::kRequest && IsSmall(message->request)) {
    message->request.skip = 0;  // what is there is the payload
  }
  return CheckBody(*message, record.size() - fixed);
}

}  // namespace

Message NewMessage(Type type) {
  Message message;
  std::memset(&message, 0, sizeof(message));
  message.head.type = type;
  return message;
}

size_t FixedSize(Type type) {
  switch (type) {
    case Type::kRequest:
      return sizeof(Head) + sizeof(RequestBody);
    case Type::kReply:
      return sizeof(Head) + sizeof(ReplyBody);
    case Type::kCm:
      return sizeof(Head) + sizeof(CmBody);
    default:
      return sizeof(Head);
  }
}

size_t PayloadOffset(const Message& message) {
  if (message.head.type == Type::kRequest && IsSmall(message.request)) {
    return sizeof(Head) + offsetof(RequestBody, skip);
  }
  return FixedSize(message.head.type);
}

size_t RecordSize(const Message& message, size_t payload) {
  return std::max(PayloadOffset(message) + payload,
                  FixedSize(message.head.type));
}

bool Decode(std::span<const std::byte> record, Lane lane, Message* message,
            std::span<const std::byte>* payload, const char** why) {
  *why = Read(record, lane, message);
  if (*why != nullptr) return false;
  const bool is_small =
      message->head.type == Type::kRequest && IsSmall(message->request);
  *payload = record.subspan(PayloadOffset(*message));
  if (is_small) *payload = payload->first(message->request.part);
  return true;
}

CmAddress ToCmAddress(const sockaddr& address) {
  CmAddress result{};
  result.family = address.sa_family;
  if (address.sa_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    result.port = in.sin_port;
    std::memcpy(result.ip, &in.sin_addr, sizeof(in.sin_addr));
  } else {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
    result.port = in6.sin6_port;
    std::memcpy(result.ip, &in6.sin6_addr, sizeof(in6.sin6_addr));
    result.scope = in6.sin6_scope_id;
  }
  return result;
}

void FromCmAddress(const CmAddress& address, sockaddr_storage* storage) {
  *storage = {};
  storage->ss_family = address.family;
  if (address.family == AF_INET) {
    auto& in = reinterpret_cast<sockaddr_in&>(*storage);
    in.sin_port = address.port;
    std::memcpy(&in.sin_addr, address.ip, sizeof(in.sin_addr));
  } else {
    auto& in6 = reinterpret_cast<sockaddr_in6&>(*storage);
    in6.sin6_port = address.port;
    std::memcpy(&in6.sin6_addr, address.ip, sizeof(in6.sin6_addr));
    in6.sin6_scope_id = address.scope;
  }
}

}  // namespace rpma::emu::wire
