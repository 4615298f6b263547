// SPDX-License-Identifier: BSD-3-Clause
// What a work completion says, in words.

#ifndef RPMA_TOOLS_QUICKSTART_COMPLETION_H_
#define RPMA_TOOLS_QUICKSTART_COMPLETION_H_

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

namespace rpma::quickstart {

// The name of the status as in <infiniband/verbs.h>.
std::string StatusName(ibv_wc_status status);

// Throws unless the completion is a success; `action` says what was requested.
void CheckCompletion(const ibv_wc& completion, std::string_view action);

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_COMPLETION_H_
