// SPDX-License-Identifier: BSD-3-Clause
// Name resolution of this host, in the form of rdma_getaddrinfo(3).

#ifndef RPMA_EMULATOR_ADDR_INFO_H_
#define RPMA_EMULATOR_ADDR_INFO_H_

#include <rdma/rdma_cma.h>

namespace rpma::emu {

// Resolves with getaddrinfo(3), for a reliable connection in the TCP port
// space. `passive`: the addresses are ai_src_addr, and without a node the
// wildcards; else they are ai_dst_addr. There are no canonical names. Returns
// 0, a positive errno or a negative EAI_* code; on failure *info is not
// written. Does not throw.
int LookUpAddrInfo(const char* node, const char* service, bool passive,
                   rdma_addrinfo** info);
void FreeAddrInfo(rdma_addrinfo* info);  // nullptr: does nothing

}  // namespace rpma::emu

#endif  // RPMA_EMULATOR_ADDR_INFO_H_
