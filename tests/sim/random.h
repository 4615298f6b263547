// SPDX-License-Identifier: BSD-3-Clause
// Pseudo-random numbers that are the same on every machine.

#ifndef RPMA_TESTS_SIM_RANDOM_H_
#define RPMA_TESTS_SIM_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rpma::sim {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014). Each purpose draws from a stream of its own, so that one
// more draw in one place does not shift those of the others.
class Random {
 public:
  Random(uint64_t seed, std::string_view stream);

  uint64_t Next();
  // Uniform in [0, bound). REQUIRES: bound > 0.
  size_t Below(size_t bound);
  // Uniform in [low, high]. REQUIRES: low <= high.
  size_t Between(size_t low, size_t high) {
    return low + Below(high - low + 1);
  }
  bool OneIn(size_t n) { return Below(n) == 0; }
  bool Percent(unsigned chance) { return Below(100) < chance; }
  // An index, with odds in proportion to the weights. REQUIRES: one is not 0.
  size_t Weighted(std::span<const unsigned> weights);
  void Fill(std::span<uint8_t> bytes);

  template <typename T>
  const T& Pick(std::span<const T> from) {
    return from[Below(from.size())];
  }
  template <typename T, size_t kSize>
  const T& Pick(const T (&from)[kSize]) {
    return from[Below(kSize)];
  }

 private:
  uint64_t state_;
};

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_RANDOM_H_
