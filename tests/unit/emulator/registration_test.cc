// SPDX-License-Identifier: BSD-3-Clause
// Memory that cannot be pinned, is not mapped or not accessible, and a limit of
// what can be locked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class RegistrationTest : public testing::Test {
 protected:
  static constexpr size_t kPages = 4;

  ~RegistrationTest() override {
    EXPECT_EQ(device_->DeallocPd(pd_), 0);
    std::free(memory_);
  }
  void Start(const Profile& profile) {
    device_ = std::make_unique<Device>("emu0", profile, 0, environment_);
    ASSERT_EQ(device_->AllocPd(&pd_), 0);
  }
  // Registers `length` bytes at `offset` of memory that starts with a page.
  int Register(size_t offset, size_t length, MemoryRegion** mr,
               unsigned access = 0) {
    return device_->RegMr(pd_, memory_ + offset, length, access, mr);
  }

  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  TestEnvironment environment_;
  std::unique_ptr<Device> device_;
  ProtectionDomain* pd_ = nullptr;
  std::byte* const memory_ =
      static_cast<std::byte*>(std::aligned_alloc(page_, kPages* page_));
};

class LockedMemoryTest : public RegistrationTest {
 protected:
  void SetUp() override {
    Profile profile = *FindProfile("ib");
    profile.memlock_limit = 2 * page_;
    Start(profile);
  }
};

TEST_F(LockedMemoryTest, RegionsLockUpToTheLimit) {
  MemoryRegion* first = nullptr;
  MemoryRegion* second = nullptr;
  MemoryRegion* refused = nullptr;
  ASSERT_EQ(Register(0, 2 * page_, &first), 0);
  EXPECT_EQ(Register(0, 1, &refused), ENOMEM);
  EXPECT_EQ(device_->DeregMr(first), 0);
  EXPECT_EQ(Register(0, 2 * page_ + 1, &refused), ENOMEM);
  EXPECT_EQ(refused, nullptr);
  ASSERT_EQ(Register(0, page_, &first), 0);
  ASSERT_EQ(Register(0, 1, &second), 0);
  EXPECT_EQ(Register(0, 1, &refused), ENOMEM);
  EXPECT_EQ(device_->DeregMr(first), 0);
  EXPECT_EQ(device_->DeregMr(second), 0);
  EXPECT_EQ(device_->Census().mrs, 0u);
}

TEST_F(LockedMemoryTest, WholePagesAreLocked) {
  MemoryRegion* mr = nullptr;
  EXPECT_EQ(Register(1, 2 * page_, &mr), ENOMEM);
  ASSERT_EQ(Register(page_ - 1, 2, &mr), 0);
  MemoryRegion* refused = nullptr;
  EXPECT_EQ(Register(0, 1, &refused), ENOMEM);
  EXPECT_EQ(device_->DeregMr(mr), 0);
}

TEST_F(LockedMemoryTest, OnDemandPagingLocksNothing) {
  MemoryRegion* mr = nullptr;
  ASSERT_EQ(Register(0, kPages * page_, &mr, IBV_ACCESS_ON_DEMAND), 0);
  EXPECT_EQ(device_->DeregMr(mr), 0);
}

TEST_F(LockedMemoryTest, TheLogNamesTheLimit) {
  MemoryRegion* mr = nullptr;
  ASSERT_EQ(Register(0, page_, &mr), 0);
  EXPECT_THAT(environment_.log(), IsEmpty());
  MemoryRegion* refused = nullptr;
  EXPECT_EQ(Register(0, 2 * page_, &refused), ENOMEM);
  ASSERT_EQ(environment_.log().size(), 1u);
  const std::string limit = std::to_string(2 * page_ / 1024);
  EXPECT_THAT(environment_.log()[0].text,
              HasSubstr("emu0: the locked-memory limit is " + limit +
                        " KiB (memlock_limit)"));
  EXPECT_EQ(device_->DeregMr(mr), 0);
}

