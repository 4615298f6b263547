// SPDX-License-Identifier: BSD-3-Clause
// A call of a function of librpma, whose arguments can be spoilt by name.

#ifndef RPMA_TESTS_ERRORS_CALL_H_
#define RPMA_TESTS_ERRORS_CALL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/errors/table.h"

namespace rpma::test {

// The arguments of a call, by their number.
class Arguments {
 public:
  virtual ~Arguments() = default;
  virtual int Invoke() = 0;
  virtual void Restore() = 0;
  // REQUIRES of the following: the parameter is a pointer; else a number.
  virtual void SetAddress(size_t index, const void* address) = 0;
  virtual std::span<std::byte> Target(size_t index) = 0;
  virtual void SetNumber(size_t index, int64_t number) = 0;
};

// What `Argument`, given for a parameter, leads to, in bytes; 0 for numbers and
// functions.
template <typename Argument>
constexpr size_t TargetSize() {
  using Target = std::remove_pointer_t<std::decay_t<Argument>>;
  if constexpr (!std::is_pointer_v<std::decay_t<Argument>> ||
                std::is_function_v<Target>) {
    return 0;
  } else if constexpr (requires { sizeof(Target); } &&
                       !std::is_void_v<Target>) {
    return sizeof(Target);
  } else {
    return 0;
  }
}

template <typename... Params>
class TypedArguments final : public Arguments {
 public:
  using Function = int (*)(Params...);

  TypedArguments(Function function, std::tuple<Params...> right,
                 std::vector<size_t> target_sizes)
      : function_(function),
        right_(right),
        now_(right),
        target_sizes_(std::move(target_sizes)) {}

  int Invoke() override { return Apply(std::index_sequence_for<Params...>()); }
  void Restore() override { now_ = right_; }

  void SetAddress(size_t index, const void* address) override {
    At(index, [&](auto& argument) {
      using Param = std::remove_reference_t<decltype(argument)>;
      if constexpr (std::is_pointer_v<Param> &&
                    !std::is_function_v<std::remove_pointer_t<Param>>) {
        argument = static_cast<Param>(const_cast<void*>(address));
      }
    });
  }

  std::span<std::byte> Target(size_t index) override {
    void* address = nullptr;
    At(index, [&](auto& argument) {
      using Param = std::remove_reference_t<decltype(argument)>;
      if constexpr (std::is_pointer_v<Param> &&
                    !std::is_function_v<std::remove_pointer_t<Param>>) {
        address = const_cast<void*>(static_cast<const void*>(argument));
      }
    });
    if (address == nullptr) return {};
    return {static_cast<std::byte*>(address), target_sizes_[index]};
  }

  // A number outside of an enumeration may be passed as in C.
  void SetNumber(size_t index, int64_t number) override {
    At(index, [&](auto& argument) {
      using Param = std::remove_reference_t<decltype(argument)>;
      if constexpr (std::is_enum_v<Param>) {
        const auto value = static_cast<std::underlying_type_t<Param>>(number);
        std::memcpy(&argument, &value, sizeof(value));
      } else if constexpr (std::is_integral_v<Param>) {
        argument = static_cast<Param>(number);
      }
    });
  }

 private:
  template <typename Visitor>
  void At(size_t index, Visitor visit) {
    size_t i = 0;
    std::apply(
        [&](auto&... arguments) {
          ((i++ == index ? visit(arguments) : void()), ...);
        },
        now_);
  }

  template <size_t... I>
  __attribute__((no_sanitize("enum"))) int Apply(std::index_sequence<I...>) {
    return function_(std::get<I>(now_)...);
  }

  const Function function_;
  const std::tuple<Params...> right_;
  std::tuple<Params...> now_;
  const std::vector<size_t> target_sizes_;
};

class Call {
 public:
  template <typename... Params, typename... Args>
  Call(const char* name, int (*function)(Params...), Args&&... args)
      : prototype_(&Table::Get().prototypes.at(name)),
        arguments_(std::make_unique<TypedArguments<Params...>>(
            function, std::tuple<Params...>(args...),
            std::vector<size_t>{TargetSize<Args>()...})) {}

  int Invoke() { return arguments_->Invoke(); }

  // Makes one argument another one than the right one. The parameter must exist
  // and take such an argument.
  void SetNull(const std::string& name) { SetAddress(name, nullptr); }
  void SetAddress(const std::string& name, const void* address);
  void SetNumber(const std::string& name, int64_t number);
  // Sets NULL or 0, whichever it takes.
  void SetNothing(const std::string& name);
  // Makes all arguments right again.
  void Restore() { arguments_->Restore(); }

  // The bytes that a pointer argument leads to; none if it is NULL.
  std::span<std::byte> Target(const std::string& name) {
    return arguments_->Target(IndexOf(name));
  }

  // The handle that a pointer argument leads to.
  template <typename Handle>
  Handle* HandleAt(const std::string& name) {
    Handle* handle = nullptr;
    std::memcpy(&handle, Target(name).data(), sizeof(handle));
    return handle;
  }

  const Prototype& prototype() const { return *prototype_; }

 private:
  size_t IndexOf(const std::string& name) const;

  const Prototype* prototype_;
  std::unique_ptr<Arguments> arguments_;
};

// A call with the right arguments.
#define RPMA_CALL(function, ...) \
  ::rpma::test::Call(#function, &function, __VA_ARGS__)

}  // namespace rpma::test

#endif  // RPMA_TESTS_ERRORS_CALL_H_
