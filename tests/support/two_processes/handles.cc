// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/two_processes/handles.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace rpma::test::two_processes {
namespace {

constexpr size_t kMostObjects = 16384;
constexpr size_t kMostDescriptors = 4096;
constexpr size_t kDistance = 64;  // between handles, in bytes

struct Object {
  void* real = nullptr;         // nullptr: free
  const void* type = nullptr;   // of one that HandleOf() finds
  const void* owner = nullptr;  // a handle
  std::array<uint8_t, 256> private_data = {};
};

struct Descriptor {
  int far_fd = -1;  // -1: free
  int fd = -1;
  const void* owner = nullptr;
};

std::mutex mutex;
Object objects[kMostObjects];
size_t objects_used = 0;  // none beyond is in use
Descriptor descriptors[kMostDescriptors];

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

char* Base() {
  static char* const base = [] {
    void* const memory =
        mmap(nullptr, kMostObjects * kDistance, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) Fail("no address space for handles");
    return static_cast<char*>(memory);
  }();
  return base;
}

Object& ObjectOf(const void* handle) {
  const auto distance = static_cast<const char*>(handle) - Base();
  return objects[static_cast<size_t>(distance) / kDistance];
}

void* HandleAt(size_t number) { return Base() + number * kDistance; }

void* Add(const Object& object) {
  size_t free = 0;
  while (free < objects_used && objects[free].real != nullptr) ++free;
  if (free == kMostObjects) Fail("too many objects in the helper");
  objects_used = std::max(objects_used, free + 1);
  objects[free] = object;
  return HandleAt(free);
}

void CloseDescriptorsOf(const void* owner) {
  for (Descriptor& descriptor : descriptors) {
    if (descriptor.far_fd == -1 || descriptor.owner != owner) continue;
    close(descriptor.fd);
    descriptor = {};
  }
}

void ForgetOne(Object& object, const void* handle) {
  CloseDescriptorsOf(handle);
  object = {};
}

}  // namespace

bool IsFar(const void* handle) {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  const auto base = reinterpret_cast<uintptr_t>(Base());
  return address >= base && address < base + kMostObjects * kDistance;
}

void* RealOf(const void* handle) {
  const std::lock_guard lock(mutex);
  return ObjectOf(handle).real;
}

void* NewHandle(void* real) {
  const std::lock_guard lock(mutex);
  return Add({.real = real});
}

void* HandleOf(void* real, const void* type, const void* owner) {
  const std::lock_guard lock(mutex);
  for (size_t i = 0; i < objects_used; ++i) {
    const Object& object = objects[i];
    if (object.real == real && object.type == type && object.owner == owner) {
      return HandleAt(i);
    }
  }
  return Add({.real = real, .type = type, .owner = owner});
}

void Forget(const void* handle) {
  const std::lock_guard lock(mutex);
  for (size_t i = 0; i < objects_used; ++i) {
    if (objects[i].real != nullptr && objects[i].owner == handle) {
      ForgetOne(objects[i], HandleAt(i));
    }
  }
  ForgetOne(ObjectOf(handle), handle);
}

std::array<uint8_t, 256>& PrivateDataOf(const void* handle) {
  return ObjectOf(handle).private_data;
}

uint32_t CountKeptDescriptors() {
  const std::lock_guard lock(mutex);
  return static_cast<uint32_t>(std::ranges::count_if(
      descriptors,
      [](const Descriptor& descriptor) { return descriptor.far_fd != -1; }));
}

int KeepDescriptor(int far_fd, int duplicate, const void* handle) {
  const std::lock_guard lock(mutex);
  const void* const its_owner = ObjectOf(handle).owner;
  const void* const owner = its_owner != nullptr ? its_owner : handle;
  Descriptor* free = nullptr;
  for (Descriptor& descriptor : descriptors) {
    if (descriptor.far_fd == far_fd && descriptor.owner == owner) {
      close(duplicate);
      return descriptor.fd;
    }
    if (descriptor.far_fd == -1 && free == nullptr) free = &descriptor;
  }
  if (free == nullptr) Fail("too many descriptors of the helper");
  *free = {far_fd, duplicate, owner};
  return duplicate;
}

}  // namespace rpma::test::two_processes
