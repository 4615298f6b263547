// SPDX-License-Identifier: BSD-3-Clause
// A ring of records between two processes that do not believe each other.

#include "emulator/wire/ring.h"

#include <cstring>

namespace rpma::emu::wire {

void RingProducer::LoadPeersPosition() {
  const uint64_t read = memory_.positions->read.load(std::memory_order_acquire);
  if (read % kRecordAlignment != 0 || read < read_ || read > written_) {
    is_broken_ = true;
  } else {
    read_ = read;
  }
}

bool RingProducer::HasRoom(size_t bytes) {
  const auto room = [this] {
    return memory_.bytes.size() - static_cast<size_t>(written_ - read_);
  };
  if (is_broken_) return false;
  if (room() >= bytes) return true;
  LoadPeersPosition();
  return !is_broken_ && room() >= bytes;
}

bool RingProducer::Write(const Message& message, std::span<const Piece> payload,
                         size_t spare) {
  Message copy = message;
  const size_t fixed = FixedSize(message.head.type);
  size_t size = fixed;
  for (const Piece& piece : payload) size += piece.size;
  copy.head.size = static_cast<uint32_t>(size);

  const size_t offset = written_ & (memory_.bytes.size() - 1);
  const size_t rest = memory_.bytes.size() - offset;
  const size_t pad = SizeInRing(size) > rest ? rest : 0;
  if (!HasRoom(pad + SizeInRing(size) + spare)) return false;
  if (pad != 0) {
    Head head{};
    head.size = static_cast<uint32_t>(pad);
    head.type = Type::kPad;
    std::memcpy(At(written_), &head, sizeof(head));
  }
  std::byte* to = At(written_ + pad);
  std::memcpy(to, &copy, fixed);
  to += fixed;
  for (const Piece& piece : payload) {
    Transfer(to, piece.data, piece.size);
    to += piece.size;
  }
  written_ += pad + SizeInRing(size);
  memory_.positions->written.store(written_, std::memory_order_seq_cst);
  return true;
}

bool RingConsumer::LoadPeersPosition(const char** why) {
  const uint64_t written =
      memory_.positions->written.load(std::memory_order_acquire);
  if (written % kRecordAlignment != 0 || written < written_ ||
      written - read_ > memory_.bytes.size()) {
    *why = "a wrong position in a ring";
    return false;
  }
  written_ = written;
  return true;
}

RingConsumer::Found RingConsumer::Peek(std::span<const std::byte>* record,
                                       const char** why) {
  for (;;) {
    if (read_ == written_ && !LoadPeersPosition(why)) return Found::kRubbish;
    if (read_ == written_) return Found::kNothing;

    const size_t offset = read_ & (memory_.bytes.size() - 1);
    const size_t rest = memory_.bytes.size() - offset;
    Head head;
    std::memcpy(&head, &memory_.bytes[offset], sizeof(head));
    const size_t size = SizeInRing(head.size);
    if (head.size < sizeof(Head) || head.size > kMaxRecord || size > rest ||
        size > written_ - read_) {
      *why = "a record of a wrong size";
      return Found::kRubbish;
    }
    if (head.type != Type::kPad) {
      found_ = size;
      *record = memory_.bytes.subspan(offset, head.size);
      return Found::kRecord;
    }
    if (size != rest) {
      *why = "a pad that does not end with its ring";
      return Found::kRubbish;
    }
    Advance(size);
  }
}

void RingConsumer::Pop() { Advance(found_); }

void RingConsumer::Advance(size_t size) {
  read_ += size;
  memory_.positions->read.store(read_, std::memory_order_release);
}

}  // namespace rpma::emu::wire
