// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite: what librpma promises, on any transport.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/deviations.h"
#include "tests/conformance/environment.h"

int main(int argc, char** argv) {
  if (!rpma::test::ParseFlags(argc, argv)) return 2;
  testing::InitGoogleMock(&argc, argv);
  const bool stepped = !rpma::test::ScheduleOptions().empty();
  if (stepped && !rpma::test::LeaveOutDeviations()) return 2;
  return RUN_ALL_TESTS();
}
