// SPDX-License-Identifier: BSD-3-Clause
// Nothing may be left of a test: counts what lives when the guard begins, and
// fails the test if it is not the same when the guard ends.

#ifndef RPMA_TESTS_SUPPORT_CENSUS_GUARD_H_
#define RPMA_TESTS_SUPPORT_CENSUS_GUARD_H_

#include <librpma_emu.h>

#include <cstddef>

namespace rpma::test {

// How many descriptors this process has open.
size_t CountDescriptors();

class CensusGuard {
 public:
  explicit CensusGuard(const rpma_emu_fabric* fabric);
  CensusGuard(const CensusGuard&) = delete;
  CensusGuard& operator=(const CensusGuard&) = delete;
  ~CensusGuard() { ExpectUnchanged(); }

  void ExpectUnchanged() const;

 private:
  const rpma_emu_fabric* fabric_;
  rpma_emu_census objects_ = {};
  size_t descriptors_ = 0;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_CENSUS_GUARD_H_
