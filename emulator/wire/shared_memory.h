// SPDX-License-Identifier: BSD-3-Clause
// The memory that two processes share: the rings of a link.

#ifndef RPMA_EMULATOR_WIRE_SHARED_MEMORY_H_
#define RPMA_EMULATOR_WIRE_SHARED_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "emulator/wire/descriptor.h"
#include "emulator/wire/message.h"
#include "emulator/wire/ring.h"

namespace rpma::emu::wire {

inline constexpr uint32_t kRingBytes = 256 * 1024;

enum class Side : uint8_t { kConnector, kAcceptor };
constexpr Side Other(Side side) {
  return side == Side::kConnector ? Side::kAcceptor : Side::kConnector;
}

// A mapping of it. A child of fork(2) does not have it.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { Unmap(); }

  // Makes new memory, all 0, whose size nobody can change; *memory is a
  // descriptor of it. 0, or an errno of memfd_create(2), ftruncate(2),
  // fallocate(2), fcntl(2) or mmap(2). REQUIRES: nothing is mapped.
  int Create(Descriptor* memory);
  // Maps memory of another process, if no access to it can fail: it has the
  // right size and the seals that keep it. nullptr, or why not.
  // REQUIRES: nothing is mapped.
  const char* Adopt(const Descriptor& memory);
  void Unmap();
  // In a child of fork(2), where it is not mapped.
  void Forget() { layout_ = nullptr; }

  // REQUIRES, for all below: it is mapped.
  RingMemory ring(Side writer, Lane lane) const;
  // Not 0: this side sleeps, and wants to be woken when there is a record.
  std::atomic<uint32_t>& asleep(Side side) const;

 private:
  struct Layout;
  int Map(const Descriptor& memory);

  Layout* layout_ = nullptr;
};

}  // namespace rpma::emu::wire

#endif  // RPMA_EMULATOR_WIRE_SHARED_MEMORY_H_
