// SPDX-License-Identifier: BSD-3-Clause
// The functions under test, so that a test of the simulation can put a wrong
// one in the place of a right one.

#ifndef RPMA_TESTS_SIM_API_H_
#define RPMA_TESTS_SIM_API_H_

#include <librpma.h>

#include <functional>
#include <type_traits>

namespace rpma::sim {

struct Api {
  template <auto kFunction>
  using Fn = std::function<std::remove_pointer_t<decltype(kFunction)>>;

  Fn<& rpma_peer_new> peer_new = rpma_peer_new;
  Fn<& rpma_peer_delete> peer_delete = rpma_peer_delete;
  Fn<& rpma_mr_reg> mr_reg = rpma_mr_reg;
  Fn<& rpma_mr_dereg> mr_dereg = rpma_mr_dereg;
  Fn<& rpma_srq_new> srq_new = rpma_srq_new;
  Fn<& rpma_srq_delete> srq_delete = rpma_srq_delete;
  Fn<& rpma_srq_recv> srq_recv = rpma_srq_recv;
  Fn<& rpma_ep_listen> ep_listen = rpma_ep_listen;
  Fn<& rpma_ep_shutdown> ep_shutdown = rpma_ep_shutdown;
  Fn<& rpma_ep_next_conn_req> ep_next_conn_req = rpma_ep_next_conn_req;
  Fn<& rpma_conn_req_new> conn_req_new = rpma_conn_req_new;
  Fn<& rpma_conn_req_delete> conn_req_delete = rpma_conn_req_delete;
  Fn<& rpma_conn_req_recv> conn_req_recv = rpma_conn_req_recv;
  Fn<& rpma_conn_req_connect> conn_req_connect = rpma_conn_req_connect;
  Fn<& rpma_conn_next_event> conn_next_event = rpma_conn_next_event;
  Fn<& rpma_conn_wait> conn_wait = rpma_conn_wait;
  Fn<& rpma_conn_disconnect> conn_disconnect = rpma_conn_disconnect;
  Fn<& rpma_conn_delete> conn_delete = rpma_conn_delete;
  Fn<& rpma_read> read = rpma_read;
  Fn<& rpma_write> write = rpma_write;
  Fn<& rpma_write_with_imm> write_with_imm = rpma_write_with_imm;
  Fn<& rpma_atomic_write> atomic_write = rpma_atomic_write;
  Fn<& rpma_flush> flush = rpma_flush;
  Fn<& rpma_send> send = rpma_send;
  Fn<& rpma_send_with_imm> send_with_imm = rpma_send_with_imm;
  Fn<& rpma_recv> recv = rpma_recv;
  Fn<& rpma_cq_wait> cq_wait = rpma_cq_wait;
  Fn<& rpma_cq_get_wc> cq_get_wc = rpma_cq_get_wc;

  // Called, unless empty, when the run is over: puts right what wrong functions
  // have done, so that the fabric can be deleted.
  std::function<void()> before_the_end = {};
};

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_API_H_
