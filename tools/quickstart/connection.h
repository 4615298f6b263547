// SPDX-License-Identifier: BSD-3-Clause
// One side of the connection: its events, its completions, its messages.

#ifndef RPMA_TOOLS_QUICKSTART_CONNECTION_H_
#define RPMA_TOOLS_QUICKSTART_CONNECTION_H_

#include <librpma.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "tools/quickstart/library.h"
#include "tools/quickstart/memory.h"
#include "tools/quickstart/message.h"
#include "tools/quickstart/signals.h"

namespace rpma::quickstart {

// Requests that may be outstanding at a time: the send queue and its completion
// queue have room for just as many.
constexpr uint32_t kInFlight = 8;

// The queue sizes that Connection relies on.
ConnCfgPtr NewConnCfg();

class Connection {
 public:
  // Posts the receives for all messages that will come, so that none arrives
  // unexpected, and then connects (outgoing request) or accepts (incoming).
  // Does not wait for the other side. `peer` and `signals` must outlive the
  // connection.
  Connection(rpma_peer* peer, ConnReqPtr request, const Signals& signals);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  rpma_conn* get() const { return conn_.get(); }

  // Waits for the next event of the connection.
  rpma_conn_event AwaitEvent();
  // Throws if the next event is another one.
  void AwaitEstablished();
  void AwaitClosed();  // returns at once if that came before
  void Disconnect();

  // Waits for the completion of the oldest signalled request.
  ibv_wc AwaitCompletion();
  // The same, and throws unless it succeeded; `action` says what was requested.
  void AwaitSuccess(std::string_view action);

  // Returns when the message is in the peer's receive buffer.
  template <typename Message>
  void Send(const Message& message) {
    std::memcpy(outbox_.data(), &message, sizeof message);
    SendBytes(sizeof message);
  }

  // Waits for the next message, which must be a `Message`.
  template <typename Message>
  Message Receive() {
    Message message;
    std::memcpy(&message, ReceiveBytes(sizeof message), sizeof message);
    return message;
  }

 private:
  void PostReceives(rpma_conn_req* request);
  void SendBytes(size_t size);
  const uint8_t* ReceiveBytes(size_t size);
  ibv_wc AwaitCompletionIn(rpma_cq* cq);

  const Signals& signals_;
  Memory outbox_;
  Memory inbox_;
  ConnPtr conn_;
  bool closed_ = false;
};

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_CONNECTION_H_
