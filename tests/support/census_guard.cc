// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/census_guard.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "tests/support/matchers.h"

namespace rpma::test {
namespace {

rpma_emu_census Count(const rpma_emu_fabric* fabric) {
  rpma_emu_census census = {};
  EXPECT_THAT(rpma_emu_get_census(fabric, &census), IsOk());
  return census;
}

}  // namespace

size_t CountDescriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

CensusGuard::CensusGuard(const rpma_emu_fabric* fabric)
    : fabric_(fabric),
      objects_(Count(fabric)),
      descriptors_(CountDescriptors()) {}

void CensusGuard::ExpectUnchanged() const {
  const rpma_emu_census now = Count(fabric_);
  EXPECT_EQ(now.pds, objects_.pds);
  EXPECT_EQ(now.mrs, objects_.mrs);
  EXPECT_EQ(now.comp_channels, objects_.comp_channels);
  EXPECT_EQ(now.cqs, objects_.cqs);
  EXPECT_EQ(now.srqs, objects_.srqs);
  EXPECT_EQ(now.qps, objects_.qps);
  EXPECT_EQ(now.cm_ids, objects_.cm_ids);
  EXPECT_EQ(now.event_channels, objects_.event_channels);
  EXPECT_EQ(now.unacked_events, objects_.unacked_events);
  EXPECT_EQ(CountDescriptors(), descriptors_);
}

}  // namespace rpma::test
