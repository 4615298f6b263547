// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target over its corpus, and over what a fixed seed makes of it,
// with any compiler: so that every run of the tests has what fuzzing found.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "emulator/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace rpma::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> Corpus() {
  std::vector<Bytes> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Exactly as long as it is, so that ASan sees a read beyond it.
void RunOn(const Bytes& input) {
  const Bytes exact(input.begin(), input.end());
  EXPECT_EQ(LLVMFuzzerTestOneInput(exact.data(), exact.size()), 0);
}

TEST(CorpusTest, EachInputIsHarmless) {
  const std::vector<Bytes> corpus = Corpus();
  ASSERT_FALSE(corpus.empty());
  for (const Bytes& input : corpus) RunOn(input);
}

TEST(CorpusTest, InputsWithSomeOtherBytesAreHarmless) {
  const std::vector<Bytes> corpus = Corpus();
  ASSERT_FALSE(corpus.empty());
  emu::Random random(1);
  for (int run = 0; run < 20'000; ++run) {
    Bytes input = corpus[random.Below(corpus.size())];
    const Bytes& other = corpus[random.Below(corpus.size())];
    input.insert(input.end(), other.begin(), other.end());
    for (size_t change = 0; change < 4 && !input.empty(); ++change) {
      input[random.Below(input.size())] = static_cast<uint8_t>(random.Next());
    }
    RunOn(input);
  }
}

}  // namespace
}  // namespace rpma::fuzz