TEST_F(LockedMemoryTest, AFailedRegistrationLocksNothing) {
  Profile profile = *FindProfile("ib");
  profile.memlock_limit = page_;
  profile.limits.max_mr = 1;
  Device device("emu1", profile, 1, environment_);
  ProtectionDomain* pd = nullptr;
  ASSERT_EQ(device.AllocPd(&pd), 0);
  MemoryRegion* on_demand = nullptr;
  ASSERT_EQ(device.RegMr(pd, memory_, 1, IBV_ACCESS_ON_DEMAND, &on_demand), 0);
  MemoryRegion* mr = nullptr;
  EXPECT_EQ(device.RegMr(pd, memory_, page_, 0, &mr), ENOMEM);
  EXPECT_EQ(device.DeregMr(on_demand), 0);
  EXPECT_EQ(device.RegMr(pd, memory_, page_, 0, &mr), 0);
  EXPECT_EQ(device.DeregMr(mr), 0);
  EXPECT_EQ(device.DeallocPd(pd), 0);
}

TEST_F(LockedMemoryTest, MemoryWithAHoleLocksNothing) {
  auto* const start =
      static_cast<std::byte*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(start, MAP_FAILED);
  ASSERT_EQ(munmap(start + page_, page_), 0);
  MemoryRegion* mr = nullptr;
  EXPECT_EQ(device_->RegMr(pd_, start, page_ + 1, 0, &mr), EFAULT);
  EXPECT_EQ(mr, nullptr);
  EXPECT_EQ(device_->RegMr(pd_, start, 3 * page_, 0, &mr), ENOMEM);
  ASSERT_EQ(device_->RegMr(pd_, start, page_, 0, &mr), 0);
  EXPECT_EQ(device_->DeregMr(mr), 0);
  ASSERT_EQ(Register(0, 2 * page_, &mr), 0);
  EXPECT_EQ(device_->DeregMr(mr), 0);
  EXPECT_EQ(munmap(start, page_), 0);
}

// Memory of `pages` pages with the given rights, on an InfiniBand device.
class AccessibleMemoryTest : public RegistrationTest {
 protected:
  static constexpr size_t kMany = 17;

