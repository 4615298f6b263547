// SPDX-License-Identifier: BSD-3-Clause
// Waits for events and completions of a connection, sends and receives.

#include "tools/quickstart/connection.h"

#include <utility>

#include "tools/quickstart/completion.h"
#include "tools/quickstart/failure.h"

namespace rpma::quickstart {

ConnCfgPtr NewConnCfg() {
  rpma_conn_cfg* raw = nullptr;
  Check(rpma_conn_cfg_new(&raw), "make a connection configuration");
  ConnCfgPtr cfg(raw);
  Check(rpma_conn_cfg_set_sq_size(raw, kInFlight), "set the send queue's size");
  Check(rpma_conn_cfg_set_cq_size(raw, kInFlight), "set the CQ's size");
  Check(rpma_conn_cfg_set_rq_size(raw, kMaxMessages),
        "set the receive queue's size");
  // A receive CQ of its own: messages never mix with completions of requests.
  Check(rpma_conn_cfg_set_rcq_size(raw, kMaxMessages),
        "set the receive CQ's size");
  return cfg;
}

Connection::Connection(rpma_peer* peer, ConnReqPtr request,
                       const Signals& signals)
    : signals_(signals),
      outbox_(peer, kMaxMessageSize, RPMA_MR_USAGE_SEND),
      inbox_(peer, kMaxMessages * kMaxMessageSize, RPMA_MR_USAGE_RECV) {
  PostReceives(request.get());
  // Whatever comes of it, connecting consumes the request.
  rpma_conn_req* consumed = request.release();
  rpma_conn* conn = nullptr;
  Check(rpma_conn_req_connect(&consumed, nullptr, &conn), "connect");
  conn_.reset(conn);
}

void Connection::PostReceives(rpma_conn_req* request) {
  for (int i = 0; i < kMaxMessages; ++i) {
    const size_t offset = static_cast<size_t>(i) * kMaxMessageSize;
    Check(rpma_conn_req_recv(request, inbox_.region(), offset, kMaxMessageSize,
                             inbox_.data() + offset),
          "post a receive");
  }
}

rpma_conn_event Connection::AwaitEvent() {
  int fd = -1;
  Check(rpma_conn_get_event_fd(conn_.get(), &fd), "get the event descriptor");
  signals_.WaitReadable({fd});
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  Check(rpma_conn_next_event(conn_.get(), &event), "get the next event");
  return event;
}

void Connection::AwaitEstablished() {
  const rpma_conn_event event = AwaitEvent();
  if (event == RPMA_CONN_ESTABLISHED) return;
  throw Failure(Text("cannot connect: ", rpma_utils_conn_event_2str(event)));
}

void Connection::AwaitClosed() {
  if (closed_) return;
  const rpma_conn_event event = AwaitEvent();
  closed_ = event == RPMA_CONN_CLOSED;
  if (closed_) return;
  throw Failure(Text("cannot disconnect: ", rpma_utils_conn_event_2str(event)));
}

void Connection::Disconnect() {
  Check(rpma_conn_disconnect(conn_.get()), "disconnect");
}

ibv_wc Connection::AwaitCompletion() {
  rpma_cq* cq = nullptr;
  Check(rpma_conn_get_cq(conn_.get(), &cq), "get the CQ");
  return AwaitCompletionIn(cq);
}

void Connection::AwaitSuccess(std::string_view action) {
  CheckCompletion(AwaitCompletion(), action);
}

// The connection's end is an answer too: a peer that is gone completes nothing.
ibv_wc Connection::AwaitCompletionIn(rpma_cq* cq) {
  int cq_fd = -1;
  int event_fd = -1;
  Check(rpma_cq_get_fd(cq, &cq_fd), "get the CQ's descriptor");
  Check(rpma_conn_get_event_fd(conn_.get(), &event_fd),
        "get the event descriptor");
  while (true) {
    ibv_wc completion;
    const int result = rpma_cq_get_wc(cq, 1, &completion, nullptr);
    if (result == 0) return completion;
    if (result != RPMA_E_NO_COMPLETION) Check(result, "get a completion");

    if (signals_.WaitReadable({cq_fd, event_fd}) == event_fd) {
      throw Failure(Text("the peer ended the connection too early: ",
                         rpma_utils_conn_event_2str(AwaitEvent())));
    }
    // Takes the notification and asks for the next one. It may announce a
    // completion that is fetched already, so look before waiting again.
    Check(rpma_cq_wait(cq), "wait for a completion");
  }
}

void Connection::SendBytes(size_t size) {
  Check(rpma_send(conn_.get(), outbox_.region(), 0, size,
                  RPMA_F_COMPLETION_ALWAYS, nullptr),
        "send a message");
  AwaitSuccess("sending a message");
}

const uint8_t* Connection::ReceiveBytes(size_t size) {
  rpma_cq* cq = nullptr;
  Check(rpma_conn_get_rcq(conn_.get(), &cq), "get the receive CQ");
  const ibv_wc completion = AwaitCompletionIn(cq);
  CheckCompletion(completion, "receiving a message");
  if (completion.byte_len != size) {
    throw Failure(Text("the peer sent a message of ", completion.byte_len,
                       " bytes in place of ", size,
                       "; is it an rpma_quickstart of the same version?"));
  }
  return reinterpret_cast<const uint8_t*>(completion.wr_id);
}

}  // namespace rpma::quickstart
