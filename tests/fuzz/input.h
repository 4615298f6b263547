// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a fuzzer, taken piece by piece.

#ifndef RPMA_TESTS_FUZZ_INPUT_H_
#define RPMA_TESTS_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

namespace rpma::fuzz {

// A finding, if it is not so.
inline void Require(bool condition) {
  if (!condition) std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(data, size) {}

  bool is_empty() const { return rest_.empty(); }
  // What the input does not have is 0.
  template <typename T>
  T Take() {
    T value{};
    const std::span<const uint8_t> bytes = TakeBytes(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // Fewer at its end.
  std::span<const uint8_t> TakeBytes(size_t size) {
    size = size < rest_.size() ? size : rest_.size();
    const std::span<const uint8_t> taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace rpma::fuzz

#endif  // RPMA_TESTS_FUZZ_INPUT_H_
