// SPDX-License-Identifier: BSD-3-Clause
// Which RDMA stack runs under librpma, and what only the emulated one can tell:
// the one place that includes <librpma_emu.h>.

#ifndef RPMA_TOOLS_QUICKSTART_TRANSPORT_H_
#define RPMA_TOOLS_QUICKSTART_TRANSPORT_H_

#include <cstdint>
#include <string>

#include "tools/quickstart/options.h"

namespace rpma::quickstart {

// Call it before librpma looks for a device.
void UseTransport(Transport transport);

// Why the last request of a queue pair failed, in a sentence of the emulated
// device; empty if it has nothing to say.
std::string Explain(uint32_t qp_num);

// Throws if an object of the emulated device still lives.
void CheckNothingLeft();

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_TRANSPORT_H_
