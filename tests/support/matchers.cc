// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/matchers.h"

#include <arpa/inet.h>

#include <string>

using ::testing::AllOf;
using ::testing::Field;
using ::testing::ResultOf;

namespace {

const char* StatusName(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "SUCCESS";
    case IBV_WC_LOC_LEN_ERR:
      return "LOC_LEN_ERR";
    case IBV_WC_LOC_QP_OP_ERR:
      return "LOC_QP_OP_ERR";
    case IBV_WC_LOC_PROT_ERR:
      return "LOC_PROT_ERR";
    case IBV_WC_WR_FLUSH_ERR:
      return "WR_FLUSH_ERR";
    case IBV_WC_REM_INV_REQ_ERR:
      return "REM_INV_REQ_ERR";
    case IBV_WC_REM_ACCESS_ERR:
      return "REM_ACCESS_ERR";
    case IBV_WC_REM_OP_ERR:
      return "REM_OP_ERR";
    case IBV_WC_RETRY_EXC_ERR:
      return "RETRY_EXC_ERR";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "RNR_RETRY_EXC_ERR";
    default:
      return "another status";
  }
}

}  // namespace

void PrintTo(const ibv_wc& wc, std::ostream* out) {
  *out << "{wr_id " << wc.wr_id << ", " << StatusName(wc.status) << " ("
       << wc.status << "), qp_num " << wc.qp_num;
  if (wc.status == IBV_WC_SUCCESS) {
    *out << ", opcode " << wc.opcode << ", byte_len " << wc.byte_len
         << ", wc_flags " << wc.wc_flags << ", imm_data " << ntohl(wc.imm_data);
  }
  *out << "}";
}

void PrintTo(rpma_conn_event event, std::ostream* out) {
  *out << rpma_utils_conn_event_2str(event) << " (" << static_cast<int>(event)
       << ")";
}

namespace rpma::test {
namespace {

MATCHER_P(RcEq, rc,
          std::string(negation ? "is not \"" : "is \"") + rpma_err_2str(rc) +
              "\"") {
  *result_listener << "\"" << rpma_err_2str(arg) << "\"";
  return arg == rc;
}

// What every completion has.
CompletionMatcher Basics(uint64_t wr_id, ibv_wc_status status,
                         uint32_t qp_num) {
  return AllOf(Field("wr_id", &ibv_wc::wr_id, wr_id),
               Field("status", &ibv_wc::status, status),
               Field("qp_num", &ibv_wc::qp_num, qp_num));
}

// Other bits may be set, too.
CompletionMatcher HasImm(bool expected) {
  return ResultOf(
      "wc_flags & IBV_WC_WITH_IMM",
      [](const ibv_wc& wc) { return (wc.wc_flags & IBV_WC_WITH_IMM) != 0; },
      expected);
}

CompletionMatcher Success(uint64_t wr_id, ibv_wc_opcode opcode,
                          uint32_t qp_num) {
  return AllOf(Basics(wr_id, IBV_WC_SUCCESS, qp_num),
               Field("opcode", &ibv_wc::opcode, opcode));
}

}  // namespace

::testing::Matcher<int> RcIs(int rc) { return RcEq(rc); }

CompletionMatcher Completed(uint64_t wr_id, ibv_wc_opcode opcode,
                            uint32_t qp_num) {
  return Success(wr_id, opcode, qp_num);
}

CompletionMatcher ReadCompleted(uint64_t wr_id, uint32_t byte_len,
                                uint32_t qp_num) {
  return AllOf(Success(wr_id, IBV_WC_RDMA_READ, qp_num),
               Field("byte_len", &ibv_wc::byte_len, byte_len));
}

CompletionMatcher Received(uint64_t wr_id, uint32_t byte_len, uint32_t qp_num) {
  return AllOf(Success(wr_id, IBV_WC_RECV, qp_num),
               Field("byte_len", &ibv_wc::byte_len, byte_len), HasImm(false));
}

CompletionMatcher ReceivedWithImm(uint64_t wr_id, ibv_wc_opcode opcode,
                                  uint32_t byte_len, uint32_t imm,
                                  uint32_t qp_num) {
  return AllOf(Success(wr_id, opcode, qp_num),
               Field("byte_len", &ibv_wc::byte_len, byte_len), HasImm(true),
               Field("imm_data", &ibv_wc::imm_data, htonl(imm)));
}

CompletionMatcher EndedWith(uint64_t wr_id, ibv_wc_status status,
                            uint32_t qp_num) {
  return Basics(wr_id, status, qp_num);
}

CompletionMatcher FailedWith(uint64_t wr_id, ibv_wc_status status,
                             uint32_t qp_num) {
  return Basics(wr_id, status, qp_num);
}

}  // namespace rpma::test
