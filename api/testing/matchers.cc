// SPDX-License-Identifier: BSD-3-Clause
// The matchers, and how values of librpma print.

#include <arpa/inet.h>

#include <iterator>
#include <ostream>
#include <string>

#include "api/rpma_testing.h"

using ::testing::AllOf;
using ::testing::Field;
using ::testing::ResultOf;

void PrintTo(const ibv_wc& wc, std::ostream* out) {
  *out << "{wr_id " << wc.wr_id << ", " << rpma_testing::StatusName(wc.status)
       << ", qp_num " << wc.qp_num;
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

namespace rpma_testing {
namespace {

struct Name {
  int value;
  const char* name;
};

#define RPMA_TESTING_NAME(value) \
  { (value), #value }

constexpr Name kRcNames[] = {
    {0, "0"},
    RPMA_TESTING_NAME(RPMA_E_UNKNOWN),
    RPMA_TESTING_NAME(RPMA_E_NOSUPP),
    RPMA_TESTING_NAME(RPMA_E_PROVIDER),
    RPMA_TESTING_NAME(RPMA_E_NOMEM),
    RPMA_TESTING_NAME(RPMA_E_INVAL),
    RPMA_TESTING_NAME(RPMA_E_NO_COMPLETION),
    RPMA_TESTING_NAME(RPMA_E_NO_EVENT),
    RPMA_TESTING_NAME(RPMA_E_AGAIN),
    RPMA_TESTING_NAME(RPMA_E_SHARED_CHANNEL),
    RPMA_TESTING_NAME(RPMA_E_NOT_SHARED_CHNL),
};

constexpr Name kStatusNames[] = {
    RPMA_TESTING_NAME(IBV_WC_SUCCESS),
    RPMA_TESTING_NAME(IBV_WC_LOC_LEN_ERR),
    RPMA_TESTING_NAME(IBV_WC_LOC_QP_OP_ERR),
    RPMA_TESTING_NAME(IBV_WC_LOC_EEC_OP_ERR),
    RPMA_TESTING_NAME(IBV_WC_LOC_PROT_ERR),
    RPMA_TESTING_NAME(IBV_WC_WR_FLUSH_ERR),
    RPMA_TESTING_NAME(IBV_WC_MW_BIND_ERR),
    RPMA_TESTING_NAME(IBV_WC_BAD_RESP_ERR),
    RPMA_TESTING_NAME(IBV_WC_LOC_ACCESS_ERR),
    RPMA_TESTING_NAME(IBV_WC_REM_INV_REQ_ERR),
    RPMA_TESTING_NAME(IBV_WC_REM_ACCESS_ERR),
    RPMA_TESTING_NAME(IBV_WC_REM_OP_ERR),
    RPMA_TESTING_NAME(IBV_WC_RETRY_EXC_ERR),
    RPMA_TESTING_NAME(IBV_WC_RNR_RETRY_EXC_ERR),
    RPMA_TESTING_NAME(IBV_WC_LOC_RDD_VIOL_ERR),
    RPMA_TESTING_NAME(IBV_WC_REM_INV_RD_REQ_ERR),
    RPMA_TESTING_NAME(IBV_WC_REM_ABORT_ERR),
    RPMA_TESTING_NAME(IBV_WC_INV_EECN_ERR),
    RPMA_TESTING_NAME(IBV_WC_INV_EEC_STATE_ERR),
    RPMA_TESTING_NAME(IBV_WC_FATAL_ERR),
    RPMA_TESTING_NAME(IBV_WC_RESP_TIMEOUT_ERR),
    RPMA_TESTING_NAME(IBV_WC_GENERAL_ERR),
    RPMA_TESTING_NAME(IBV_WC_TM_ERR),
    RPMA_TESTING_NAME(IBV_WC_TM_RNDV_INCOMPLETE),
};

#undef RPMA_TESTING_NAME

template <size_t size>
std::string NameOf(int value, const Name (&names)[size]) {
  for (const Name& known : names) {
    if (known.value == value) return known.name;
  }
  return std::to_string(value);
}

MATCHER_P(RcEq, rc, (negation ? "is not " : "is ") + RcName(rc)) {
  *result_listener << "which is " << RcName(arg) << ", \"" << rpma_err_2str(arg)
                   << "\"";
  return arg == rc;
}

MATCHER_P(StatusEq, status,
          (negation ? "is not " : "is ") + StatusName(status)) {
  *result_listener << "which is " << StatusName(arg);
  return arg == status;
}

// What every completion has.
CompletionMatcher Basics(uint64_t wr_id, ibv_wc_status status,
                         std::optional<uint32_t> qp_num) {
  const CompletionMatcher basics =
      AllOf(Field("wr_id", &ibv_wc::wr_id, wr_id),
            Field("status", &ibv_wc::status, StatusEq(status)));
  if (!qp_num.has_value()) return basics;
  return AllOf(basics, Field("qp_num", &ibv_wc::qp_num, *qp_num));
}

// Other bits may be set, too.
CompletionMatcher HasImm(bool expected) {
  return ResultOf(
      "wc_flags & IBV_WC_WITH_IMM",
      [](const ibv_wc& wc) { return (wc.wc_flags & IBV_WC_WITH_IMM) != 0; },
      expected);
}

}  // namespace

std::string RcName(int rc) { return NameOf(rc, kRcNames); }

::testing::Matcher<int> RcIs(int rc) { return RcEq(rc); }

std::string StatusName(ibv_wc_status status) {
  return NameOf(status, kStatusNames);
}

CompletionMatcher Succeeded(uint64_t wr_id, ibv_wc_opcode opcode,
                            std::optional<uint32_t> qp_num) {
  return AllOf(Basics(wr_id, IBV_WC_SUCCESS, qp_num),
               Field("opcode", &ibv_wc::opcode, opcode));
}

CompletionMatcher ReadSucceeded(uint64_t wr_id, uint32_t byte_len,
                                std::optional<uint32_t> qp_num) {
  return AllOf(Succeeded(wr_id, IBV_WC_RDMA_READ, qp_num),
               Field("byte_len", &ibv_wc::byte_len, byte_len));
}

CompletionMatcher Received(uint64_t wr_id, uint32_t byte_len,
                           std::optional<uint32_t> qp_num) {
  return AllOf(Succeeded(wr_id, IBV_WC_RECV, qp_num),
               Field("byte_len", &ibv_wc::byte_len, byte_len), HasImm(false));
}

CompletionMatcher ReceivedWithImm(uint64_t wr_id, ibv_wc_opcode opcode,
                                  uint32_t byte_len, uint32_t imm,
                                  std::optional<uint32_t> qp_num) {
  return AllOf(Succeeded(wr_id, opcode, qp_num),
               Field("byte_len", &ibv_wc::byte_len, byte_len), HasImm(true),
               Field("imm_data", &ibv_wc::imm_data, htonl(imm)));
}

CompletionMatcher EndedWith(uint64_t wr_id, ibv_wc_status status,
                            std::optional<uint32_t> qp_num) {
  return Basics(wr_id, status, qp_num);
}

CompletionMatcher FailedWith(uint64_t wr_id, ibv_wc_status status,
                             std::optional<uint32_t> qp_num) {
  return Basics(wr_id, status, qp_num);
}

}  // namespace rpma_testing
