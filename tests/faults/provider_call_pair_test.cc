// SPDX-License-Identifier: BSD-3-Clause
// Every two provider calls of making and ending a connection fail.

#include <string>

#include "tests/faults/sweep.h"

namespace rpma::faults {
namespace {

TEST(ProviderCallPairTest, EachTwoFail) {
  Sweep sweep("pairs of provider calls", *FindScenario("connect"),
              World::kShared);
  const std::string first = "fail any nth=";
  for (int k = 1;; ++k) {
    const std::string one = first + std::to_string(k);
    uint64_t fired = 2;
    for (int then = k + 1; fired == 2; ++then) {
      fired =
          sweep.Run({.plan = one + "; " + first + std::to_string(then)}).fired;
    }
    if (fired == 0) break;
  }
}

}  // namespace
}  // namespace rpma::faults
