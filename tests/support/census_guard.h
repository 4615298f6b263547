// SPDX-License-Identifier: BSD-3-Clause
// Nothing may be left of a test: counts what lives when the guard begins, and
// fails the test if it is not the same when the guard ends.

#ifndef RPMA_TESTS_SUPPORT_CENSUS_GUARD_H_
#define RPMA_TESTS_SUPPORT_CENSUS_GUARD_H_

#include <librpma_emu.h>

#include <cstdint>
#include <ostream>

namespace rpma::test {

// How many objects live on a fabric, as in rpma_emu_census, and how many
// descriptors are open, in both processes if there are two.
struct Census {
  uint32_t pds = 0;
  uint32_t mrs = 0;
  uint32_t comp_channels = 0;
  uint32_t cqs = 0;
  uint32_t srqs = 0;
  uint32_t qps = 0;
  uint32_t cm_ids = 0;
  uint32_t event_channels = 0;
  uint32_t unacked_events = 0;
  uint32_t descriptors = 0;

  bool operator==(const Census&) const = default;
};

// How many descriptors this process has open.
uint32_t CountDescriptors();

// nullptr: the objects are not counted.
Census TakeCensus(const rpma_emu_fabric* fabric);
// What `all` has more of than `some`.
Census operator-(const Census& all, const Census& some);
void PrintTo(const Census& census, std::ostream* out);

class CensusGuard {
 public:
  explicit CensusGuard(const rpma_emu_fabric* fabric)
      : fabric_(fabric), begin_(TakeCensus(fabric)) {}
  CensusGuard(const CensusGuard&) = delete;
  CensusGuard& operator=(const CensusGuard&) = delete;
  ~CensusGuard();

 private:
  const rpma_emu_fabric* fabric_;
  const Census begin_;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_CENSUS_GUARD_H_
