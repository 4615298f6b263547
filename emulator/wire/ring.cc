// SPDX-License-Identifier: BSD-3-Clause
// A ring of records between two processes that do not believe each other.

#include "emulator/wire/ring.h"

#include <cstring>

namespace rpma::emu::wire {
namespace {

// The first word of a record, with its size: not 0.
using Word = uint64_t;
static_assert(offsetof(Head, to) == sizeof(Word));

std::byte* At(const RingMemory& memory, uint64_t position) {
  return &memory.bytes[position & (memory.bytes.size() - 1)];
}

std::atomic_ref<Word> WordAt(const RingMemory& memory, uint64_t position) {
  return std::atomic_ref<Word>(*reinterpret_cast<Word*>(At(memory, position)));
}

Word FirstWord(const Head& head) {
  Word word;
  std::memcpy(&word, &head, sizeof(word));
  return word;
}

}  // namespace

void RingProducer::LoadPeersPosition() {
  const uint64_t read = memory_.position->read.load(std::memory_order_acquire);
  if (read % kRecordAlignment != 0 || read < read_ || read > written_) {
    is_broken_ = true;
  } else {
    read_ = read;
  }
}

bool RingProducer::HasRoom(size_t bytes) {
  // There is always a place for the word that ends what is written.
  bytes += kRecordAlignment;
  const auto room = [this] {
    return memory_.bytes.size() - static_cast<size_t>(written_ - read_);
  };
  if (is_broken_) return false;
  if (room() >= bytes) return true;
  LoadPeersPosition();
  return !is_broken_ && room() >= bytes;
}

bool RingProducer::IsRead(uint64_t written) {
  if (!is_broken_ && read_ < written) LoadPeersPosition();
  return read_ >= written;
}

bool RingProducer::Write(const Message& message, std::span<const Piece> payload,
                         size_t spare) {
  const size_t fixed = FixedSize(message.head.type);
  size_t in_payload = 0;
  for (const Piece& piece : payload) in_payload += piece.size;
  const size_t size = RecordSize(message, in_payload);
  const size_t offset = written_ & (memory_.bytes.size() - 1);
  const size_t rest = memory_.bytes.size() - offset;
  const size_t pad = SizeInRing(size) > rest ? rest : 0;
  if (!HasRoom(pad + SizeInRing(size) + spare)) return false;
  const uint64_t begin = written_ + pad;
  const uint64_t end = begin + SizeInRing(size);
  WordAt(memory_, end).store(0, std::memory_order_relaxed);
  std::byte* to = At(memory_, begin);
  std::memcpy(to + sizeof(Word),
              reinterpret_cast<const std::byte*>(&message) + sizeof(Word),
              fixed - sizeof(Word));
  to += PayloadOffset(message);
  for (const Piece& piece : payload) {
    Transfer(to, piece.data, piece.size);
    to += piece.size;
  }
  Head head = message.head;
  head.size = static_cast<uint32_t>(size);
  if (pad != 0) {
    WordAt(memory_, begin).store(FirstWord(head), std::memory_order_relaxed);
    head = Head{};
    head.size = static_cast<uint32_t>(pad);
    head.type = Type::kPad;
  }
  WordAt(memory_, written_).store(FirstWord(head), std::memory_order_seq_cst);
  written_ = end;
  return true;
}

RingConsumer::Found RingConsumer::Look(Head* head, const char** why) const {
  const Word word = WordAt(memory_, read_).load(std::memory_order_acquire);
  if (word == 0) return Found::kNothing;
  std::memcpy(head, &word, sizeof(word));
  const size_t offset = read_ & (memory_.bytes.size() - 1);
  if (head->size >= sizeof(Head) && head->size <= kMaxRecord &&
      SizeInRing(head->size) <= memory_.bytes.size() - offset) {
    return Found::kRecord;
  }
  *why = "a record of a wrong size";
  return Found::kRubbish;
}

RingConsumer::Found RingConsumer::Peek(std::span<const std::byte>* record,
                                       const char** why) {
  Head head;
  Found found = Look(&head, why);
  if (found == Found::kRecord && head.type == Type::kPad) {
    const size_t size = SizeInRing(head.size);
    if (((read_ + size) & (memory_.bytes.size() - 1)) != 0) {
      *why = "a pad that does not end with its ring";
      return Found::kRubbish;
    }
    Advance(size);
    found = Look(&head, why);
    if (found == Found::kNothing ||
        (found == Found::kRecord && head.type == Type::kPad)) {
      *why = "a pad without a record";
      return Found::kRubbish;
    }
  }
  if (found != Found::kRecord) return found;
  found_ = SizeInRing(head.size);
  *record = {At(memory_, read_), head.size};
  return found;
}

bool RingConsumer::MayHaveMore() const {
  return WordAt(memory_, read_).load(std::memory_order_seq_cst) != 0;
}

void RingConsumer::Pop() { Advance(found_); }

void RingConsumer::Advance(size_t size) {
  read_ += size;
  memory_.position->read.store(read_, std::memory_order_release);
}

}  // namespace rpma::emu::wire
