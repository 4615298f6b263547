// SPDX-License-Identifier: BSD-3-Clause
// Protection domains, memory regions and the check of a key, its bounds and
// rights, which every access of a transfer has to pass.

#ifndef RPMA_EMULATOR_MEMORY_REGION_H_
#define RPMA_EMULATOR_MEMORY_REGION_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace rpma::emu {

// Rights that rdma-core has from release 45 on
// (include/uapi/rdma/ib_user_ioctl_verbs.h).
inline constexpr unsigned kAccessFlushGlobal = 1u << 8;
inline constexpr unsigned kAccessFlushPersistent = 1u << 9;

struct ProtectionDomain final : ibv_pd {
  std::atomic<uint32_t> children{0};  // regions, QPs and SRQs
};

struct MemoryRegion final : ibv_mr {
  unsigned access = 0;
  uint64_t locked = 0;  // bytes, in whole pages
  uint32_t number = 0;  // in traces
};

// Why an access is refused.
enum class AccessError {
  kNone,
  kUnknownKey,    // never given out
  kDeregistered,  // its region is gone
  kOtherDomain,   // the region belongs to another protection domain
  kOutOfBounds,
  kMissingRight,
};

class MrTable;

// Holds one region in place while bytes move; DeregMr waits for it.
class MrPin {
 public:
  MrPin() = default;
  MrPin(const MrPin&) = delete;
  MrPin& operator=(const MrPin&) = delete;
  ~MrPin() { Release(); }

  void Release() {
    if (users_ != nullptr) users_->fetch_sub(1, std::memory_order_release);
    users_ = nullptr;
  }

 private:
  friend class MrTable;
  std::atomic<uint32_t>* users_ = nullptr;  // of the region; nullptr: none
};

// What is known of a key, for a sentence about a refused access.
struct KeyFacts {
  bool known = false;  // addr, length and access are those of its region
  bool registered = false;
  uint64_t addr = 0;
  uint64_t length = 0;
  unsigned access = 0;
  uint32_t number = 0;
};

// The regions of one device by key. lkey equals rkey. A key names a table index
// (its upper 24 bits, never 0) and a generation of that index, so an old key is
// not given out again for a long time.
//
// Threads: all calls, any thread. Access() neither locks nor allocates, except
// to find out why it refuses.
class MrTable {
 public:
  explicit MrTable(uint32_t max_mr);
  MrTable(const MrTable&) = delete;
  MrTable& operator=(const MrTable&) = delete;
  ~MrTable();

  // Sets mr.lkey and mr.rkey. Returns 0 or ENOMEM (device limit or memory).
  int Insert(MemoryRegion& mr);
  // Returns when no pin of the region is left; later accesses find
  // kDeregistered.
  void Remove(MemoryRegion& mr);

  // Checks that [addr, addr + length) lies in the region of `key`, that the
  // region belongs to `pd` and has all rights in `rights`, and pins it.
  // length 0 checks nothing (IBTA 9.4.3, 9.7.4.1.5: no R_Key check).
  // REQUIRES: *pin holds nothing.
  AccessError Access(uint32_t key, const ibv_pd* pd, uint64_t addr,
                     uint64_t length, unsigned rights, MrPin* pin);

  KeyFacts Facts(uint32_t key) const;

 private:
  struct Entry;

  Entry* Find(uint32_t key) const;
  Entry* TakeFreeEntry(uint32_t* index);

  const uint32_t max_mr_;
  const uint32_t indices_;  // of the table: more than max_mr_, see kReuseAfter
  // Chunks of entries; one is allocated when its first index is used, and none
  // is freed before the table.
  std::unique_ptr<std::atomic<Entry*>[]> chunks_;

  mutable std::mutex mutex_;
  uint32_t regions_ = 0;     // guarded by mutex_, as all below
  uint32_t next_index_ = 1;  // never used so far
  uint32_t first_free_ = 0;  // queue of given back indices, by Entry::next_free
  uint32_t last_free_ = 0;
  uint32_t free_ = 0;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_MEMORY_REGION_H_
