// SPDX-License-Identifier: BSD-3-Clause
// Where providers of RDMA differ in what a user of librpma sees. Tests ask
// these questions; they never ask which provider it is.

#ifndef RPMA_TESTS_CONFORMANCE_PROVIDER_H_
#define RPMA_TESTS_CONFORMANCE_PROVIDER_H_

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace rpma::test {

struct Provider {
  const char* name;  // of the emulator's profile

  // The largest private data that rpma_conn_req_connect() sends, in bytes.
  uint8_t max_request_data;
  uint8_t max_accept_data;
  // The receiver sees the whole field, padded with zeros, even if none was
  // sent; else what was sent.
  bool private_data_padded;

  // The side that accepts is ESTABLISHED only after the side that connects
  // fetched its own event (RTU); else without its help.
  bool passive_waits_for_active;

  // On disconnect the peer's requests are flushed; else they stay outstanding
  // until it disconnects, too.
  bool disconnect_flushes_peer;
  // The side that disconnects is CLOSED once the peer disconnected, too (DREP);
  // else without its help.
  bool closed_waits_for_peer;
  // How a send posted after the peer disconnected ends.
  ibv_wc_status send_after_peer_disconnected;
  // A second CLOSED follows the first when time-wait is over.
  bool time_wait_event;

  bool on_demand_paging;
  bool advise_mr;
};

// For INSTANTIATE_TEST_SUITE_P: all providers of the transport under test, and
// their names.
std::vector<const Provider*> Providers();
std::string ProviderName(const ::testing::TestParamInfo<const Provider*>& info);

// How GoogleTest names it in messages.
inline void PrintTo(const Provider* provider, std::ostream* out) {
  *out << provider->name;
}

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_PROVIDER_H_
