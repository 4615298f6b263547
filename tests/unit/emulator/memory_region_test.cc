// SPDX-License-Identifier: BSD-3-Clause
// The table of memory regions: checks, keys and their reuse.

#include "emulator/memory_region.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <thread>
#include <vector>

namespace rpma::emu {
namespace {

constexpr uint64_t kStart = 0x10000;
constexpr uint64_t kLength = 0x1000;
constexpr unsigned kReadable = IBV_ACCESS_REMOTE_READ;
constexpr unsigned kWritable = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;

class MrTableTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kMaxMr = 200;

  MemoryRegion Region(unsigned access = kReadable) {
    MemoryRegion mr{};
    mr.pd = &pd_;
    mr.addr = reinterpret_cast<void*>(kStart);
    mr.length = kLength;
    mr.access = access;
    return mr;
  }
  AccessError Access(uint32_t key, uint64_t addr, uint64_t length,
                     unsigned rights) {
    MrPin pin;
    return table_.Access(key, &pd_, addr, length, rights, &pin);
  }

  ProtectionDomain pd_;
  MrTable table_{kMaxMr};
};

TEST_F(MrTableTest, AllowsWhatLiesInTheRegionAndHasTheRight) {
  MemoryRegion mr = Region();
  ASSERT_EQ(table_.Insert(mr), 0);
  EXPECT_EQ(mr.lkey, mr.rkey);
  EXPECT_NE(mr.lkey, 0u);
  EXPECT_EQ(Access(mr.rkey, kStart, kLength, kReadable), AccessError::kNone);
  EXPECT_EQ(Access(mr.rkey, kStart + 5, 1, 0), AccessError::kNone);
  EXPECT_EQ(Access(mr.rkey, kStart + kLength - 1, 1, kReadable),
            AccessError::kNone);
}

TEST_F(MrTableTest, RefusesWhatIsOutOfBounds) {
  MemoryRegion mr = Region();
  ASSERT_EQ(table_.Insert(mr), 0);
  const AccessError refused = AccessError::kOutOfBounds;
  EXPECT_EQ(Access(mr.rkey, kStart - 1, 1, 0), refused);
  EXPECT_EQ(Access(mr.rkey, kStart, kLength + 1, 0), refused);
  EXPECT_EQ(Access(mr.rkey, kStart + kLength, 1, 0), refused);
  EXPECT_EQ(Access(mr.rkey, kStart + 1, kLength, 0), refused);
  EXPECT_EQ(Access(mr.rkey, UINT64_MAX, 2, 0), refused);
  EXPECT_EQ(Access(mr.rkey, kStart, UINT64_MAX, 0), refused);
}

TEST_F(MrTableTest, RefusesMissingRightsAndForeignDomains) {
  MemoryRegion mr = Region(kReadable);
  ASSERT_EQ(table_.Insert(mr), 0);
  EXPECT_EQ(Access(mr.rkey, kStart, 1, kWritable), AccessError::kMissingRight);
  EXPECT_EQ(Access(mr.rkey, kStart, 1, kReadable | kWritable),
            AccessError::kMissingRight);
  ProtectionDomain other;
  MrPin pin;
  EXPECT_EQ(table_.Access(mr.rkey, &other, kStart, 1, 0, &pin),
            AccessError::kOtherDomain);
}

TEST_F(MrTableTest, TellsStaleKeysFromThoseNeverGivenOut) {
  MemoryRegion mr = Region();
  ASSERT_EQ(table_.Insert(mr), 0);
  const uint32_t key = mr.rkey;
  table_.Remove(mr);
  EXPECT_EQ(Access(key, kStart, 1, 0), AccessError::kDeregistered);
  for (const uint32_t unknown : {0u, 1u, key + 1, key + 0x100, 0xffffffffu}) {
    EXPECT_EQ(Access(unknown, kStart, 1, 0), AccessError::kUnknownKey);
    EXPECT_FALSE(table_.Facts(unknown).known);
  }
}

TEST_F(MrTableTest, LengthZeroChecksNothing) {
  EXPECT_EQ(Access(0, 0, 0, kWritable), AccessError::kNone);
  EXPECT_EQ(Access(0xffffffff, 1, 0, kWritable), AccessError::kNone);
}

TEST_F(MrTableTest, AStaleKeyKeepsTheFactsOfItsRegion) {
  MemoryRegion mr = Region(kWritable);
  ASSERT_EQ(table_.Insert(mr), 0);
  const uint32_t key = mr.rkey;
  for (const bool registered : {true, false}) {
    const KeyFacts facts = table_.Facts(key);
    EXPECT_TRUE(facts.known);
    EXPECT_EQ(facts.registered, registered);
    EXPECT_EQ(facts.addr, kStart);
    EXPECT_EQ(facts.length, kLength);
    EXPECT_EQ(facts.access, kWritable);
    if (registered) table_.Remove(mr);
  }
}

TEST_F(MrTableTest, KeysAreNotGivenOutAgainSoon) {
  std::set<uint32_t> keys;
  for (int i = 0; i < 10000; ++i) {
    MemoryRegion mr = Region();
    ASSERT_EQ(table_.Insert(mr), 0);
    EXPECT_TRUE(keys.insert(mr.rkey).second) << "after " << i;
    table_.Remove(mr);
  }
}

TEST_F(MrTableTest, AnIndexRestsWhileSixtyFourOthersAreGivenBack) {
  std::vector<uint32_t> indices;
  for (int i = 0; i < 500; ++i) {
    MemoryRegion mr = Region();
    ASSERT_EQ(table_.Insert(mr), 0);
    indices.push_back(mr.rkey >> 8);
    table_.Remove(mr);
    for (size_t back = 1; back <= 64 && back < indices.size(); ++back) {
      ASSERT_NE(indices[indices.size() - 1 - back], indices.back());
    }
  }
}

TEST_F(MrTableTest, TakesAsManyRegionsAsTheDeviceAllows) {
  std::vector<MemoryRegion> regions(kMaxMr + 1, Region());
  for (uint32_t i = 0; i < kMaxMr; ++i) {
    ASSERT_EQ(table_.Insert(regions[i]), 0);
  }
  EXPECT_EQ(table_.Insert(regions[kMaxMr]), ENOMEM);
  table_.Remove(regions[7]);
  EXPECT_EQ(table_.Insert(regions[kMaxMr]), 0);
  for (uint32_t i = 0; i < kMaxMr; ++i) {
    EXPECT_EQ(Access(regions[i].rkey, kStart, 1, 0),
              i == 7 ? AccessError::kDeregistered : AccessError::kNone);
  }
}

TEST_F(MrTableTest, RemoveWaitsUntilThePinIsReleased) {
  MemoryRegion mr = Region();
  ASSERT_EQ(table_.Insert(mr), 0);
  const uint32_t key = mr.rkey;
  MrPin pin;
  ASSERT_EQ(table_.Access(key, &pd_, kStart, 1, 0, &pin), AccessError::kNone);
  std::atomic<bool> released = false;
  std::thread remover([&] {
    table_.Remove(mr);
    EXPECT_TRUE(released);
  });
  // The key is dead before the pin is released.
  while (Access(key, kStart, 1, 0) == AccessError::kNone) {
    std::this_thread::yield();
  }
  released = true;
  pin.Release();
  remover.join();
}

TEST_F(MrTableTest, NoAccessOutlivesItsRegionWhileThreadsRace) {
  struct Slot {
    std::atomic<uint32_t> key{0};
    std::atomic<bool> alive{false};
  };
  Slot slot;
  std::atomic<bool> stop = false;
  std::atomic<int> hits = 0;
  std::vector<std::thread> accessors;
  for (int i = 0; i < 3; ++i) {
    accessors.emplace_back([&] {
      while (!stop) {
        MrPin pin;
        const auto error =
            table_.Access(slot.key, &pd_, kStart, 8, kReadable, &pin);
        if (error != AccessError::kNone) continue;
        EXPECT_TRUE(slot.alive);
        ++hits;
      }
    });
  }
  for (int i = 0; i < 2000 || hits == 0; ++i) {
    MemoryRegion mr = Region();
    slot.alive = true;
    ASSERT_EQ(table_.Insert(mr), 0);
    slot.key = mr.rkey;
    std::this_thread::yield();
    table_.Remove(mr);
    slot.alive = false;
  }
  stop = true;
  for (std::thread& accessor : accessors) accessor.join();
}

}  // namespace
}  // namespace rpma::emu
