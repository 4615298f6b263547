// SPDX-License-Identifier: BSD-3-Clause

#include "core/private_data.h"

#include <cstring>

namespace rpma {

void PrivateData::StoreFirst(const rdma_conn_param& param) {
  if (size_.load(std::memory_order_relaxed) != 0) return;
  if (param.private_data == nullptr || param.private_data_len == 0) return;
  std::memcpy(bytes_.data(), param.private_data, param.private_data_len);
  size_.store(param.private_data_len, std::memory_order_release);
}

rpma_conn_private_data PrivateData::View() {
  const uint8_t size = size_.load(std::memory_order_acquire);
  return {.ptr = size != 0 ? bytes_.data() : nullptr, .len = size};
}

}  // namespace rpma
