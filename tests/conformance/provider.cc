// SPDX-License-Identifier: BSD-3-Clause

#include "tests/conformance/provider.h"

namespace rpma::test {
namespace {

constexpr Provider kRoce = {
    .name = "roce",
    .max_request_data = 56,
    .max_accept_data = 196,
    .private_data_padded = true,
    .passive_waits_for_active = true,
    .disconnect_flushes_peer = false,
    .closed_waits_for_peer = true,
    .send_after_peer_disconnected = IBV_WC_RETRY_EXC_ERR,
    .time_wait_event = true,
    .on_demand_paging = false,
    .advise_mr = false,
};

constexpr Provider kIb = [] {
  Provider ib = kRoce;
  ib.name = "ib";
  ib.on_demand_paging = true;
  ib.advise_mr = true;
  return ib;
}();

constexpr Provider kIwarp = {
    .name = "iwarp",
    .max_request_data = 255,
    .max_accept_data = 255,
    .private_data_padded = false,
    .passive_waits_for_active = false,
    .disconnect_flushes_peer = true,
    .closed_waits_for_peer = false,
    .send_after_peer_disconnected = IBV_WC_WR_FLUSH_ERR,
    .time_wait_event = false,
    .on_demand_paging = false,
    .advise_mr = false,
};

}  // namespace

std::vector<const Provider*> Providers() { return {&kRoce, &kIb, &kIwarp}; }

std::string ProviderName(
    const ::testing::TestParamInfo<const Provider*>& info) {
  return info.param->name;
}

}  // namespace rpma::test
