// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/random.h"

#include <numeric>

namespace rpma::sim {
namespace {

constexpr uint64_t kGamma = 0x9e37'79b9'7f4a'7c15;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
  return z ^ (z >> 31);
}

// FNV-1a: the name of a stream as a number.
uint64_t NumberOf(std::string_view name) {
  uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char c : name) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100'0000'01b3;
  }
  return hash;
}

}  // namespace

Random::Random(uint64_t seed, std::string_view stream)
    : state_(Mix(Mix(seed + kGamma) + NumberOf(stream))) {}

uint64_t Random::Next() { return Mix(state_ += kGamma); }

size_t Random::Below(size_t bound) {
  // The numbers below 2^64 mod bound would make some results more likely.
  const uint64_t unfair = -uint64_t{bound} % bound;
  uint64_t drawn = Next();
  while (drawn < unfair) drawn = Next();
  return drawn % bound;
}

size_t Random::Weighted(std::span<const unsigned> weights) {
  size_t rest = Below(std::accumulate(weights.begin(), weights.end(), 0u));
  size_t index = 0;
  while (rest >= weights[index]) rest -= weights[index++];
  return index;
}

void Random::Fill(std::span<uint8_t> bytes) {
  uint64_t drawn = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % sizeof(drawn) == 0) drawn = Next();
    bytes[i] = static_cast<uint8_t>(drawn);
    drawn >>= 8;
  }
}

}  // namespace rpma::sim
