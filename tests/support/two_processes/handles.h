// SPDX-License-Identifier: BSD-3-Clause
// What the test's process holds for the objects that live in the helper: the
// handles, which are addresses where nothing can be read, so that a call which
// takes them for objects of its own process crashes.

#ifndef RPMA_TESTS_SUPPORT_TWO_PROCESSES_HANDLES_H_
#define RPMA_TESTS_SUPPORT_TWO_PROCESSES_HANDLES_H_

#include <array>
#include <cstdint>

namespace rpma::test::two_processes {

bool IsFar(const void* handle);

// The helper's address of the object. REQUIRES: IsFar(handle)
void* RealOf(const void* handle);

// Tells objects of different types at one address from each other.
template <typename T>
inline constexpr char kTypeTag = 0;

// A handle for an object that was made: another may have been at its address,
// and not be forgotten yet.
void* NewHandle(void* real);

// The handle of an object that was there, always the same. It lives as long as
// its owner; nullptr: for ever.
void* HandleOf(void* real, const void* type, const void* owner);

// The object is gone, and so are those that it owns.
void Forget(const void* handle);

// Room for the private data of an object, as long as it lives.
std::array<uint8_t, 256>& PrivateDataOf(const void* handle);

// This process's descriptor for the `far_fd` that an object has in the helper,
// open as long as the object lives or its owner, if it has one: what is there
// already, else `duplicate`. Takes `duplicate`.
int KeepDescriptor(int far_fd, int duplicate, const void* handle);

// How many of them are open.
uint32_t CountKeptDescriptors();

}  // namespace rpma::test::two_processes

#endif  // RPMA_TESTS_SUPPORT_TWO_PROCESSES_HANDLES_H_
