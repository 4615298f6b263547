// SPDX-License-Identifier: BSD-3-Clause
//
// rpma_conn_*: the events, queues and end of a connection.

#include "api/boundary.h"
#include "api/opaque.h"
#include "core/connection.h"

int rpma_conn_delete(struct rpma_conn** conn_ptr) {
  RPMA_REQUIRE(conn_ptr != nullptr);
  return rpma::CloseAndDelete(conn_ptr);
}

int rpma_conn_disconnect(struct rpma_conn* conn) {
  RPMA_REQUIRE(conn != nullptr);
  return rpma::ToC(rpma::FromC(conn)->Disconnect());
}

int rpma_conn_next_event(struct rpma_conn* conn, enum rpma_conn_event* event) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(event != nullptr);
  return rpma::ToC(rpma::FromC(conn)->NextEvent(event));
}

// `flags` is reserved; as in librpma 1.3.0 any value is accepted.
int rpma_conn_wait(struct rpma_conn* conn, int /*flags*/, struct rpma_cq** cq,
                   bool* is_rcq) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(cq != nullptr);
  rpma::CompletionQueue* source = nullptr;
  const rpma::Rc rc = rpma::FromC(conn)->Wait(&source, is_rcq);
  if (rc == rpma::Rc::kOk) *cq = rpma::ToC(source);
  return rpma::ToC(rc);
}

int rpma_conn_apply_remote_peer_cfg(struct rpma_conn* conn,
                                    const struct rpma_peer_cfg* pcfg) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(pcfg != nullptr);
  rpma::FromC(conn)->ApplyRemotePeerCfg(*rpma::FromC(pcfg));
  return 0;
}

int rpma_conn_get_compl_fd(const struct rpma_conn* conn, int* fd) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(fd != nullptr);
  return rpma::ToC(rpma::FromC(conn)->GetCompletionFd(fd));
}

int rpma_conn_get_event_fd(const struct rpma_conn* conn, int* fd) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(fd != nullptr);
  *fd = rpma::FromC(conn)->event_fd();
  return 0;
}

int rpma_conn_get_qp_num(const struct rpma_conn* conn, uint32_t* qp_num) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(qp_num != nullptr);
  *qp_num = rpma::FromC(conn)->qp_num();
  return 0;
}

int rpma_conn_get_cq(const struct rpma_conn* conn, struct rpma_cq** cq_ptr) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(cq_ptr != nullptr);
  *cq_ptr = rpma::ToC(rpma::FromC(conn)->cq());
  return 0;
}

int rpma_conn_get_rcq(const struct rpma_conn* conn, struct rpma_cq** rcq_ptr) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(rcq_ptr != nullptr);
  *rcq_ptr = rpma::ToC(rpma::FromC(conn)->rcq());
  return 0;
}

int rpma_conn_get_private_data(const struct rpma_conn* conn,
                               struct rpma_conn_private_data* pdata) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(pdata != nullptr);
  *pdata = rpma::FromC(conn)->private_data();
  return 0;
}
