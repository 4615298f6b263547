// SPDX-License-Identifier: BSD-3-Clause
// The memory that two processes share.

#include "emulator/wire/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cerrno>
#include <utility>

namespace rpma::emu::wire {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// fallocate(2) fails instead of a later access, if there is no memory.
int Allocate(int fd, off_t size) {
  int result;
  do {
    result = fallocate(fd, 0, 0, size);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

}  // namespace

struct SharedMemory::Layout {
  struct alignas(128) Word {
    std::atomic<uint32_t> value;
  };

  RingPosition positions[2][2];  // [Side of the writer][Lane]
  Word asleep[2];                // [Side]
  alignas(4096) std::byte rings[2][2][kRingBytes];
};

int SharedMemory::Create(Descriptor* memory) {
  Descriptor fd(memfd_create("rpma-emu-wire", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_open()) return errno;
  if (ftruncate(fd.get(), sizeof(Layout)) != 0) return errno;
  if (const int error = Allocate(fd.get(), sizeof(Layout)); error != 0) {
    return error;
  }
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return errno;
  if (const int error = Map(fd); error != 0) return error;
  *memory = std::move(fd);
  return 0;
}

const char* SharedMemory::Adopt(const Descriptor& memory) {
  struct stat status;
  struct statfs system;
  if (fstat(memory.get(), &status) != 0 ||
      fstatfs(memory.get(), &system) != 0) {
    return "memory that nothing is known of";
  }
  // Pages of other file systems may be missing when they are touched.
  if (system.f_type != TMPFS_MAGIC) return "memory of another kind";
  if (fcntl(memory.get(), F_GET_SEALS) != kSeals) {
    return "memory without the seals";
  }
  if (status.st_size != sizeof(Layout)) return "memory of a wrong size";
  if (Allocate(memory.get(), sizeof(Layout)) != 0 || Map(memory) != 0) {
    return "memory that cannot be had";
  }
  return nullptr;
}

int SharedMemory::Map(const Descriptor& memory) {
  void* const address = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE,
                             MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return errno;
  if (madvise(address, sizeof(Layout), MADV_DONTFORK) != 0) {
    const int error = errno;
    munmap(address, sizeof(Layout));
    return error;
  }
  layout_ = static_cast<Layout*>(address);
  return 0;
}

void SharedMemory::Unmap() {
  if (layout_ != nullptr) munmap(layout_, sizeof(Layout));
  layout_ = nullptr;
}

RingMemory SharedMemory::ring(Side writer, Lane lane) const {
  const auto side = static_cast<size_t>(writer);
  const auto of_side = static_cast<size_t>(lane);
  return {&layout_->positions[side][of_side], layout_->rings[side][of_side]};
}

std::atomic<uint32_t>& SharedMemory::asleep(Side side) const {
  return layout_->asleep[static_cast<size_t>(side)].value;
}

}  // namespace rpma::emu::wire
