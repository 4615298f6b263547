// SPDX-License-Identifier: BSD-3-Clause
// Registered memory and the address space of the process: children, and many
// registrations.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/conformance/fixture.h"

namespace rpma::test {
namespace {

using ::testing::Each;

class ForkTest : public ConformanceTest {};

INSTANTIATE_TEST_SUITE_P(, ForkTest, ::testing::ValuesIn(Providers()),
                         ProviderName);

// Allocates and uses 1 MiB, as a child does before it executes a program.
[[noreturn]] void UseTheHeapAndExit() {
  constexpr size_t kSize = 1 << 20;
  void* const memory = std::malloc(kSize);
  if (memory == nullptr) _exit(1);
  std::memset(memory, 1, kSize);
  std::free(memory);
  _exit(0);
}

TEST_P(ForkTest, ChildUsesItsHeapAndTheConnectionGoesOn) {
  const Pair pair = ConnectedPair();
  const End& client = pair.client;
  for (const uint8_t value : {uint8_t{1}, uint8_t{2}}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) UseTheHeapAndExit();
    client.region->Fill(value);
    ASSERT_THAT(client.Write(1, 0, 0, 4096, RPMA_F_COMPLETION_ON_ERROR),
                IsOk());
    ASSERT_THAT(client.Flush(2, 0, 4096), IsOk());
    EXPECT_EQ(Poll(client.cq).status, IBV_WC_SUCCESS);
    EXPECT_THAT(pair.server.region->bytes(), Each(value));
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  Disconnect(pair);
}

ptrdiff_t CountMappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

TEST_P(ForkTest, RegistrationsDoNotSplitTheAddressSpace) {
  constexpr int kRounds = 10'000;
  std::vector<char> bytes(8 * 4096);
  const ptrdiff_t before = CountMappings();
  for (int i = 0; i < kRounds; ++i) {
    const size_t offset = static_cast<size_t>(i % 7) * 4096;
    LocalMr mr;
    ASSERT_THAT(rpma_mr_reg(client_peer(), bytes.data() + offset, 64,
                            kAllUsages, mr.address()),
                IsOk());
  }
  EXPECT_LT(CountMappings(), before + 100);
}

}  // namespace
}  // namespace rpma::test
