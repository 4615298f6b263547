// SPDX-License-Identifier: BSD-3-Clause
// Calls a function in the process where its objects live.

#ifndef RPMA_TESTS_SUPPORT_TWO_PROCESSES_ROUTE_H_
#define RPMA_TESTS_SUPPORT_TWO_PROCESSES_ROUTE_H_

#include <gtest/gtest.h>
#include <librpma.h>

#include <cerrno>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/support/side.h"
#include "tests/support/two_processes/arguments.h"
#include "tests/support/two_processes/helper.h"

namespace rpma::test::two_processes {

template <typename T>
inline constexpr bool kNamesObject = false;
template <typename T>
requires kIsObject<std::remove_const_t<T>>
inline constexpr bool kNamesObject<T*> = true;
template <typename T>
inline constexpr bool kIsPlaceOfObject = false;
template <typename T>
requires kIsObject<T>
inline constexpr bool kIsPlaceOfObject<T**> = true;

// The helper's object that an argument names; nullptr: none.
template <typename T>
const void* FarObject(const T& local) {
  if constexpr (kNamesObject<T>) {
    return IsFar(local) ? local : nullptr;
  } else if constexpr (kIsPlaceOfObject<T>) {
    return local != nullptr && IsFar(*local) ? *local : nullptr;
  } else {
    return nullptr;
  }
}

template <typename... Locals>
const void* FirstFarObject(const Locals&... locals) {
  const void* first = nullptr;
  ((first = first != nullptr ? first : FarObject(locals)), ...);
  return first;
}

// What the helper executes for one signature.
template <auto Function, typename... Locals>
struct Executor {
  using Arguments = std::tuple<Argument<Locals>...>;
  static_assert(sizeof(Arguments) <= Frame::kBytes);

  static Arguments& Of(Frame& frame) {
    return *std::launder(reinterpret_cast<Arguments*>(frame.arguments));
  }

  static void Run(Frame& frame) {
    std::apply(
        [&](auto&... arguments) {
          errno = 0;
          frame.result = Function(arguments.Get()...);
          frame.error = errno;
          (arguments.Done(frame.result), ...);
          (SetFd(frame, arguments), ...);
        },
        Of(frame));
  }

  template <typename T>
  static void SetFd(Frame& /*frame*/, const T& /*argument*/) {}
  static void SetFd(Frame& frame, const Argument<Fd>& argument) {
    frame.fd = argument.value;
  }
};

// Calls it in the helper.
template <auto Function, typename... Locals>
int CallInHelper(const char* name, Locals... locals) {
  using Executor = Executor<Function, Locals...>;
  if (!(Argument<Locals>::Fits(locals) && ...)) {
    ADD_FAILURE() << name << "() is given what cannot cross to the helper";
    return RPMA_E_UNKNOWN;
  }
  Call call(name);
  Frame& frame = call.frame();
  auto* const arguments = new (frame.arguments) typename Executor::Arguments;
  frame.run = &Executor::Run;
  std::apply([&](auto&... one) { (one.Put(locals), ...); }, *arguments);
  call.Execute();
  const After after = {frame.result, FirstFarObject(locals...), call.fd()};
  const int error = frame.error;
  std::apply([&](auto&... one) { (one.Take(locals, after), ...); }, *arguments);
  if (error != 0) errno = error;
  return after.result;
}

// Whether the call is the helper's: that of a function without objects where
// its side is.
template <typename... Locals>
bool IsForHelper(const Locals&... locals) {
  if (!IsRunning()) return false;
  if constexpr ((kNamesObject<Locals> || ...)) {
    return FirstFarObject(locals...) != nullptr;
  } else {
    return FirstFarObject(locals...) != nullptr || HasAllObjects() ||
           ServersSide::IsActive();
  }
}

// Calls it where its objects live.
template <auto Function, typename... Locals>
int Route(const char* name, Locals... locals) {
  return IsForHelper(locals...) ? CallInHelper<Function>(name, locals...)
                                : Function(locals...);
}

}  // namespace rpma::test::two_processes

#endif  // RPMA_TESTS_SUPPORT_TWO_PROCESSES_ROUTE_H_
