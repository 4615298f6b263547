// SPDX-License-Identifier: BSD-3-Clause
// What a peer can do to the reader and to the writer of a ring, and to the
// decoder of records: anything, at any moment.
//
// The input is a list of acts of the peer: a byte that names one, and its
// operands.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "emulator/wire/message.h"
#include "emulator/wire/ring.h"
#include "tests/fuzz/input.h"

namespace rpma::emu::wire {
namespace {

using ::rpma::fuzz::Input;
using ::rpma::fuzz::Require;

// Small, so that a few acts fill it and its end is near.
constexpr size_t kRingBytes = 2048;

struct Deleter {
  void operator()(std::byte* bytes) const {
    ::operator delete[](bytes, std::align_val_t{64});
  }
};

// The shared memory of a ring. Apart from others, so that ASan sees any access
// beyond it.
struct SharedRing {
  RingMemory memory() { return {&position, {bytes.get(), kRingBytes}}; }

  RingPosition position{};
  std::unique_ptr<std::byte[], Deleter> bytes{new (std::align_val_t{64})
                                                  std::byte[kRingBytes]()};
};

void CheckRequest(const Message& message, size_t payload) {
  const RequestBody& request = message.request;
  Require(request.operation <= Operation::kFlush);
  Require(request.part <= kMaxPart);
  if (request.operation == Operation::kFlush) return Require(payload == 0);
  Require(request.skip + request.part <= request.total);
  Require(request.total <= UINT32_MAX);
  Require(payload ==
          (request.operation == Operation::kRead ? 0 : request.part));
}

void CheckReply(const ReplyBody& reply, size_t payload) {
  Require(reply.outcome <= Outcome::kFailed);
  Require(reply.outcome == Outcome::kDone ? payload == reply.part
                                          : payload <= kMaxText);
}

void CheckCm(const CmBody& cm, size_t payload) {
  Require(payload == cm.private_length);
  if (cm.kind != CmKind::kReq) return;
  sockaddr_storage storage;
  FromCmAddress(cm.source, &storage);
  const CmAddress again = ToCmAddress(reinterpret_cast<sockaddr&>(storage));
  Require(std::memcmp(&again, &cm.source, sizeof(again)) == 0);
}

// Decodes a record and requires what the decoder promises.
void DecodeAndCheck(std::span<const std::byte> record, Lane lane) {
  Message message;
  std::span<const std::byte> payload;
  const char* why = nullptr;
  if (!Decode(record, lane, &message, &payload, &why)) {
    return Require(why != nullptr);
  }
  Require(message.head.size == record.size());
  Require(payload.data() == record.data() + PayloadOffset(message));
  Require(RecordSize(message, payload.size()) == record.size());
  switch (message.head.type) {
    case Type::kRequest:
      return CheckRequest(message, payload.size());
    case Type::kReply:
      return CheckReply(message.reply, payload.size());
    case Type::kCm:
      return CheckCm(message.cm, payload.size());
    default:
      return Require(message.head.type == Type::kResume && payload.empty());
  }
}

class Reader {
 public:
  // The peer writes bytes somewhere.
  void Scribble(Input& input) {
    const size_t offset = input.Take<uint16_t>() % kRingBytes;
    const auto bytes = input.TakeBytes(input.Take<uint8_t>());
    const size_t size = std::min(bytes.size(), kRingBytes - offset);
    std::memcpy(&ring_.bytes[offset], bytes.data(), size);
  }
  // It publishes a word, or a pad of so many lines, where the reader is.
  void Publish(uint64_t word) {
    const size_t offset = ring_.position.read % kRingBytes;
    std::memcpy(&ring_.bytes[offset], &word, sizeof(word));
  }
  void PublishLines(uint8_t lines) {
    Publish(uint64_t{lines} * kRecordAlignment |
            uint64_t{static_cast<uint8_t>(Type::kPad)} << 32);
  }
  void Peek() {
    if (is_broken_) return;
    const char* why = nullptr;
    const RingConsumer::Found found = consumer_.Peek(&record_, &why);
    is_broken_ = found == RingConsumer::Found::kRubbish;
    has_record_ = found == RingConsumer::Found::kRecord;
    if (is_broken_) Require(why != nullptr);
    if (has_record_) Require(record_.size() >= sizeof(Head));
  }
  void DecodeRecord(Lane lane) {
    if (has_record_) DecodeAndCheck(record_, lane);
  }
  void Pop() {
    if (has_record_) consumer_.Pop();
    has_record_ = false;
  }

 private:
  SharedRing ring_;
  RingConsumer consumer_{ring_.memory()};
  std::span<const std::byte> record_;
  bool has_record_ = false;
  bool is_broken_ = false;
};

class Writer {
 public:
  void MovePeer(uint64_t position) { ring_.position.read = position; }
  void FollowPeer(uint8_t lines) {
    ring_.position.read += uint64_t{lines} * kRecordAlignment;
  }
  void Write(uint16_t size, uint8_t spare) {
    static std::byte data[UINT16_MAX];
    Message message = NewMessage(Type::kRequest);
    const Piece payload{data, size};
    producer_.Write(message, {&payload, 1}, size_t{spare} * kRecordAlignment);
  }

 private:
  SharedRing ring_;
  RingProducer producer_{ring_.memory()};
};

void Act(Input& input, Reader& reader, Writer& writer) {
  switch (input.Take<uint8_t>() % 10) {
    case 0:
      return reader.Scribble(input);
    case 1:
      return reader.Publish(input.Take<uint64_t>());
    case 2:
      return reader.PublishLines(input.Take<uint8_t>());
    case 3:
      return reader.Peek();
    case 4:
      return reader.DecodeRecord(Lane::kRequests);
    case 5:
      return reader.DecodeRecord(Lane::kReplies);
    case 6:
      return reader.Pop();
    case 7:
      return writer.MovePeer(input.Take<uint64_t>());
    case 8:
      return writer.FollowPeer(input.Take<uint8_t>());
    default: {
      const auto size = input.Take<uint16_t>();
      return writer.Write(size, input.Take<uint8_t>());
    }
  }
}

}  // namespace
}  // namespace rpma::emu::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rpma::emu::wire;
  const auto record = std::as_bytes(std::span(data, size));
  DecodeAndCheck(record, Lane::kRequests);
  DecodeAndCheck(record, Lane::kReplies);

  Input input(data, size);
  Reader reader;
  Writer writer;
  while (!input.is_empty()) Act(input, reader, writer);
  return 0;
}
