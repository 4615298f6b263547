// SPDX-License-Identifier: BSD-3-Clause
// The network under librpma, and what only the emulated one can tell: the one
// place that uses <librpma_emu.h>.

#ifndef RPMA_TOOLS_QUICKSTART_NETWORK_H_
#define RPMA_TOOLS_QUICKSTART_NETWORK_H_

#include <cstdint>
#include <string>

namespace rpma::quickstart {

// One of the two, before librpma looks for a device. The emulated network is
// the default fabric, so the environment variable RPMA_EMU has a say in it.
void UseEmulatedNetwork();
void UseRdmaDevices();

bool IsEmulated();

// Why the last request of a queue pair failed, in a sentence of the emulated
// device; empty if it has nothing to say, as real devices have not.
std::string Explain(uint32_t qp_num);

// Throws if an object of librpma still lives on the emulated network.
void CheckNothingLeft();

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_NETWORK_H_
