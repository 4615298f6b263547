// SPDX-License-Identifier: BSD-3-Clause
// How arguments cross between the processes, by their types. An Argument<T>
// lives in the frame of a call, which both processes see:
//
//   Fits(local)        whether it can cross: objects must be the helper's
//   Put(local)         the test's process: before the call
//   Get()              the helper: what the function is called with
//   Done(result)       the helper: after the call
//   Take(local, after) the test's process: after the call

#ifndef RPMA_TESTS_SUPPORT_TWO_PROCESSES_ARGUMENTS_H_
#define RPMA_TESTS_SUPPORT_TWO_PROCESSES_ARGUMENTS_H_

#include <librpma.h>
#include <librpma_emu.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "tests/support/two_processes/handles.h"

namespace rpma::test::two_processes {

// What the test's process knows after a call.
struct After {
  int result;
  const void* object;  // the first that the call was given
  int fd;              // a duplicate of the helper's, or -1
};

template <typename T>
inline constexpr bool kIsObject = false;
template <>
inline constexpr bool kIsObject<rpma_peer> = true;
template <>
inline constexpr bool kIsObject<rpma_ep> = true;
template <>
inline constexpr bool kIsObject<rpma_conn_req> = true;
template <>
inline constexpr bool kIsObject<rpma_conn> = true;
template <>
inline constexpr bool kIsObject<rpma_cq> = true;
template <>
inline constexpr bool kIsObject<rpma_srq> = true;
template <>
inline constexpr bool kIsObject<rpma_mr_local> = true;
template <>
inline constexpr bool kIsObject<ibv_context> = true;
template <>
inline constexpr bool kIsObject<rpma_emu_fabric> = true;

struct ArgumentBase {
  static bool Fits(const void* /*local*/) { return true; }
  void Done(int /*result*/) {}
  template <typename Local>
  void Take(const Local& /*local*/, const After& /*after*/) {}
};

// By value: numbers, and addresses that mean the same in both processes or
// nothing.
template <typename T>
struct Argument : ArgumentBase {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                    std::is_same_v<T, void*> || std::is_same_v<T, const void*>,
                "nothing says how this type crosses");
  static bool Fits(T /*local*/) { return true; }
  void Put(T local) { value = local; }
  T Get() { return value; }

  T value;
};

// An object.
template <typename T>
requires kIsObject<std::remove_const_t<T>>
struct Argument<T*> : ArgumentBase {
  static bool Fits(T* local) { return local == nullptr || IsFar(local); }
  void Put(T* local) {
    value = local == nullptr ? nullptr : static_cast<T*>(RealOf(local));
  }
  T* Get() { return value; }

  T* value;
};

// Where an object is put, or taken from.
template <typename T>
requires kIsObject<T>
struct Argument<T**> : ArgumentBase {
  void Put(T** local) {
    is_null = local == nullptr;
    if (is_null) return;
    value = *local == nullptr ? nullptr
            : IsFar(*local)   ? static_cast<T*>(RealOf(*local))
                              : Unread();
    before = value;
  }
  T** Get() { return is_null ? nullptr : &value; }
  void Take(T** local, const After& after) {
    if (is_null || value == before) return;
    if (IsFar(*local)) Forget(*local);
    *local = value == nullptr ? nullptr : static_cast<T*>(Handle(after.object));
  }

  // Queues are their connection's; devices are there; all else is made.
  void* Handle(const void* object) {
    if constexpr (std::is_same_v<T, rpma_cq>) {
      return HandleOf(value, &kTypeTag<T>, object);
    } else if constexpr (std::is_same_v<T, ibv_context>) {
      return HandleOf(value, &kTypeTag<T>, nullptr);
    } else {
      return NewHandle(value);
    }
  }

  // No function looks at what it is only to overwrite.
  static T* Unread() { return reinterpret_cast<T*>(uintptr_t{1}); }

  bool is_null;
  T* value;
  T* before;
};

template <typename T>
inline constexpr bool kIsPlain =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, void*>;
template <>
inline constexpr bool kIsPlain<rpma_emu_census> = true;
template <>
inline constexpr bool kIsPlain<ibv_async_event> = true;
template <typename T, size_t kSize>
inline constexpr bool kIsPlain<std::array<T, kSize>> = true;

// Where a plain value is put; unchanged if the function leaves it so.
template <typename T>
requires kIsPlain<T>
struct Argument<T*> : ArgumentBase {
  void Put(T* local) {
    is_null = local == nullptr;
    if (!is_null) std::memcpy(bytes, local, sizeof(T));
  }
  T* Get() { return is_null ? nullptr : reinterpret_cast<T*>(bytes); }
  void Take(T* local, const After& /*after*/) {
    if (!is_null) std::memcpy(local, bytes, sizeof(T));
  }

