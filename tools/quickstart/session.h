// SPDX-License-Identifier: BSD-3-Clause
// Who does what in which order: the whole program, by role.

#ifndef RPMA_TOOLS_QUICKSTART_SESSION_H_
#define RPMA_TOOLS_QUICKSTART_SESSION_H_

#include "tools/quickstart/options.h"
#include "tools/quickstart/signals.h"

namespace rpma::quickstart {

// Does what the options ask for and reports on stdout. Throws a Failure.
void Run(const Options& options, const Signals& signals);

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_SESSION_H_
