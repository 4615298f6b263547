// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/receiving.h"

#include <algorithm>

#include "tests/sim/rights.h"

namespace rpma::sim {
namespace {

const void* Context(uint64_t id) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(id));
}

std::string Describe(const Region* region, size_t offset, size_t length) {
  if (region == nullptr) return "without a buffer";
  return Text("of ", length, " bytes in region ", region->number, "+", offset);
}

Request* FindRequest(End& sender, const Message& message) {
  for (Request& request : sender.requests) {
    if (request.id == message.request) return &request;
  }
  return nullptr;
}

// The index of the first receive that has not completed.
size_t FirstIndex(const End& end) {
  return end.receives_posted - end.receives.size();
}

// The message cannot be received as it should.
void Refuse(World& world, End& receiver, const Message& message,
            ibv_wc_status status, bool for_certain) {
  End& sender = *receiver.other;
  MarkMayFail(world.rules, receiver);
  MarkMayFail(world.rules, sender);
  Request* const request = FindRequest(sender, message);
  if (request == nullptr || world.rules.is_iwarp) return;
  request->errors.Add(status);
  if (for_certain) request->may_succeed = false;
}

// What becomes of the message of an index and the receive of the same.
void Pair(World& world, End& end, size_t index) {
  End& sender = *end.other;
  if (index >= sender.messages.size() || index >= end.receives_posted) return;
  if (index < FirstIndex(end)) return;
  Receive& receive = end.receives[index - FirstIndex(end)];
  const Message& message = sender.messages[index];
  if (message.is_write || message.is_undelivered) return;
  if (message.length > receive.length) {
    return Refuse(world, end, message, IBV_WC_REM_INV_REQ_ERR, true);
  }
  if (message.length == 0) return;
  if (receive.is_bad) {
    return Refuse(world, end, message, IBV_WC_REM_OP_ERR, true);
  }
  if (receive.may_be_bad) {
    Refuse(world, end, message, IBV_WC_REM_OP_ERR, false);
  }
  receive.transfer = receive.region->model->Begin(
      receive.region->guard + receive.offset, ExactContent(message.bytes),
      {sender.number, message.request}, world.now);
}

// How many messages the ends of a shared receive queue have not got yet, those
// that are gone included: what they have got may wait in its RCQ.
size_t UnreceivedMessages(const World& world, const Srq& srq) {
  size_t count = 0;
  for (const auto& end : world.ends) {
    if (end->config.srq != &srq || end->other == nullptr) continue;
    count += end->other->messages.size() - end->received;
  }
  return count;
}

// Any receive of the queue may be the one for the message.
void WeighShared(World& world, End& end, const Message& message) {
  const Srq& srq = *end.config.srq;
  const bool lacks =
      world.rules.is_iwarp &&
      srq.receives.size() < srq.maybe_gone + UnreceivedMessages(world, srq);
  if (lacks) MarkMayFail(world.rules, end);
  if (message.is_write || message.length == 0) return;
  if (srq.is_shorter(message.length)) {
    Refuse(world, end, message, IBV_WC_REM_INV_REQ_ERR, false);
  }
  if (srq.has_bad) Refuse(world, end, message, IBV_WC_REM_OP_ERR, false);
}

void WeighAllShared(World& world, const Srq& srq) {
  for (const auto& end : world.ends) {
    if (end->config.srq != &srq || end->is_gone()) continue;
    if (end->other == nullptr) continue;
    const auto& messages = end->other->messages;
    for (size_t i = end->received; i < messages.size(); ++i) {
      WeighShared(world, *end, messages[i]);
    }
  }
}

Receive NewReceive(World& world, const Peer& peer, Region* region,
                   size_t offset, size_t length) {
  Receive receive;
  receive.id = world.NewId();
  receive.region = region;
  receive.offset = offset;
  receive.length = length;
  receive.is_bad = region != nullptr && length > 0 &&
                   (region->peer != &peer || !AllowsLocalWrite(*region));
  return receive;
}

// Expects what posting to a queue of `size` places must answer, of which
// `used`, less perhaps `maybe_free`, are taken.
void ExpectRoom(const World& world, size_t size, size_t used,
                size_t maybe_free) {
  if (used < size) {
    world.Expect({0});
  } else if (used - std::min(used, maybe_free) >= size) {
    world.Expect({RPMA_E_PROVIDER});
  } else {
    world.Expect({0, RPMA_E_PROVIDER});
  }
}

