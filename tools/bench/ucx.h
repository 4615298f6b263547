// SPDX-License-Identifier: BSD-3-Clause
// The figures of ucx_perftest, over shared memory.

#ifndef RPMA_TOOLS_BENCH_UCX_H_
#define RPMA_TOOLS_BENCH_UCX_H_

#include <string>

#include "tools/bench/figures.h"

namespace rpma::bench {

// *note says in a sentence what was run, or why nothing was, or what failed.
UcxFigures MeasureUcx(const Effort& effort, std::string* note);

}  // namespace rpma::bench

#endif  // RPMA_TOOLS_BENCH_UCX_H_