  void SetUp() override {
    Start(*FindProfile("ib"));
    if (madvise(nullptr, 0, MADV_POPULATE_WRITE) != 0) {
      GTEST_SKIP() << "Linux before 5.14 does not tell";
    }
  }
  void TearDown() override {
    if (mapped_ != nullptr) {
      EXPECT_EQ(munmap(mapped_, size_), 0);
    }
  }
  void Map(size_t pages, int rights, int file = -1) {
    size_ = pages * page_;
    void* const mapped =
        mmap(nullptr, size_, rights,
             file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    mapped_ = static_cast<std::byte*>(mapped);
  }
  void Protect(size_t page, int rights) {
    ASSERT_EQ(mprotect(mapped_ + page * page_, page_, rights), 0);
  }
  // Registers and deregisters.
  int Try(size_t offset, size_t length, unsigned access) {
    MemoryRegion* mr = nullptr;
    const int error =
        device_->RegMr(pd_, mapped_ + offset, length, access, &mr);
    if (error == 0) {
      EXPECT_EQ(device_->DeregMr(mr), 0);
    }
    return error;
  }

  std::byte* mapped_ = nullptr;
  size_t size_ = 0;
};

TEST_F(AccessibleMemoryTest, WhatCannotBeReadCannotBeRegistered) {
  for (const size_t pages : {size_t{1}, size_t{kMany}}) {
    Map(pages, PROT_NONE);
    EXPECT_EQ(Try(0, size_, 0), EFAULT);
    EXPECT_EQ(Try(0, size_, IBV_ACCESS_LOCAL_WRITE), EFAULT);
    EXPECT_EQ(Try(0, size_, IBV_ACCESS_ON_DEMAND), 0);
    ASSERT_EQ(munmap(mapped_, size_), 0);
  }
  mapped_ = nullptr;
}

TEST_F(AccessibleMemoryTest, WhatCannotBeWrittenHasNoLocalWrite) {
  for (const size_t pages : {size_t{1}, size_t{kMany}}) {
    Map(pages, PROT_READ);
    EXPECT_EQ(Try(0, size_, 0), 0);
    EXPECT_EQ(Try(0, size_, IBV_ACCESS_REMOTE_READ), 0);
    EXPECT_EQ(Try(0, size_, IBV_ACCESS_LOCAL_WRITE), EFAULT);
    ASSERT_EQ(munmap(mapped_, size_), 0);
  }
  mapped_ = nullptr;
}

TEST_F(AccessibleMemoryTest, EveryPageOfASmallRegionCounts) {
  Map(3, PROT_READ | PROT_WRITE);
  Protect(1, PROT_NONE);
  EXPECT_EQ(Try(0, size_, 0), EFAULT);
  EXPECT_EQ(Try(page_ - 1, 2, 0), EFAULT);
  EXPECT_EQ(Try(page_ - 1, 1, 0), 0);
  EXPECT_EQ(Try(2 * page_, 1, 0), 0);
}

TEST_F(AccessibleMemoryTest, BothEndsOfALargeRegionCount) {
  Map(kMany, PROT_READ | PROT_WRITE);
  EXPECT_EQ(Try(0, size_, IBV_ACCESS_LOCAL_WRITE), 0);
  for (const size_t page : {size_t{0}, kMany - 1}) {
    Protect(page, PROT_READ);
    EXPECT_EQ(Try(0, size_, IBV_ACCESS_LOCAL_WRITE), EFAULT) << page;
    EXPECT_EQ(Try(0, size_, 0), 0) << page;
    Protect(page, PROT_READ | PROT_WRITE);
  }
}

TEST_F(AccessibleMemoryTest, WhatIsBeyondTheEndOfItsFileCannotBeRegistered) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(ftruncate(fileno(file), static_cast<off_t>(page_)), 0);
  for (const size_t pages : {size_t{2}, size_t{kMany}}) {
    Map(pages, PROT_READ | PROT_WRITE, fileno(file));
    EXPECT_EQ(Try(0, page_, IBV_ACCESS_LOCAL_WRITE), 0);
    EXPECT_EQ(Try(0, size_, 0), EFAULT);
    EXPECT_EQ(Try(page_, 1, IBV_ACCESS_LOCAL_WRITE), EFAULT);
    ASSERT_EQ(munmap(mapped_, size_), 0);
  }
  mapped_ = nullptr;
  std::fclose(file);
}

TEST_F(AccessibleMemoryTest, BytesStayAsTheyAre) {
  Map(2, PROT_READ | PROT_WRITE);
  mapped_[0] = std::byte{1};
  mapped_[page_] = std::byte{2};
  EXPECT_EQ(Try(0, size_, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(mapped_[0], std::byte{1});
  EXPECT_EQ(mapped_[page_], std::byte{2});
}

using PinningTest = RegistrationTest;

TEST_F(PinningTest, MemoryThatCannotBePinnedNeedsOnDemandPaging) {
  Profile profile = *FindProfile("ib");
  profile.pinning = false;
  Start(profile);
  MemoryRegion* mr = nullptr;
  EXPECT_EQ(Register(0, page_, &mr), EOPNOTSUPP);
  ASSERT_EQ(Register(0, page_, &mr, IBV_ACCESS_ON_DEMAND), 0);
  EXPECT_EQ(device_->DeregMr(mr), 0);
}

TEST_F(PinningTest, WithoutOnDemandPagingItCannotBeRegistered) {
  Profile profile = *FindProfile("roce");
  profile.pinning = false;
  Start(profile);
  MemoryRegion* mr = nullptr;
  EXPECT_EQ(Register(0, page_, &mr), EOPNOTSUPP);
  EXPECT_EQ(Register(0, page_, &mr, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
}

}  // namespace
}  // namespace rpma::emu
