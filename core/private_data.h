// SPDX-License-Identifier: BSD-3-Clause
//
// A copy of the bytes that a peer sent along with a connection request or its
// answer.

#ifndef RPMA_CORE_PRIVATE_DATA_H_
#define RPMA_CORE_PRIVATE_DATA_H_

#include <librpma.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "core/transport.h"

namespace rpma {

// Has room for the longest data, so that storing does not allocate. One thread
// stores; any number may read.
class PrivateData {
 public:
  // Keeps what `param` carries. Does nothing if data are held already: pointers
  // to them have been given to the user.
  void StoreFirst(const rdma_conn_param& param);

  // The data held, {nullptr, 0} if none. They stay where they are.
  rpma_conn_private_data View();

 private:
  std::array<uint8_t, UINT8_MAX> bytes_;
  std::atomic<uint8_t> size_ = 0;
};

}  // namespace rpma

#endif  // RPMA_CORE_PRIVATE_DATA_H_
