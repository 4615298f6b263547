// SPDX-License-Identifier: BSD-3-Clause
// What the matchers accept, and that their messages name what was wrong.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rpma_testing.h>

#include <cstring>
#include <string>

namespace rpma_testing {
namespace {

using ::testing::DescribeMatcher;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::PrintToString;
using ::testing::StringMatchResultListener;

constexpr uint32_t kQpNum = 17;

// What a completion is for whom its other fields are garbage.
ibv_wc Completion(uint64_t wr_id, ibv_wc_status status) {
  ibv_wc wc;
  std::memset(&wc, 0xa5, sizeof(wc));
  wc.wr_id = wr_id;
  wc.status = status;
  wc.qp_num = kQpNum;
  return wc;
}

template <typename T, typename M>
std::string Explain(const M& matcher, const T& value) {
  StringMatchResultListener listener;
  EXPECT_FALSE(::testing::SafeMatcherCast<const T&>(matcher).MatchAndExplain(
      value, &listener));
  return listener.str();
}

TEST(RcMatcherTest, ComparesCodes) {
  EXPECT_THAT(0, IsOk());
  EXPECT_THAT(RPMA_E_INVAL, RcIs(RPMA_E_INVAL));
  EXPECT_THAT(RPMA_E_INVAL, Not(RcIs(RPMA_E_PROVIDER)));
  EXPECT_THAT(1, Not(IsOk()));
}

TEST(RcMatcherTest, NamesCodesInMessages) {
  EXPECT_EQ(DescribeMatcher<int>(RcIs(RPMA_E_PROVIDER)), "is RPMA_E_PROVIDER");
  EXPECT_EQ(DescribeMatcher<int>(RcIs(RPMA_E_NOMEM), true),
            "is not RPMA_E_NOMEM");
  EXPECT_EQ(Explain(IsOk(), RPMA_E_NO_EVENT),
            "which is RPMA_E_NO_EVENT, \"" +
                std::string(rpma_err_2str(RPMA_E_NO_EVENT)) + "\"");
}

TEST(RcMatcherTest, EveryCodeHasItsName) {
  EXPECT_EQ(RcName(0), "0");
  EXPECT_EQ(RcName(RPMA_E_UNKNOWN), "RPMA_E_UNKNOWN");
  EXPECT_EQ(RcName(RPMA_E_NOT_SHARED_CHNL), "RPMA_E_NOT_SHARED_CHNL");
  for (int rc = RPMA_E_NOT_SHARED_CHNL; rc <= RPMA_E_UNKNOWN; ++rc) {
    EXPECT_THAT(RcName(rc), HasSubstr("RPMA_E_")) << rc;
  }
  EXPECT_EQ(RcName(-1), "-1");
}

TEST(CompletionMatcherTest, ASuccessHasAnOpcode) {
  ibv_wc wc = Completion(7, IBV_WC_SUCCESS);
  wc.opcode = IBV_WC_SEND;
  EXPECT_THAT(wc, Succeeded(7, IBV_WC_SEND));
  EXPECT_THAT(wc, Succeeded(7, IBV_WC_SEND, kQpNum));
  EXPECT_THAT(wc, EndedWith(7, IBV_WC_SUCCESS));
  EXPECT_THAT(wc, Not(Succeeded(8, IBV_WC_SEND)));
  EXPECT_THAT(wc, Not(Succeeded(7, IBV_WC_RDMA_WRITE)));
  EXPECT_THAT(wc, Not(Succeeded(7, IBV_WC_SEND, kQpNum + 1)));
  EXPECT_THAT(wc, Not(FailedWith(7, IBV_WC_WR_FLUSH_ERR)));
}

TEST(CompletionMatcherTest, AnErrorHasNothingElse) {
  const ibv_wc wc = Completion(7, IBV_WC_WR_FLUSH_ERR);
  EXPECT_THAT(wc, FailedWith(7, IBV_WC_WR_FLUSH_ERR));
  EXPECT_THAT(wc, Flushed(7));
  EXPECT_THAT(wc, Flushed(7, kQpNum));
  EXPECT_THAT(wc, EndedWith(7, IBV_WC_WR_FLUSH_ERR));
  EXPECT_THAT(wc, Not(Flushed(8)));
  EXPECT_THAT(wc, Not(Flushed(7, kQpNum + 1)));
  EXPECT_THAT(wc, Not(FailedWith(7, IBV_WC_RETRY_EXC_ERR)));
}

TEST(CompletionMatcherTest, AReadHasALength) {
  ibv_wc wc = Completion(7, IBV_WC_SUCCESS);
  wc.opcode = IBV_WC_RDMA_READ;
  wc.byte_len = 64;
  EXPECT_THAT(wc, ReadSucceeded(7, 64));
  EXPECT_THAT(wc, Not(ReadSucceeded(7, 65)));
}

TEST(CompletionMatcherTest, AReceiveHasImmediateDataOrNot) {
  ibv_wc wc = Completion(7, IBV_WC_SUCCESS);
  wc.opcode = IBV_WC_RECV;
  wc.byte_len = 64;
  wc.wc_flags = IBV_WC_GRH;
  EXPECT_THAT(wc, Received(7, 64));
  EXPECT_THAT(wc, Not(ReceivedWithImm(7, IBV_WC_RECV, 64, 5)));
  wc.wc_flags = IBV_WC_GRH | IBV_WC_WITH_IMM;
  wc.imm_data = htonl(5);
  EXPECT_THAT(wc, ReceivedWithImm(7, IBV_WC_RECV, 64, 5));
  EXPECT_THAT(wc, Not(ReceivedWithImm(7, IBV_WC_RECV, 64, 6)));
  EXPECT_THAT(wc, Not(Received(7, 64)));
}

TEST(CompletionMatcherTest, NamesTheStatusInMessages) {
  const ibv_wc wc = Completion(7, IBV_WC_RETRY_EXC_ERR);
  EXPECT_THAT(DescribeMatcher<const ibv_wc&>(FailedWith(7, IBV_WC_REM_OP_ERR)),
              HasSubstr("IBV_WC_REM_OP_ERR"));
  EXPECT_THAT(Explain(FailedWith(7, IBV_WC_REM_OP_ERR), wc),
              HasSubstr("IBV_WC_RETRY_EXC_ERR"));
  EXPECT_EQ(PrintToString(wc), "{wr_id 7, IBV_WC_RETRY_EXC_ERR, qp_num 17}");
  EXPECT_EQ(StatusName(static_cast<ibv_wc_status>(31)), "31");
}

TEST(PrintTest, AConnectionEventIsNamed) {
  EXPECT_EQ(
      PrintToString(RPMA_CONN_ESTABLISHED),
      std::string(rpma_utils_conn_event_2str(RPMA_CONN_ESTABLISHED)) + " (0)");
}

}  // namespace
}  // namespace rpma_testing
