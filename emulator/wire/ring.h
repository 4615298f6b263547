// SPDX-License-Identifier: BSD-3-Clause
// One lane of a link: a ring of records in memory that two processes share, one
// of which writes and the other reads.
//
// Neither believes the other. Each keeps its own position in private memory, so
// that whatever is in the shared memory, and however it changes meanwhile,
// nothing outside it is touched. What an intact peer would not write is called
// rubbish; the lane is of no use then.
//
// A record starts at a multiple of kRecordAlignment and does not wrap around: a
// record of type kPad fills the rest of the ring where one does not fit. The
// first word of a record, which is not 0, is stored last and tells the reader
// that there is one; until then it is 0. So a small record moves from one
// processor to the other as one cache line, and nothing else does.

#ifndef RPMA_EMULATOR_WIRE_RING_H_
#define RPMA_EMULATOR_WIRE_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "emulator/transfer.h"
#include "emulator/wire/message.h"

namespace rpma::emu::wire {

// How many bytes were read from a ring since the beginning. In shared memory;
// two cache lines, as processors fetch them in pairs.
struct RingPosition {
  alignas(128) std::atomic<uint64_t> read;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// What of a ring is shared. All 0 at first.
struct RingMemory {
  RingPosition* position = nullptr;
  // A power of two of bytes, more than two of the largest records, aligned.
  std::span<std::byte> bytes;
};

constexpr size_t SizeInRing(size_t record_size) {
  return (record_size + kRecordAlignment - 1) / kRecordAlignment *
         kRecordAlignment;
}
// As much room is enough for any record, wherever in the ring it starts.
inline constexpr size_t kRoomForAny = 2 * SizeInRing(kMaxRecord);

// Not safe for use by several threads at once.
class RingProducer {
 public:
  explicit RingProducer(RingMemory memory) : memory_(memory) {}
  RingProducer(const RingProducer&) = delete;
  RingProducer& operator=(const RingProducer&) = delete;

  // Writes a record, if `spare` bytes of room are left after it, and publishes
  // it with sequential consistency; sets head.size. False: nothing is written.
  // REQUIRES: no more than kMaxRecord bytes in all.
  bool Write(const Message& message, std::span<const Piece> payload,
             size_t spare);
  bool HasRoom(size_t bytes);
  // The peer has read more than is known here.
  bool HasPeerMoved() const {
    return memory_.position->read.load(std::memory_order_relaxed) != read_;
  }
  // How many bytes were written so far, and whether as many were read. A ring
  // that is broken is not read any more.
  uint64_t written() const { return written_; }
  bool IsRead(uint64_t written);
  // Rubbish was found; there is no room any more.
  bool is_broken() const { return is_broken_; }

 private:
  void LoadPeersPosition();

  const RingMemory memory_;
  uint64_t written_ = 0;
  uint64_t read_ = 0;  // as far as is known
  bool is_broken_ = false;
};

// Not safe for use by several threads at once.
class RingConsumer {
 public:
  explicit RingConsumer(RingMemory memory) : memory_(memory) {}
  RingConsumer(const RingConsumer&) = delete;
  RingConsumer& operator=(const RingConsumer&) = delete;

  enum class Found { kNothing, kRecord, kRubbish };
  // The next record, which stays until Pop(): at least a Head, at most
  // kMaxRecord, for Decode(). kRubbish: *why says what is wrong.
  Found Peek(std::span<const std::byte>* record, const char** why);
  // Gives the record's place back. REQUIRES: Peek() found it.
  void Pop();
  // Whether Peek() might find something; looks with sequential consistency.
  bool MayHaveMore() const;

 private:
  // What is here, be it a pad: the first word of *head, which fits into the
  // ring.
  Found Look(Head* head, const char** why) const;
  void Advance(size_t size);

  const RingMemory memory_;
  uint64_t read_ = 0;
  size_t found_ = 0;  // bytes of the record that Peek() found, in the ring
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_RING_H_
