// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/bystander.h"

#include <cstring>
#include <initializer_list>

namespace rpma::faults {
namespace {

constexpr char kPort[] = "7205";
constexpr int kUsage = RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST |
                       RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
                       RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV;

const void* Context(uintptr_t number) {
  return reinterpret_cast<const void*>(number);
}

bool Meet(const rpma_mr_local* mr, rpma_mr_remote** remote) {
  char descriptor[21];
  return rpma_mr_get_descriptor(mr, descriptor) == 0 &&
         rpma_mr_remote_from_descriptor(descriptor, sizeof(descriptor),
                                        remote) == 0;
}

bool IsEstablished(rpma_conn* conn) {
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  return rpma_conn_next_event(conn, &event) == 0 &&
         event == RPMA_CONN_ESTABLISHED;
}

}  // namespace

Bystander::Bystander(const char* client_address, const char* server_address) {
  connected_ = Open(&client_, client_address) &&
               Open(&server_, server_address) && Connect(server_address) &&
               Meet(client_.mr, &server_.remote) &&
               Meet(server_.mr, &client_.remote);
}

bool Bystander::Open(Side* side, const char* address) {
  ibv_context* context = nullptr;
  return rpma_utils_get_ibv_context(address, RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                    &context) == 0 &&
         rpma_peer_new(context, &side->peer) == 0 &&
         rpma_mr_reg(side->peer, side->memory, kSize, kUsage, &side->mr) == 0;
}

bool Bystander::Connect(const char* address) {
  rpma_ep* ep = nullptr;
  rpma_conn_req* outgoing = nullptr;
  rpma_conn_req* incoming = nullptr;
  const bool connected =
      rpma_ep_listen(server_.peer, address, kPort, &ep) == 0 &&
      rpma_conn_req_new(client_.peer, address, kPort, nullptr, &outgoing) ==
          0 &&
      rpma_conn_req_connect(&outgoing, nullptr, &client_.conn) == 0 &&
      rpma_ep_next_conn_req(ep, nullptr, &incoming) == 0 &&
      rpma_conn_req_connect(&incoming, nullptr, &server_.conn) == 0 &&
      IsEstablished(client_.conn) && IsEstablished(server_.conn) &&
      rpma_conn_get_cq(client_.conn, &client_.cq) == 0 &&
      rpma_conn_get_cq(server_.conn, &server_.cq) == 0;
  return rpma_ep_shutdown(&ep) == 0 && connected;
}

Bystander::~Bystander() {
  for (Side* side : {&client_, &server_}) {
    rpma_conn_delete(&side->conn);
    rpma_mr_remote_delete(&side->remote);
    rpma_mr_dereg(&side->mr);
    rpma_peer_delete(&side->peer);
  }
}

void Bystander::Check(Findings* findings) {
  ++round_;
  const auto other = static_cast<uint8_t>(~round_);
  if (!connected_ || !Write(&client_, server_, round_) ||
      !Write(&server_, client_, other) || !Send(&client_, &server_)) {
    findings->Add("another connection does not work any more");
  }
}

bool Bystander::Complete(Side* side, uint64_t wr_id) {
  ibv_wc wc = {};
  for (;;) {
    const int rc = rpma_cq_get_wc(side->cq, 1, &wc, nullptr);
    if (rc == 0) return wc.status == IBV_WC_SUCCESS && wc.wr_id == wr_id;
    if (rc != RPMA_E_NO_COMPLETION || rpma_cq_wait(side->cq) != 0) return false;
  }
}

bool Bystander::Write(Side* from, const Side& to, uint8_t value) {
  std::memset(from->memory, value, kSize);
  return rpma_write(from->conn, from->remote, 0, from->mr, 0, kSize,
                    RPMA_F_COMPLETION_ON_ERROR, Context(1)) == 0 &&
         rpma_flush(from->conn, from->remote, 0, kSize,
                    RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS,
                    Context(2)) == 0 &&
         Complete(from, 2) && to.memory[0] == value &&
         to.memory[kSize - 1] == value;
}

bool Bystander::Send(Side* from, Side* to) {
  return rpma_recv(to->conn, to->mr, 0, kSize, Context(3)) == 0 &&
         rpma_send(from->conn, from->mr, 0, kSize, RPMA_F_COMPLETION_ALWAYS,
                   Context(4)) == 0 &&
         Complete(from, 4) && Complete(to, 3);
}

}  // namespace rpma::faults
