// SPDX-License-Identifier: BSD-3-Clause
// What a failed run tells its reader.

#ifndef RPMA_TESTS_SIM_REPORT_H_
#define RPMA_TESTS_SIM_REPORT_H_

#include <string>

#include "tests/sim/scenario.h"
#include "tests/sim/walk.h"

namespace rpma::sim {

// The command that runs the seed again, and only that, step by step.
std::string ReplayCommand(const RunOptions& options);

// What was violated, what the run was like, the end of the walk and of
// librpma's log, and the command.
std::string ReportOf(const RunOptions& options, const RunResult& result);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_REPORT_H_
