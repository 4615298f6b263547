// SPDX-License-Identifier: BSD-3-Clause
// GoogleMock matchers for what librpma returns, and how its values print.

#ifndef RPMA_TESTS_SUPPORT_MATCHERS_H_
#define RPMA_TESTS_SUPPORT_MATCHERS_H_

#include <gmock/gmock.h>
#include <librpma.h>

#include <cstdint>
#include <ostream>

// In the namespace of the types, where GoogleTest looks for them.
void PrintTo(const ibv_wc& wc, std::ostream* out);
void PrintTo(rpma_conn_event event, std::ostream* out);

namespace rpma::test {

// The result of a function of librpma, with its name in messages.
::testing::Matcher<int> RcIs(int rc);
inline ::testing::Matcher<int> IsOk() { return RcIs(0); }

// IBV_WC_FLUSH, which the headers of rdma-core have from release 45 on.
inline constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);

using CompletionMatcher = ::testing::Matcher<const ibv_wc&>;

// A request other than a receive that succeeded on the QP `qp_num`.
CompletionMatcher Completed(uint64_t wr_id, ibv_wc_opcode opcode,
                            uint32_t qp_num);
// A READ that brought `byte_len` bytes.
CompletionMatcher ReadCompleted(uint64_t wr_id, uint32_t byte_len,
                                uint32_t qp_num);
// A receive that took a message of `byte_len` bytes without immediate data.
CompletionMatcher Received(uint64_t wr_id, uint32_t byte_len, uint32_t qp_num);
// A receive with the immediate data `imm`, in host order; `opcode` is
// IBV_WC_RECV or IBV_WC_RECV_RDMA_WITH_IMM.
CompletionMatcher ReceivedWithImm(uint64_t wr_id, ibv_wc_opcode opcode,
                                  uint32_t byte_len, uint32_t imm,
                                  uint32_t qp_num);
// A request that ended, well or not; its other fields are open.
CompletionMatcher EndedWith(uint64_t wr_id, ibv_wc_status status,
                            uint32_t qp_num);
// A request that ended with an error; no other field is valid then.
CompletionMatcher FailedWith(uint64_t wr_id, ibv_wc_status status,
                             uint32_t qp_num);
inline CompletionMatcher Flushed(uint64_t wr_id, uint32_t qp_num) {
  return FailedWith(wr_id, IBV_WC_WR_FLUSH_ERR, qp_num);
}

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_MATCHERS_H_
