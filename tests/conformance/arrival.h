// SPDX-License-Identifier: BSD-3-Clause
// When what one side has written is in the memory of the other.

#ifndef RPMA_TESTS_CONFORMANCE_ARRIVAL_H_
#define RPMA_TESTS_CONFORMANCE_ARRIVAL_H_

#include "tests/conformance/fixture.h"

namespace rpma::test {

// Waits until all that `end` has written is there. A WRITE that has completed
// need not be, where it completes once it is sent; but a READ behind it finds
// it there. REQUIRES: the completions of `end` have been taken.
inline void AwaitArrival(const Provider& provider, const End& end) {
  if (!provider.completes_when_sent) return;
  constexpr uint64_t kRead = UINT64_MAX - 1;
  ASSERT_THAT(end.Read(kRead, 0, 0, 0), IsOk());
  ASSERT_THAT(Poll(end.cq), ReadSucceeded(kRead, 0, end.qp_num));
}

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_ARRIVAL_H_