int CallReceive(World& world, End& end, const Receive& receive) {
  rpma_mr_local* const dst =
      receive.region != nullptr ? receive.region->local : nullptr;
  if (end.is_connection()) {
    return world.Call("rpma_recv", [&] {
      return world.api.recv(end.conn, dst, receive.offset, receive.length,
                            Context(receive.id));
    });
  }
  return world.Call("rpma_conn_req_recv", [&] {
    return world.api.conn_req_recv(end.request, dst, receive.offset,
                                   receive.length, Context(receive.id));
  });
}

}  // namespace

void PostReceive(World& world, End& end, Region* region, size_t offset,
                 size_t length) {
  const Receive receive = NewReceive(world, *end.peer, region, offset, length);
  const int rc = CallReceive(world, end, receive);
  world.Say(Text("end ", end.number, ": receive ", receive.id, " ",
                 Describe(region, offset, length), world.Result()));
  if (world.CallFailed()) return world.ExpectFailure({RPMA_E_PROVIDER});
  if (!end.is_connection() && region == nullptr) {
    return world.Expect({RPMA_E_INVAL});
  }
  if (end.config.srq != nullptr) return world.Expect({RPMA_E_PROVIDER});
  const size_t used = end.receives.size();
  const size_t on_the_way =
      end.other != nullptr ? end.other->messages.size() - end.received : 0;
  if (!end.is_struck || rc != RPMA_E_PROVIDER) {
    ExpectRoom(world, end.config.rq_size, used,
               end.may_fail ? used : on_the_way);
  }
  if (rc != 0) return;
  end.receives.push_back(receive);
  ++end.receives_posted;
  if (end.other != nullptr) Pair(world, end, end.receives_posted - 1);
  world.ApplyFaults();
}

void PostReceive(World& world, Srq& srq, Region* region, size_t offset,
                 size_t length) {
  Receive receive = NewReceive(world, *srq.peer, region, offset, length);
  const int rc = world.Call("rpma_srq_recv", [&] {
    return world.api.srq_recv(srq.handle,
                              region != nullptr ? region->local : nullptr,
                              offset, length, Context(receive.id));
  });
  world.Say(Text("srq ", srq.number, ": receive ", receive.id, " ",
                 Describe(region, offset, length), world.Result()));
  if (world.CallFailed()) return world.ExpectFailure({RPMA_E_PROVIDER});
  ExpectRoom(world, srq.size, srq.receives.size(),
             srq.maybe_gone + UnreceivedMessages(world, srq));
  if (rc != 0) return;
  if (region != nullptr && !receive.is_bad) {
    receive.transfer = region->model->Begin(region->guard + offset,
                                            AnyContent(length), {}, world.now);
  }
  srq.shortest = std::min(srq.shortest, length);
  srq.has_bad = srq.has_bad || receive.is_bad;
  srq.receives.push_back(receive);
  WeighAllShared(world, srq);
}

void OnMessage(World& world, End& end) {
  const size_t index = end.other->messages.size() - 1;
  if (end.config.srq != nullptr) {
    // It may take the receive of one that was sent before.
    return WeighAllShared(world, *end.config.srq);
  }
  Pair(world, end, index);
  if (world.rules.is_iwarp && index >= end.receives_posted) {
    MarkMayFail(world.rules, end);
  }
}

void ForgetBuffers(World& world, End& end, Region& region) {
  for (size_t i = 0; i < end.receives.size(); ++i) {
    Receive& receive = end.receives[i];
    if (receive.region != &region || receive.length == 0) continue;
    const size_t index = FirstIndex(end) + i;
    const bool message_is_posted =
        end.other != nullptr && index < end.other->messages.size();
    if (!message_is_posted) {
      receive.is_bad = true;
      continue;
    }
    receive.may_be_bad = true;
    const Message& message = end.other->messages[index];
    if (!message.is_write && message.length > 0) {
      Refuse(world, end, message, IBV_WC_REM_OP_ERR, false);
    }
  }
}

void ForgetBuffers(World& world, Srq& srq, Region& region) {
  for (Receive& receive : srq.receives) {
    if (receive.region != &region || receive.length == 0) continue;
    receive.may_be_bad = true;
    srq.has_bad = true;
  }
  if (srq.has_bad) WeighAllShared(world, srq);
}

void CloseReceive(const Receive& receive) {
  if (receive.region != nullptr) {
    receive.region->model->Close(receive.transfer);
  }
}

void FinishMessage(World& world, End& receiver, size_t message) {
  if (receiver.config.srq != nullptr || message < FirstIndex(receiver)) return;
  const size_t place = message - FirstIndex(receiver);
  if (place >= receiver.receives.size()) return;
  const Receive& receive = receiver.receives[place];
  if (receive.region == nullptr) return;
  receive.region->model->Finish(receive.transfer, world.now);
}

}  // namespace rpma::sim
