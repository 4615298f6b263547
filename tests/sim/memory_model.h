// SPDX-License-Identifier: BSD-3-Clause
// What a piece of memory may contain while transfers are under way: no more
// than what was there and what is being written, and once a transfer is known
// to have taken effect, its bytes.

#ifndef RPMA_TESTS_SIM_MEMORY_MODEL_H_
#define RPMA_TESTS_SIM_MEMORY_MODEL_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rpma::sim {

// Numbers the moments of a run.
using Tick = uint64_t;

// The values that each byte of a transfer may have.
using ByteSet = std::bitset<256>;
using Content = std::shared_ptr<std::vector<ByteSet>>;
Content ExactContent(std::span<const uint8_t> bytes);
Content AnyContent(size_t size);

// Transfers of one queue take effect in the order of their numbers; those of
// queue 0 in any.
struct Origin {
  uint64_t queue = 0;
  uint64_t number = 0;
};

class MemoryModel {
 public:
  // Names a transfer; 0: none.
  using Transfer = uint64_t;

  // `name` is for messages.
  MemoryModel(std::string name, std::span<const uint8_t> bytes);

  // The owner of the memory stores bytes. REQUIRES: no transfer is under way
  // there.
  void Store(size_t offset, std::span<const uint8_t> bytes);

  // A transfer may take effect from now on. With kGrows, `content` is what
  // Observe() gave and becomes more.
  enum class Growth { kNone, kGrows };
  Transfer Begin(size_t offset, Content content, Origin origin, Tick now,
                 Growth growth = Growth::kNone);
  // It has taken effect. With `brought`, its content is what that says, and
  // nothing of the bytes beyond.
  void Finish(Transfer transfer, Tick now);
  void Finish(Transfer transfer, std::span<const uint8_t> brought, Tick now);
  // It has had no effect, and will have none.
  void Cancel(Transfer transfer);
  // Nobody will know; it may still take effect.
  void Abandon(Transfer transfer);
  // Nobody will know, and it has happened by now if at all.
  void Close(Transfer transfer);
  // Abandoned transfers that have not taken effect will not any more.
  void SettleAbandoned();

  // What somebody may see who reads the range at some time while the result is
  // alive: it grows with each transfer that begins. `bytes` is the memory now.
  Content Observe(size_t offset, size_t size, std::span<const uint8_t> bytes);

  // Throws Violation unless the memory may be as `bytes` is.
  void Check(std::span<const uint8_t> bytes);

 private:
  enum class State : uint8_t { kPending, kAbandoned, kOver };
  struct Entry {
    size_t offset = 0;
    Content content;
    Origin origin;
    Tick begun = 0;
    Tick ended = 0;
    State state = State::kPending;
    bool took_effect = false;
    bool grows = false;
    size_t covers = 0;  // bytes for which it is a candidate

    const ByteSet& At(size_t byte) const { return (*content)[byte - offset]; }
  };
  struct Byte {
    bool keeps_base = true;            // may be what it was before
    std::vector<Transfer> candidates;  // what it may be else
  };
  struct Observer {
    size_t offset = 0;
    std::weak_ptr<std::vector<ByteSet>> seen;
  };

  static bool Precedes(const Entry& first, const Entry& then);
  void AddCandidate(size_t byte, Transfer transfer);
  void DropCandidate(size_t byte, Transfer transfer);
  void DropSuperseded(size_t byte, const Entry& by);
  void Show(size_t offset, const std::vector<ByteSet>& content);
  bool Allows(size_t byte, uint8_t value) const;
  void CheckByte(size_t byte, uint8_t value);
  [[noreturn]] void Wrong(size_t byte, uint8_t value) const;

  const std::string name_;
  std::vector<uint8_t> base_;
  std::vector<Byte> bytes_;
  std::vector<size_t> open_;  // bytes with candidates, by block
  std::map<Transfer, Entry> entries_;
  std::vector<Observer> observers_;
  Transfer last_ = 0;
};

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_MEMORY_MODEL_H_
