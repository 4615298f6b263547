// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/census_guard.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "tests/support/matchers.h"
#include "tests/support/side.h"

namespace rpma::test {
namespace {

constexpr struct {
  const char* name;
  uint32_t Census::*number;
} kNumbers[] = {
    {"PDs", &Census::pds},
    {"MRs", &Census::mrs},
    {"completion channels", &Census::comp_channels},
    {"CQs", &Census::cqs},
    {"SRQs", &Census::srqs},
    {"QPs", &Census::qps},
    {"CM ids", &Census::cm_ids},
    {"event channels", &Census::event_channels},
    {"unacknowledged events", &Census::unacked_events},
    {"descriptors", &Census::descriptors},
};

}  // namespace

uint32_t CountDescriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<uint32_t>(std::distance(begin(entries), end(entries)));
}

Census TakeCensus(const rpma_emu_fabric* fabric) {
  rpma_emu_census now = {};
  if (fabric != nullptr) {
    EXPECT_THAT(rpma_emu_get_census(fabric, &now), IsOk());
  }
  return {
      .pds = now.pds,
      .mrs = now.mrs,
      .comp_channels = now.comp_channels,
      .cqs = now.cqs,
      .srqs = now.srqs,
      .qps = now.qps,
      .cm_ids = now.cm_ids,
      .event_channels = now.event_channels,
      .unacked_events = now.unacked_events,
      .descriptors =
          CountDescriptors() +
          (other_process != nullptr ? other_process->count_descriptors() : 0)};
}

Census operator-(const Census& all, const Census& some) {
  Census more;
  for (const auto& [name, number] : kNumbers) {
    more.*number = all.*number - some.*number;
  }
  return more;
}

void PrintTo(const Census& census, std::ostream* out) {
  const char* separator = "";
  for (const auto& [name, number] : kNumbers) {
    *out << separator << census.*number << " " << name;
    separator = ", ";
  }
}

CensusGuard::~CensusGuard() { EXPECT_EQ(TakeCensus(fabric_), begin_); }

}  // namespace rpma::test
