// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite: what librpma promises, on any transport.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "tests/conformance/deviations.h"
#include "tests/conformance/environment.h"
#include "tests/conformance/provider.h"

namespace rpma::test {
namespace {

// As in the table of deviations.
std::string_view WhereTestsRun() {
  if (!ScheduleOptions().empty()) return "stepped";
  const std::vector<const Provider*> providers = Providers();
  const bool real = !providers.empty() && !providers.front()->emulated;
  return real ? providers.front()->name : "emulated";
}

}  // namespace
}  // namespace rpma::test

int main(int argc, char** argv) {
  if (!rpma::test::ParseFlags(argc, argv)) return 2;
  if (rpma::test::Providers().empty()) {
    std::fprintf(stderr, "no RDMA device has the address %s\n",
                 rpma::test::TestAddress());
    return 2;
  }
  testing::InitGoogleMock(&argc, argv);
  const std::string_view where = rpma::test::WhereTestsRun();
  if (!rpma::test::LeaveOutDeviations(where)) return 2;
  const int status = RUN_ALL_TESTS();
  rpma::test::PrintSums(where);
  return status;
}
