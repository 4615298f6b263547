// SPDX-License-Identifier: BSD-3-Clause
// What is measured in which processes.

#ifndef RPMA_TOOLS_BENCH_MEASURE_H_
#define RPMA_TOOLS_BENCH_MEASURE_H_

#include "tools/bench/figures.h"
#include "tools/bench/processes.h"

namespace rpma::bench {

// Each fills in some figures of the board, of two processes or of one.
void MeasureOneWay(const Effort& effort, Board& board);
void MeasureCompleted(const Effort& effort, Board& board);
void MeasureWake(const Effort& effort, Board& board);
void MeasureBulk(const Effort& effort, Board& board);
void MeasureIdle(const Effort& effort, Board& board);
void MeasureInside(const Effort& effort, Board& board);

}  // namespace rpma::bench

#endif  // RPMA_TOOLS_BENCH_MEASURE_H_
