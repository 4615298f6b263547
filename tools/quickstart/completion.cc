// SPDX-License-Identifier: BSD-3-Clause
// Names and explains completion statuses.

#include "tools/quickstart/completion.h"

#include "tools/quickstart/failure.h"
#include "tools/quickstart/network.h"

namespace rpma::quickstart {

std::string StatusName(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "IBV_WC_SUCCESS";
    case IBV_WC_LOC_LEN_ERR:
      return "IBV_WC_LOC_LEN_ERR";
    case IBV_WC_LOC_QP_OP_ERR:
      return "IBV_WC_LOC_QP_OP_ERR";
    case IBV_WC_LOC_PROT_ERR:
      return "IBV_WC_LOC_PROT_ERR";
    case IBV_WC_WR_FLUSH_ERR:
      return "IBV_WC_WR_FLUSH_ERR";
    case IBV_WC_REM_INV_REQ_ERR:
      return "IBV_WC_REM_INV_REQ_ERR";
    case IBV_WC_REM_ACCESS_ERR:
      return "IBV_WC_REM_ACCESS_ERR";
    case IBV_WC_REM_OP_ERR:
      return "IBV_WC_REM_OP_ERR";
    case IBV_WC_RETRY_EXC_ERR:
      return "IBV_WC_RETRY_EXC_ERR";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "IBV_WC_RNR_RETRY_EXC_ERR";
    default:
      return Text("ibv_wc_status ", static_cast<int>(status));
  }
}

void CheckCompletion(const ibv_wc& completion, std::string_view action) {
  if (completion.status == IBV_WC_SUCCESS) return;
  const std::string explanation = Explain(completion.qp_num);
  throw Failure(Text(action, " failed: ", StatusName(completion.status),
                     explanation.empty() ? "" : ", ", explanation));
}

}  // namespace rpma::quickstart
