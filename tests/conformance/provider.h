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
  const char* name;  // of the emulator's profile, or of a kind of real device
  bool emulated = true;
  // What the emulator has to add to the profile, as in "native_flush=on".
  const char* options;

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
  // How a send ends whose peer disconnected or failed before.
  ibv_wc_status send_to_failed_peer;
  // A second CLOSED follows the first when time-wait is over.
  bool time_wait_event;
  // An acceptance that fails refuses the request, so that it cannot be refused
  // once more.
  bool failed_accept_rejects;
  // 127.0.0.1, ::1 and the addresses of other interfaces lead to the device.
  bool serves_loopback_addresses;

  bool on_demand_paging;
  bool advise_mr;

  // Requests that the device takes; else they are refused when posted.
  bool send_with_imm;
  bool write_with_imm;
  // The usages of which each alone makes a region a destination: of a READ, of
  // a message, and of the other side's WRITE.
  int read_dst_usages;
  int receive_usages;
  int write_dst_usages;

  // How an atomic write completes: as what the library makes of it or as the
  // device's own operation.
  ibv_wc_opcode atomic_write_opcode;
  // The device flushes by itself, if the other side allows; else by a read.
  bool native_flush;

  // A slot of the send queue is free again once a later completion was polled;
  // else once its request was executed.
  bool frees_slots_when_polled;
  // Queues hold exactly what was asked for; else the device rounds up.
  bool exact_queue_sizes;
  // Requests complete in the order posted; else READs may complete after later
  // ones that do not wait for them.
  bool completes_in_order;
  // What is posted after the queue pair failed or disconnected is flushed; else
  // it is refused or never completes.
  bool flushes_late_sends;
  bool flushes_late_receives;

  // A SEND to a side that has posted no receive waits for one (RNR NAK); else
  // it ends the connection.
  bool waits_for_receive;
  // A SEND or WRITE has completed once it is sent, whatever the other side
  // makes of it; what waits for a response is flushed.
  bool completes_when_sent;
  // An error of a request ends the connection; else no event tells it.
  bool error_ends_connection;
  // How a receive ends whose buffer the device may not write.
  ibv_wc_status unwritable_receive;
  // How a receive ends that is too short for its message, and the SEND.
  ibv_wc_status short_receive;
  ibv_wc_status too_long_send;
  // How a request ends whose source the device may not read.
  ibv_wc_status unreadable_source;

  // How a request ends that the other side refused with `status`.
  ibv_wc_status RefusedSend(ibv_wc_status status) const {
    return completes_when_sent ? IBV_WC_SUCCESS : status;
  }
  ibv_wc_status RefusedRead(ibv_wc_status status) const {
    return completes_when_sent ? IBV_WC_WR_FLUSH_ERR : status;
  }
  ibv_wc_status RefusedAtomicWrite(ibv_wc_status status) const {
    return atomic_write_opcode == IBV_WC_RDMA_WRITE ? RefusedSend(status)
                                                    : RefusedRead(status);
  }
};

// For INSTANTIATE_TEST_SUITE_P: all providers of the transport under test, and
// their names. Of verbs that is the one at TestAddress().
std::vector<const Provider*> Providers();
// All, with devices that have the operations of IBTA's annex A19 and the atomic
// write.
std::vector<const Provider*> NativeProviders();
// Those whose device tests can give options and faults.
std::vector<const Provider*> EmulatedProviders();
// Those of `providers` of which `quality` is true, and the others.
std::vector<const Provider*> With(bool Provider::*quality,
                                  std::vector<const Provider*> providers);
std::vector<const Provider*> Without(bool Provider::*quality,
                                     std::vector<const Provider*> providers);
std::string ProviderName(const ::testing::TestParamInfo<const Provider*>& info);

// How GoogleTest names it in messages.
inline void PrintTo(const Provider* provider, std::ostream* out) {
  *out << provider->name;
}

}  // namespace rpma::test

#endif  // RPMA_TESTS_CONFORMANCE_PROVIDER_H_
