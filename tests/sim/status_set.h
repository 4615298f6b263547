// SPDX-License-Identifier: BSD-3-Clause
// Sets of completion statuses.

#ifndef RPMA_TESTS_SIM_STATUS_SET_H_
#define RPMA_TESTS_SIM_STATUS_SET_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <initializer_list>
#include <string>

namespace rpma::sim {

class StatusSet {
 public:
  constexpr StatusSet() = default;
  constexpr StatusSet(std::initializer_list<ibv_wc_status> statuses) {
    for (const ibv_wc_status status : statuses) Add(status);
  }

  constexpr void Add(ibv_wc_status status) { bits_ |= Bit(status); }
  constexpr void Add(StatusSet other) { bits_ |= other.bits_; }
  constexpr bool Has(ibv_wc_status status) const {
    return (bits_ & Bit(status)) != 0;
  }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  static constexpr uint32_t Bit(ibv_wc_status status) {
    return uint32_t{1} << static_cast<unsigned>(status);
  }

  uint32_t bits_ = 0;
};

// "IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR"; statuses as in their header.
std::string ToText(ibv_wc_status status);
std::string ToText(StatusSet statuses);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_STATUS_SET_H_
