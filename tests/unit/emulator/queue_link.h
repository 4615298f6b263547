// SPDX-License-Identifier: BSD-3-Clause
// A link between two fabrics of a test, whose messages wait until they are
// pumped.

#ifndef RPMA_TESTS_UNIT_EMULATOR_QUEUE_LINK_H_
#define RPMA_TESTS_UNIT_EMULATOR_QUEUE_LINK_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "emulator/far_link.h"

namespace rpma::emu {

// One direction. Each message has to pass the decoder.
class QueueLink final : public FarLink {
 public:
  using Handler =
      std::function<void(FarLink& link, const wire::Message& message,
                         std::span<const std::byte> payload)>;

  bool Send(Lane lane, const wire::Message& message,
            std::span<const Piece> payload) override {
    const std::lock_guard lock(mutex_);
    if (is_dead_ || is_full_) return false;
    std::vector<std::byte> record(wire::FixedSize(message.head.type));
    std::memcpy(record.data(), &message, record.size());
    for (const Piece& piece : payload) {
      record.insert(record.end(), piece.data, piece.data + piece.size);
    }
    const auto size = static_cast<uint32_t>(record.size());
    std::memcpy(record.data() + offsetof(wire::Head, size), &size,
                sizeof(size));
    records_.emplace_back(lane, std::move(record));
    ++sent_;
    return true;
  }
  uint64_t Sent() override {
    const std::lock_guard lock(mutex_);
    return sent_;
  }
  bool IsHandled(uint64_t sent) override {
    const std::lock_guard lock(mutex_);
    return records_.size() <= sent_ - sent;
  }
  bool is_dead() const override { return is_dead_; }
  bool AwaitRoom() override { return false; }
  void WantRoom() override {}

  void Fill(bool is_full) { is_full_ = is_full; }
  void Kill() { is_dead_ = true; }
  // Loses what waits.
  size_t Lose() {
    const std::lock_guard lock(mutex_);
    return std::exchange(records_, {}).size();
  }

  // Hands the first message to the other end, which knows the link as `back`.
  // False: there is none.
  bool PumpOne(FarLink& back, const Handler& handler) {
    std::pair<Lane, std::vector<std::byte>> first;
    {
      const std::lock_guard lock(mutex_);
      if (records_.empty()) return false;
      first = std::move(records_.front());
      records_.pop_front();
    }
    wire::Message message;
    std::span<const std::byte> payload;
    const char* why = "";
    EXPECT_TRUE(
        wire::Decode(first.second, first.first, &message, &payload, &why))
        << why;
    handler(back, message, payload);
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<Lane, std::vector<std::byte>>> records_;
  uint64_t sent_ = 0;
  std::atomic<bool> is_dead_ = false;
  std::atomic<bool> is_full_ = false;
};

}  // namespace rpma::emu

#endif  // RPMA_TESTS_UNIT_EMULATOR_QUEUE_LINK_H_
