// SPDX-License-Identifier: BSD-3-Clause
// Which records the decoder passes, and what it says about the others.

#include "emulator/wire/message.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace rpma::emu::wire {
namespace {

constexpr uint32_t kTo = 0x12'3456;
constexpr uint32_t kFrom = 0x65'4321;

Message Request(Operation operation, uint64_t total, uint32_t part,
                uint8_t flags) {
  Message message = NewMessage(Type::kRequest);
  message.head.to = kTo;
  message.head.from = kFrom;
  message.head.flags = flags;
  message.request.operation = operation;
  message.request.total = total;
  message.request.part = part;
  return message;
}

Message Write() { return Request(Operation::kWrite, 100, 100, kLast); }
Message Read() { return Request(Operation::kRead, 100, 100, kLast); }
Message Flush() { return Request(Operation::kFlush, 1ull << 40, 0, kLast); }
Message AtomicWrite() { return Request(Operation::kAtomicWrite, 8, 8, kLast); }

Message Reply(Outcome outcome, ibv_wc_status status) {
  Message message = NewMessage(Type::kReply);
  message.head.to = kTo;
  message.head.from = kFrom;
  message.reply.outcome = outcome;
  message.reply.status = static_cast<uint8_t>(status);
  return message;
}

Message Done(uint32_t part) {
  Message message = Reply(Outcome::kDone, IBV_WC_SUCCESS);
  message.reply.part = part;
  return message;
}

Message Failed() { return Reply(Outcome::kFailed, IBV_WC_REM_ACCESS_ERR); }

Message Cm(CmKind kind, uint8_t private_length) {
  Message message = NewMessage(Type::kCm);
  message.cm.kind = kind;
  message.cm.from_id = 1;
  message.cm.private_length = private_length;
  if (kind == CmKind::kReq) {
    message.cm.source.family = AF_INET;
    message.cm.destination.family = AF_INET6;
  }
  return message;
}

std::vector<std::byte> Record(const Message& message, size_t payload) {
  std::vector<std::byte> record(RecordSize(message, payload));
  Message copy = message;
  copy.head.size = static_cast<uint32_t>(record.size());
  std::memcpy(record.data(), &copy, FixedSize(message.head.type));
  std::fill_n(record.data() + PayloadOffset(message), payload, std::byte{0x5a});
  return record;
}

// What the decoder says; "" if it passes the record.
std::string Verdict(std::span<const std::byte> record, Lane lane) {
  Message message;
  std::span<const std::byte> payload;
  const char* why = "nothing";
  if (!Decode(record, lane, &message, &payload, &why)) return why;
  EXPECT_EQ(RecordSize(message, payload.size()), record.size());
  return "";
}

Lane LaneOf(Type type) {
  return type == Type::kReply || type == Type::kResume ? Lane::kReplies
                                                       : Lane::kRequests;
}

std::string Verdict(const Message& message, size_t payload) {
  return Verdict(Record(message, payload), LaneOf(message.head.type));
}

TEST(DecodeTest, GivesEachFieldAsItWasSent) {
  Message sent = Write();
  sent.request.seq = 7;
  sent.request.rkey = 8;
  sent.request.remote_addr = 9;
  sent.request.imm = htonl(10);
  sent.request.op_flags = kWithImm | kSolicited;
  const std::vector<std::byte> record = Record(sent, 100);
  sent.head.size = static_cast<uint32_t>(record.size());

  Message message;
  std::span<const std::byte> payload;
  const char* why;
  ASSERT_TRUE(Decode(record, Lane::kRequests, &message, &payload, &why));
  EXPECT_EQ(std::memcmp(&message, &sent, FixedSize(Type::kRequest)), 0);
  EXPECT_EQ(payload.data(), record.data() + FixedSize(Type::kRequest));
  EXPECT_EQ(payload.size(), 100u);
}

TEST(DecodeTest, PassesWhatIntactPeersSend) {
  EXPECT_EQ(Verdict(Write(), 100), "");
  EXPECT_EQ(Verdict(Request(Operation::kSend, 0, 0, kLast), 0), "");
  EXPECT_EQ(Verdict(Request(Operation::kWrite, 1 << 20, kMaxPart, 0), kMaxPart),
            "");
  EXPECT_EQ(Verdict(Read(), 0), "");
  EXPECT_EQ(Verdict(Flush(), 0), "");
  EXPECT_EQ(Verdict(AtomicWrite(), 8), "");
  EXPECT_EQ(Verdict(Done(0), 0), "");
  EXPECT_EQ(Verdict(Done(kMaxPart), kMaxPart), "");
  EXPECT_EQ(Verdict(Failed(), kMaxText), "");
  EXPECT_EQ(Verdict(Reply(Outcome::kNoReceive, IBV_WC_SUCCESS), 0), "");
  EXPECT_EQ(Verdict(NewMessage(Type::kResume), 0), "");
  EXPECT_EQ(Verdict(Cm(CmKind::kReq, 255), 255), "");
  EXPECT_EQ(Verdict(Cm(CmKind::kDreq, 0), 0), "");
  EXPECT_EQ(Verdict(Cm(CmKind::kGiveUp, 0), 0), "");
}

TEST(DecodeTest, FindsASmallPayloadInTheBody) {
  for (const Operation operation : {Operation::kSend, Operation::kWrite}) {
    for (uint32_t size = 1; size <= kMaxSmall; ++size) {
      const Message sent = Request(operation, size, size, kLast);
      const std::vector<std::byte> record = Record(sent, size);
      EXPECT_EQ(record.size(), kRecordAlignment);
      Message message;
      std::span<const std::byte> payload;
      const char* why;
      ASSERT_TRUE(Decode(record, Lane::kRequests, &message, &payload, &why));
      EXPECT_EQ(message.request.skip, 0u);
      EXPECT_EQ(std::vector(payload.begin(), payload.end()),
                std::vector(size, std::byte{0x5a}));
    }
  }
}

TEST(DecodeTest, RefusesASmallPayloadBehindTheBody) {
  const Message message = AtomicWrite();
  std::vector<std::byte> record = Record(message, 8);
  record.resize(record.size() + 8);
  const auto size = static_cast<uint32_t>(record.size());
  std::memcpy(record.data(), &size, sizeof(size));
  EXPECT_EQ(Verdict(record, Lane::kRequests), "a payload of another size");
}

TEST(DecodeTest, RefusesARecordOfAWrongSize) {
  const std::vector<std::byte> record = Record(Write(), 100);
  const std::span<const std::byte> whole(record);
  EXPECT_EQ(Verdict(whole.first(0), Lane::kRequests),
            "a message of a wrong size");
  EXPECT_EQ(Verdict(whole.first(15), Lane::kRequests),
            "a message of a wrong size");
  EXPECT_EQ(Verdict(whole.first(63), Lane::kRequests), "a size that changes");
  Message short_one = Write();
  short_one.head.size = 40;
  EXPECT_EQ(
      Verdict({reinterpret_cast<std::byte*>(&short_one), 40}, Lane::kRequests),
      "a message that is too short");
  const std::vector<std::byte> huge(kMaxRecord + 1);
  EXPECT_EQ(Verdict(huge, Lane::kRequests), "a message of a wrong size");
}

TEST(DecodeTest, RefusesWhatIsInTheWrongLane) {
  EXPECT_EQ(Verdict(Record(Write(), 100), Lane::kReplies),
            "a request among the replies");
  EXPECT_EQ(Verdict(Record(Cm(CmKind::kReq, 0), 0), Lane::kReplies),
            "a request among the replies");
  EXPECT_EQ(Verdict(Record(Done(0), 0), Lane::kRequests),
            "a reply among the requests");
  EXPECT_EQ(Verdict(Record(NewMessage(Type::kResume), 0), Lane::kRequests),
            "a reply among the requests");
  EXPECT_EQ(Verdict(Record(NewMessage(Type::kPad), 0), Lane::kRequests),
            "a message of an unknown type");
}

struct Defect {
  Message (*message)();
  size_t payload;
  void (*spoil)(Message&);
  const char* verdict;
};

const Defect kDefects[] = {
    {Write, 100, [](Message& m) { m.head.type = Type{99}; },
     "a message of an unknown type"},
    {Write, 100, [](Message& m) { m.head.reserved = 1; },
     "a reserved field that is not 0"},
    {Write, 100, [](Message& m) { m.head.to = 1 << 24; }, "a wrong queue pair"},
    {Write, 100, [](Message& m) { m.head.from = 1 << 24; },
     "a wrong queue pair"},
    {Write, 100, [](Message& m) { m.head.flags |= 1 << 5; }, "unknown flags"},
    {Write, 100, [](Message& m) { m.request.operation = Operation{5}; },
     "an unknown operation"},
    {Write, 100, [](Message& m) { m.request.op_flags = 1 << 4; },
     "unknown flags"},
    {Read, 0, [](Message& m) { m.request.op_flags = kWithImm; },
     "immediate data of an operation without"},
    {Write, 100, [](Message& m) { m.request.op_flags = kPersistent; },
     "a flag of another operation"},
    {Write, 100, [](Message& m) { m.request.total = 1ull << 32; },
     "a message that is too long"},
    {Write, 100, [](Message& m) { m.request.part = kMaxPart + 1; },
     "a part that is too long"},
    {Write, 100, [](Message& m) { m.request.skip = 101; },
     "a part beyond the end of its message"},
    {Write, 100, [](Message& m) { m.request.skip = 1; },
     "a part beyond the end of its message"},
    {Write, 100, [](Message& m) { m.request.skip = ~0ull; },
     "a part beyond the end of its message"},
    {Write, 100, [](Message& m) { m.request.part = 0; }, "an empty part"},
    {Write, 100, [](Message& m) { m.request.total = 101; },
     "a last part that is none"},
    {Write, 100, [](Message& m) { m.head.flags = 0; },
     "a last part that is none"},
    {Write, 99, [](Message&) {}, "a payload of another size"},
    {Read, 100, [](Message&) {}, "a payload of another size"},
    {Flush, 0, [](Message& m) { m.request.skip = 1; }, "parts of a flush"},
    {Flush, 0, [](Message& m) { m.request.part = 1; }, "parts of a flush"},
    {Flush, 0, [](Message& m) { m.head.flags = 0; }, "parts of a flush"},
    {[] { return Request(Operation::kWrite, 8, 4, 0); }, 4, [](Message&) {},
     "parts of a small message"},
    {AtomicWrite, 9, [](Message& m) { m.request.total = m.request.part = 9; },
     "an atomic write of another size"},
    {Write, 100, [](Message& m) { m.request.status = 1; }, "a wrong status"},
    {Write, 100, [](Message& m) { m.head.flags |= kRefuse; }, "a wrong status"},
    {Failed, 0, [](Message& m) { m.reply.outcome = Outcome{6}; },
     "an unknown outcome"},
    {Failed, 0, [](Message& m) { m.reply.status = 0; }, "a wrong status"},
    {Failed, 0, [](Message& m) { m.reply.status = 255; }, "a wrong status"},
    {Failed, 0, [](Message& m) { m.reply.outcome = Outcome::kLost; },
     "a wrong status"},
    {Failed, 0, [](Message& m) { m.reply.injected = 2; }, "a wrong flag"},
    {Failed, 0, [](Message& m) { m.reply.by_fault = 2; }, "a wrong flag"},
    {Failed, 0, [](Message& m) { m.reply.reserved[11] = 1; },
     "a reserved field that is not 0"},
    {Failed, 0, [](Message& m) { m.reply.part = 1; }, "a part of a failure"},
    {Failed, 320, [](Message&) {}, "a text that is too long"},
    {Failed, 0, [](Message& m) { m.head.flags = kLast; }, "unknown flags"},
    {[] { return Done(8); }, 7, [](Message&) {}, "a payload of another size"},
    {[] { return Done(8); }, 8, [](Message& m) { m.reply.part = kMaxPart + 1; },
     "a part that is too long"},
    {[] { return Done(8); }, 8, [](Message& m) { m.reply.skip = 1ull << 32; },
     "a part beyond any message"},
    {[] { return NewMessage(Type::kResume); }, 1, [](Message&) {},
     "a payload of a message without"},
};

TEST(DecodeTest, RefusesEachFieldThatIsWrong) {
  for (const Defect& defect : kDefects) {
    SCOPED_TRACE(&defect - kDefects);
    Message message = defect.message();
    const Lane lane = LaneOf(message.head.type);
    defect.spoil(message);
    std::vector<std::byte> record = Record(defect.message(), defect.payload);
    message.head.size = static_cast<uint32_t>(record.size());
    std::memcpy(record.data(), &message, FixedSize(defect.message().head.type));
    EXPECT_EQ(Verdict(record, lane), defect.verdict);
  }
}

struct CmDefect {
  CmKind kind;
  uint8_t payload;
  void (*spoil)(Message&);
  const char* verdict;
};

const CmDefect kCmDefects[] = {
    {CmKind{8}, 0, [](Message&) {}, "an unknown message of the CM"},
    {CmKind::kReq, 0, [](Message& m) { m.cm.from_id = 0; }, "a REQ of nobody"},
    {CmKind::kReq, 0, [](Message& m) { m.cm.iwarp = 2; }, "a wrong flag"},
    {CmKind::kReq, 0, [](Message& m) { m.cm.srq = 2; }, "a wrong flag"},
    {CmKind::kPatience, 0, [](Message& m) { m.cm.on = 2; }, "a wrong flag"},
    {CmKind::kReq, 0, [](Message& m) { m.cm.reserved[5] = 1; },
     "a reserved field that is not 0"},
    {CmKind::kReq, 3, [](Message& m) { m.cm.private_length = 2; },
     "a payload of another size"},
    {CmKind::kRtu, 3, [](Message&) {}, "private data of a message without"},
    {CmKind::kReq, 0, [](Message& m) { m.cm.source.family = 0; }, "no address"},
    {CmKind::kReq, 0, [](Message& m) { m.cm.destination.family = AF_UNIX; },
     "an address of an unknown family"},
    {CmKind::kReq, 0, [](Message& m) { m.cm.source.ip[4] = 1; },
     "a wrong address"},
    {CmKind::kReq, 0, [](Message& m) { m.cm.source.scope = 1; },
     "a wrong address"},
    {CmKind::kRej, 0, [](Message& m) { m.cm.source.port = 1; },
     "a wrong address"},
    {CmKind::kReq, 0, [](Message& m) { m.head.to = 1; }, "a wrong queue pair"},
    {CmKind::kReq, 0, [](Message& m) { m.head.flags = 1; }, "unknown flags"},
};

TEST(DecodeTest, RefusesEachFieldOfTheCmThatIsWrong) {
  for (const CmDefect& defect : kCmDefects) {
    SCOPED_TRACE(&defect - kCmDefects);
    Message message = Cm(defect.kind, defect.payload);
    defect.spoil(message);
    EXPECT_EQ(Verdict(message, defect.payload), defect.verdict);
  }
}

TEST(CmAddressTest, KeepsAnIpv4Address) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(7204);
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_storage storage;
  FromCmAddress(ToCmAddress(reinterpret_cast<sockaddr&>(in)), &storage);
  EXPECT_EQ(std::memcmp(&storage, &in, sizeof(in)), 0);
}

TEST(CmAddressTest, KeepsAnIpv6AddressWithItsScope) {
  sockaddr_in6 in6{};
  in6.sin6_family = AF_INET6;
  in6.sin6_port = htons(7204);
  in6.sin6_scope_id = 3;
  ASSERT_EQ(inet_pton(AF_INET6, "fe80::1", &in6.sin6_addr), 1);
  sockaddr_storage storage;
  FromCmAddress(ToCmAddress(reinterpret_cast<sockaddr&>(in6)), &storage);
  EXPECT_EQ(std::memcmp(&storage, &in6, sizeof(in6)), 0);
}

}  // namespace
}  // namespace rpma::emu::wire
