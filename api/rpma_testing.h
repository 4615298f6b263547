// SPDX-License-Identifier: BSD-3-Clause
//
// Testing programs on librpma with GoogleTest: matchers.

#ifndef RPMA_TESTING_H_
#define RPMA_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librpma.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace rpma_testing {

// --- Matchers ----------------------------------------------------------------

// "RPMA_E_INVAL", ...; "0"; the number if it is no result of librpma.
std::string RcName(int rc);

// What a function of librpma returned, by its name in messages.
::testing::Matcher<int> RcIs(int rc);
inline ::testing::Matcher<int> IsOk() { return RcIs(0); }

// "IBV_WC_RETRY_EXC_ERR", ...
std::string StatusName(ibv_wc_status status);

using CompletionMatcher = ::testing::Matcher<const ibv_wc&>;

// Completions. Only fields that are valid then are looked at (librpma.h, 5),
// and qp_num only if one is given.

// A request other than a receive.
CompletionMatcher Succeeded(uint64_t wr_id, ibv_wc_opcode opcode,
                            std::optional<uint32_t> qp_num = {});
// A READ that brought `byte_len` bytes.
CompletionMatcher ReadSucceeded(uint64_t wr_id, uint32_t byte_len,
                                std::optional<uint32_t> qp_num = {});
// A receive that took a message of `byte_len` bytes without immediate data.
CompletionMatcher Received(uint64_t wr_id, uint32_t byte_len,
                           std::optional<uint32_t> qp_num = {});
// A receive with the immediate data `imm`, in host order; `opcode` is
// IBV_WC_RECV or IBV_WC_RECV_RDMA_WITH_IMM.
CompletionMatcher ReceivedWithImm(uint64_t wr_id, ibv_wc_opcode opcode,
                                  uint32_t byte_len, uint32_t imm,
                                  std::optional<uint32_t> qp_num = {});
// A request or a receive that ended with this status, well or not.
CompletionMatcher EndedWith(uint64_t wr_id, ibv_wc_status status,
                            std::optional<uint32_t> qp_num = {});
// One that ended with an error.
CompletionMatcher FailedWith(uint64_t wr_id, ibv_wc_status status,
                             std::optional<uint32_t> qp_num = {});
inline CompletionMatcher Flushed(uint64_t wr_id,
                                 std::optional<uint32_t> qp_num = {}) {
  return FailedWith(wr_id, IBV_WC_WR_FLUSH_ERR, qp_num);
}

}  // namespace rpma_testing

// How values print in messages; in the namespace of their types, where
// GoogleTest looks.
void PrintTo(const ibv_wc& wc, std::ostream* out);
void PrintTo(rpma_conn_event event, std::ostream* out);

#endif  // RPMA_TESTING_H_
