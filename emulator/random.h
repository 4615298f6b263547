// SPDX-License-Identifier: BSD-3-Clause
// Pseudo-random numbers that are the same on every machine.

#ifndef RPMA_EMULATOR_RANDOM_H_
#define RPMA_EMULATOR_RANDOM_H_

#include <cstddef>
#include <cstdint>

namespace rpma::emu {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014). Whoever draws has a stream of its own, so that a draw in
// one place does not shift those in others.
class Random {
 public:
  explicit Random(uint64_t state) : state_(state) {}
  // The stream `stream` of `seed`.
  Random(uint64_t seed, uint64_t stream)
      : state_(Mix(Mix(seed + kGamma) + stream)) {}

  uint64_t Next() { return Mix(state_ += kGamma); }

  // Uniform in [0, bound). REQUIRES: bound > 0.
  size_t Below(size_t bound) {
    // The numbers below 2^64 mod bound would make some results more likely.
    const uint64_t unfair = -uint64_t{bound} % bound;
    uint64_t drawn = Next();
    while (drawn < unfair) drawn = Next();
    return drawn % bound;
  }

 private:
  static constexpr uint64_t kGamma = 0x9e37'79b9'7f4a'7c15;

  static constexpr uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_RANDOM_H_