  bool is_null;
  alignas(T) unsigned char bytes[sizeof(T)];
};

template <>
struct Argument<const rpma_conn_private_data*> : ArgumentBase {
  void Put(const rpma_conn_private_data* local);
  const rpma_conn_private_data* Get();

  bool is_null;
  bool has_bytes;
  uint8_t bytes[UINT8_MAX];
  rpma_conn_private_data data;
};

template <>
struct Argument<rpma_conn_private_data*> : ArgumentBase {
  void Put(rpma_conn_private_data* local);
  rpma_conn_private_data* Get() { return is_null ? nullptr : &data; }
  void Done(int result);
  void Take(rpma_conn_private_data* local, const After& after);

  bool is_null;
  rpma_conn_private_data data;
  uint8_t bytes[UINT8_MAX];
};

template <>
struct Argument<const char*> : ArgumentBase {
  static bool Fits(const char* local);
  void Put(const char* local);
  const char* Get() { return is_null ? nullptr : text; }

  bool is_null;
  char text[4096];
};

// Configurations hold plain values, of which the helper makes its own.
template <>
struct Argument<const rpma_conn_cfg*> : ArgumentBase {
  static bool Fits(const rpma_conn_cfg* local);
  void Put(const rpma_conn_cfg* local);
  const rpma_conn_cfg* Get();
  void Done(int result);

  bool is_null;
  int timeout_ms;
  uint32_t cq_size, rcq_size, sq_size, rq_size;
  bool shared;
  rpma_srq* srq;
  rpma_conn_cfg* made;
};

template <>
struct Argument<rpma_srq_cfg*> : ArgumentBase {
  void Put(const rpma_srq_cfg* local);
  rpma_srq_cfg* Get();
  void Done(int result);

  bool is_null;
  uint32_t rq_size, rcq_size;
  rpma_srq_cfg* made;
};

template <>
struct Argument<const rpma_peer_cfg*> : ArgumentBase {
  void Put(const rpma_peer_cfg* local);
  const rpma_peer_cfg* Get();
  void Done(int result);

  bool is_null;
  uint8_t descriptor;
  rpma_peer_cfg* made;
};

template <>
struct Argument<const rpma_mr_remote*> : ArgumentBase {
  void Put(const rpma_mr_remote* local);
  rpma_mr_remote* Get();
  void Done(int result);

  bool is_null;
  std::array<uint8_t, 21> descriptor;
  rpma_mr_remote* made;
};

template <>
struct Argument<rpma_mr_remote*> : Argument<const rpma_mr_remote*> {};

// The region was made of the descriptor; it is gone.
void Remember(const rpma_mr_remote* region, const void* descriptor);
void ForgetRemote(const rpma_mr_remote* region);

// Where a descriptor of the helper's process is put.
struct Fd {
  int* fd;
};
template <>
struct Argument<Fd> : ArgumentBase {
  static bool Fits(Fd /*local*/) { return true; }
  void Put(Fd local) {
    is_null = local.fd == nullptr;
    value = -1;
  }
  int* Get() { return is_null ? nullptr : &value; }
  void Take(Fd local, const After& after) {
    if (after.fd == -1) return;
    *local.fd = KeepDescriptor(value, after.fd, after.object);
  }

  bool is_null;
  int value;
};

// A pointer to an array of bytes.
template <size_t kSize>
struct Bytes {
  void* bytes;
};
template <size_t kSize>
struct ConstBytes {
  const void* bytes;
};
template <size_t kSize>
struct Argument<Bytes<kSize>> : ArgumentBase {
  static bool Fits(Bytes<kSize> /*local*/) { return true; }
  void Put(Bytes<kSize> local) {
    is_null = local.bytes == nullptr;
    if (!is_null) std::memcpy(bytes, local.bytes, kSize);
  }
  void* Get() { return is_null ? nullptr : bytes; }
  void Take(Bytes<kSize> local, const After& /*after*/) {
    if (!is_null) std::memcpy(local.bytes, bytes, kSize);
  }

  bool is_null;
  unsigned char bytes[kSize];
};
template <size_t kSize>
struct Argument<ConstBytes<kSize>> : ArgumentBase {
  static bool Fits(ConstBytes<kSize> /*local*/) { return true; }
  void Put(ConstBytes<kSize> local) {
    is_null = local.bytes == nullptr;
    if (!is_null) std::memcpy(bytes, local.bytes, kSize);
  }
  const char* Get() { return is_null ? nullptr : bytes; }

  bool is_null;
  char bytes[kSize];
};

}  // namespace rpma::test::two_processes

#endif  // RPMA_TESTS_SUPPORT_TWO_PROCESSES_ARGUMENTS_H_
