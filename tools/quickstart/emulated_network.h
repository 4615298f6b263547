// SPDX-License-Identifier: BSD-3-Clause
// The emulated network under librpma, and what only it can tell: the one place
// that uses <librpma_emu.h>. It is the default fabric, so the environment
// variable RPMA_EMU has a say in it.

#ifndef RPMA_TOOLS_QUICKSTART_EMULATED_NETWORK_H_
#define RPMA_TOOLS_QUICKSTART_EMULATED_NETWORK_H_

#include <cstdint>
#include <string>

namespace rpma::quickstart {

// Lets librpma find its devices there from now on.
void UseEmulatedNetwork();

// Why the last request of a queue pair failed, in a sentence of the emulated
// device; empty if it has nothing to say.
std::string Explain(uint32_t qp_num);

// Throws if an object of librpma still lives.
void CheckNothingLeft();

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_EMULATED_NETWORK_H_
