// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/status_set.h"

namespace rpma::sim {
namespace {

// From 0 on.
constexpr const char* kNames[] = {
    "IBV_WC_SUCCESS",           "IBV_WC_LOC_LEN_ERR",
    "IBV_WC_LOC_QP_OP_ERR",     "IBV_WC_LOC_EEC_OP_ERR",
    "IBV_WC_LOC_PROT_ERR",      "IBV_WC_WR_FLUSH_ERR",
    "IBV_WC_MW_BIND_ERR",       "IBV_WC_BAD_RESP_ERR",
    "IBV_WC_LOC_ACCESS_ERR",    "IBV_WC_REM_INV_REQ_ERR",
    "IBV_WC_REM_ACCESS_ERR",    "IBV_WC_REM_OP_ERR",
    "IBV_WC_RETRY_EXC_ERR",     "IBV_WC_RNR_RETRY_EXC_ERR",
    "IBV_WC_LOC_RDD_VIOL_ERR",  "IBV_WC_REM_INV_RD_REQ_ERR",
    "IBV_WC_REM_ABORT_ERR",     "IBV_WC_INV_EECN_ERR",
    "IBV_WC_INV_EEC_STATE_ERR", "IBV_WC_FATAL_ERR",
    "IBV_WC_RESP_TIMEOUT_ERR",  "IBV_WC_GENERAL_ERR",
};
constexpr unsigned kStatuses = sizeof(kNames) / sizeof(*kNames);
static_assert(kStatuses == IBV_WC_GENERAL_ERR + 1);

}  // namespace

std::string ToText(ibv_wc_status status) {
  const auto number = static_cast<unsigned>(status);
  return number < kStatuses ? kNames[number]
                            : "status " + std::to_string(number);
}

std::string ToText(StatusSet statuses) {
  std::string text;
  for (unsigned number = 0; number < kStatuses; ++number) {
    if (!statuses.Has(static_cast<ibv_wc_status>(number))) continue;
    if (!text.empty()) text += ", ";
    text += kNames[number];
  }
  return text.empty() ? "none" : text;
}

}  // namespace rpma::sim
