// SPDX-License-Identifier: BSD-3-Clause
// What two processes of this machine reach with shared memory and nothing else:
// no library, nothing checked. An emulator between processes that copies what
// it transfers hardly takes less.

#ifndef RPMA_TOOLS_BENCH_MACHINE_H_
#define RPMA_TOOLS_BENCH_MACHINE_H_

#include "tools/bench/figures.h"
#include "tools/bench/processes.h"

namespace rpma::bench {

// Fills in the figures kMachine* of the board.
void MeasureMachine(const Effort& effort, Board& board);

}  // namespace rpma::bench

#endif  // RPMA_TOOLS_BENCH_MACHINE_H_
