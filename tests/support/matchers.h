// SPDX-License-Identifier: BSD-3-Clause
// The matchers of rpma_testing.h, for the tests of librpma itself.

#ifndef RPMA_TESTS_SUPPORT_MATCHERS_H_
#define RPMA_TESTS_SUPPORT_MATCHERS_H_

#include <rpma_testing.h>

namespace rpma::test {

using rpma_testing::CompletionMatcher;
using rpma_testing::EndedWith;
using rpma_testing::FailedWith;
using rpma_testing::Flushed;
using rpma_testing::IsOk;
using rpma_testing::RcIs;
using rpma_testing::ReadSucceeded;
using rpma_testing::Received;
using rpma_testing::ReceivedWithImm;
using rpma_testing::Succeeded;

// IBV_WC_FLUSH, which the headers of rdma-core have from release 45 on.
inline constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_MATCHERS_H_
