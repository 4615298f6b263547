// SPDX-License-Identifier: BSD-3-Clause
// Copies: every size and alignment, and what a poller may see meanwhile.

#include "emulator/transfer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

namespace rpma::emu {
namespace {

TEST(TransferTest, CopiesExactlyTheBytesWhateverSizeAndAlignment) {
  constexpr size_t kMargin = 64;
  std::vector<unsigned char> source(1024);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  for (size_t size = 0; size <= 300; ++size) {
    for (size_t to = 0; to < 9; ++to) {
      for (const size_t from : {0u, 1u, 7u}) {
        alignas(64) unsigned char target[512] = {};
        Transfer(target + kMargin + to, source.data() + from, size);
        const unsigned char* const start = target + kMargin + to;
        ASSERT_EQ(std::memcmp(start, source.data() + from, size), 0)
            << size << " bytes to " << to << " from " << from;
        ASSERT_EQ(start[-1], 0);
        ASSERT_EQ(start[size], 0);
      }
    }
  }
}

TEST(TransferTest, CopiesLongRanges) {
  const size_t size = (1 << 20) + 13;
  std::vector<char> source(size);
  for (size_t i = 0; i < size; ++i) source[i] = static_cast<char>(i * 31);
  std::vector<char> target(size + 10);
  Transfer(target.data() + 5, source.data(), size);
  EXPECT_EQ(std::memcmp(target.data() + 5, source.data(), size), 0);
  EXPECT_EQ(target[4], 0);
  EXPECT_EQ(target[size + 5], 0);
}

TEST(TransferTest, RangesMayOverlap) {
  constexpr size_t kSize = 100'000;
  constexpr size_t kDistance = 1000;
  std::vector<unsigned char> source(kSize + 2 * kDistance, 0);
  for (size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<unsigned char>(i * 31 % 251);
  }
  std::vector<unsigned char> memory = source;
  unsigned char* const middle = memory.data() + kDistance;
  Transfer(middle - kDistance, middle, kSize);
  EXPECT_EQ(std::memcmp(memory.data(), source.data() + kDistance, kSize), 0);

  memory = source;
  Transfer(middle + kDistance, middle, kSize);
  EXPECT_EQ(std::memcmp(memory.data(), source.data(), 2 * kDistance), 0)
      << "bytes before the destination changed";
}

TEST(TransferTest, PiecesNeedNotFallTogether) {
  char source[] = "abcdefghij";
  char target[12] = {};
  const auto piece = [](char* data, size_t size) {
    return Piece{reinterpret_cast<std::byte*>(data), size};
  };
  const Piece from[] = {piece(source, 1), piece(source + 1, 0),
                        piece(source + 1, 6), piece(source + 7, 3)};
  const Piece to[] = {piece(target, 4), piece(target + 4, 0),
                      piece(target + 4, 2), piece(target + 6, 5)};
  Transfer(to, from);
  EXPECT_STREQ(target, "abcdefghij");
}

// Repeats transfers of `size` bytes, each byte the low byte of its round, while
// `check` looks at the target.
template <typename Check>
void Race(size_t offset, size_t size, Check check) {
  constexpr int kRounds = 20000;
  alignas(64) static std::byte target[256];
  std::memset(target, 0, sizeof(target));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int round = 1; round <= kRounds; ++round) {
      std::byte source[128];
      std::memset(source, round & 0x7f, sizeof(source));
      Transfer(target + offset, source, size);
    }
    stop = true;
  });
  while (!stop) check(target + offset);
  writer.join();
}

TEST(TransferTest, AlignedWordsAreNeverTorn) {
  for (const size_t size : {8u, 24u, 120u}) {
    Race(0, size, [size](const std::byte* target) {
      for (size_t at = 0; at < size; at += 8) {
        const uint64_t word = __atomic_load_n(
            reinterpret_cast<const uint64_t*>(target + at), __ATOMIC_ACQUIRE);
        ASSERT_EQ(word, (word & 0xff) * 0x0101010101010101u);
      }
    });
  }
}

TEST(TransferTest, SmallAlignedTransfersAreSingleStores) {
  Race(4, 4, [](const std::byte* target) {
    const uint32_t word = __atomic_load_n(
        reinterpret_cast<const uint32_t*>(target), __ATOMIC_ACQUIRE);
    ASSERT_EQ(word, (word & 0xff) * 0x01010101u);
  });
  Race(2, 2, [](const std::byte* target) {
    const uint16_t word = __atomic_load_n(
        reinterpret_cast<const uint16_t*>(target), __ATOMIC_ACQUIRE);
    ASSERT_EQ(word & 0xff, word >> 8);
  });
}

TEST(TransferTest, TheLastWordIsStoredLast) {
  constexpr size_t kSize = 128;
  alignas(64) static std::byte target[kSize];
  std::atomic<uint64_t> consumed = 0;
  std::thread writer([&] {
    for (uint64_t round = 1; round <= 20000; ++round) {
      while (consumed != round - 1) std::this_thread::yield();
      uint64_t source[kSize / 8];
      for (uint64_t& word : source) word = round;
      Transfer(target, source, kSize);
    }
  });
  const auto load = [&](size_t at) {
    return __atomic_load_n(reinterpret_cast<const uint64_t*>(target + at),
                           __ATOMIC_ACQUIRE);
  };
  for (uint64_t round = 1; round <= 20000; ++round) {
    while (load(kSize - 8) != round) std::this_thread::yield();
    for (size_t at = 0; at < kSize; at += 8) EXPECT_EQ(load(at), round);
    consumed = round;
  }
  writer.join();
}

}  // namespace
}  // namespace rpma::emu
