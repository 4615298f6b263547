// SPDX-License-Identifier: BSD-3-Clause
// The table of memory regions.

#include "emulator/memory_region.h"

#include <cerrno>
#include <new>
#include <thread>

namespace rpma::emu {
namespace {

constexpr uint32_t kChunk = 256;  // entries
// An index given back rests until this many others were given back after it.
constexpr uint32_t kReuseAfter = 64;

}  // namespace

// A reader counts itself in `users`, then compares `key`; Remove() changes
// `key`, then waits until `users` is 0. As both are sequentially consistent,
// one of the two sees the other. So the plain fields do not change while a
// reader that found its key reads them.
struct alignas(64) MrTable::Entry {
  std::atomic<uint32_t> key{0};  // 0: no region
  std::atomic<uint32_t> users{0};
  const ibv_pd* pd = nullptr;
  uint64_t addr = 0;
  uint64_t length = 0;
  unsigned access = 0;
  uint32_t number = 0;
  uint32_t last_key = 0;  // that of the region which the fields describe
  uint32_t next_free = 0;
};

MrTable::MrTable(uint32_t max_mr)
    : max_mr_(max_mr),
      indices_(max_mr + kReuseAfter + 1),
      chunks_(std::make_unique<std::atomic<Entry*>[]>(indices_ / kChunk + 1)) {}

MrTable::~MrTable() {
  for (uint32_t chunk = 0; chunk <= indices_ / kChunk; ++chunk) {
    delete[] chunks_[chunk].load();
  }
}

MrTable::Entry* MrTable::Find(uint32_t key) const {
  const uint32_t index = key >> 8;
  if (index >= indices_) return nullptr;
  Entry* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk[index % kChunk];
}

MrTable::Entry* MrTable::TakeFreeEntry(uint32_t* index) {
  if (free_ > kReuseAfter || next_index_ == indices_) {
    *index = first_free_;
    Entry* const entry = Find(*index << 8);
    first_free_ = entry->next_free;
    --free_;
    return entry;
  }
  std::atomic<Entry*>& chunk = chunks_[next_index_ / kChunk];
  if (chunk.load() == nullptr) {
    Entry* const entries = new (std::nothrow) Entry[kChunk];
    if (entries == nullptr) return nullptr;
    chunk.store(entries, std::memory_order_release);
  }
  *index = next_index_++;
  return Find(*index << 8);
}

int MrTable::Insert(MemoryRegion& mr) {
  const std::lock_guard lock(mutex_);
  if (regions_ == max_mr_) return ENOMEM;
  uint32_t index;
  Entry* const entry = TakeFreeEntry(&index);
  if (entry == nullptr) return ENOMEM;
  ++regions_;
  const uint32_t generation = (entry->last_key + 1) & 0xff;
  entry->last_key = index << 8 | generation;
  entry->pd = mr.pd;
  entry->addr = reinterpret_cast<uintptr_t>(mr.addr);
  entry->length = mr.length;
  entry->access = mr.access;
  entry->number = mr.number;
  mr.lkey = mr.rkey = entry->last_key;
  entry->key.store(entry->last_key);
  return 0;
}

void MrTable::Remove(MemoryRegion& mr) {
  Entry* const entry = Find(mr.lkey);
  entry->key.store(0);
  while (entry->users.load() != 0) std::this_thread::yield();

  const std::lock_guard lock(mutex_);
  --regions_;
  const uint32_t index = mr.lkey >> 8;
  if (free_++ == 0) {
    first_free_ = index;
  } else {
    Find(last_free_ << 8)->next_free = index;
  }
  last_free_ = index;
}

AccessError MrTable::Access(uint32_t key, const ibv_pd* pd, uint64_t addr,
                            uint64_t length, unsigned rights, MrPin* pin) {
  if (length == 0) return AccessError::kNone;
  Entry* const entry = Find(key);
  if (entry == nullptr) return AccessError::kUnknownKey;
  pin->users_ = &entry->users;
  entry->users.fetch_add(1);
  AccessError error = AccessError::kNone;
  if (key == 0 || entry->key.load() != key) {
    pin->Release();
    return Facts(key).known ? AccessError::kDeregistered
                            : AccessError::kUnknownKey;
  }
  if (entry->pd != pd) {
    error = AccessError::kOtherDomain;
  } else if (addr < entry->addr || length > entry->length ||
             addr - entry->addr > entry->length - length) {
    error = AccessError::kOutOfBounds;
  } else if ((entry->access & rights) != rights) {
    error = AccessError::kMissingRight;
  }
  if (error != AccessError::kNone) pin->Release();
  return error;
}

KeyFacts MrTable::Facts(uint32_t key) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = Find(key);
  if (key == 0 || entry == nullptr || entry->last_key != key) return {};
  return {.known = true,
          .registered = entry->key.load() == key,
          .addr = entry->addr,
          .length = entry->length,
          .access = entry->access,
          .number = entry->number};
}

}  // namespace rpma::emu
