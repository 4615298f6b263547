// SPDX-License-Identifier: BSD-3-Clause
// The completions of receives.

#include <arpa/inet.h>

#include <algorithm>

#include "tests/sim/receiving.h"

namespace rpma::sim {
namespace {

// A completion of a receive, and where the receive was.
struct Arrival {
  World& world;
  Cq& cq;
  End& end;
  const ibv_wc& wc;
  Receive receive;
};

std::string Name(const Arrival& arrival) {
  return Text("receive ", arrival.receive.id, " of end ", arrival.end.number);
}

bool IsUnusable(const Receive& receive) {
  return receive.is_bad || receive.may_be_bad;
}

// The message that the next receive gets, or nullptr.
Message* NextMessage(const Arrival& arrival) {
  const End& end = arrival.end;
  if (end.other == nullptr) return nullptr;
  auto& messages = end.other->messages;
  return end.received < messages.size() ? &messages[end.received] : nullptr;
}

bool Matches(const ibv_wc& wc, const Message& message) {
  const bool has_imm = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
  return wc.opcode ==
             (message.is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) &&
         wc.byte_len == message.length && has_imm == message.with_imm &&
         (!has_imm || wc.imm_data == htonl(message.imm));
}

// Completions of earlier messages may be lost.
void SkipLost(const Arrival& arrival) {
  End& end = arrival.end;
  if (!arrival.cq.may_lose || end.config.srq == nullptr) return;
  const auto& messages = end.other->messages;
  size_t index = end.received;
  while (index < messages.size() && !Matches(arrival.wc, messages[index])) {
    ++index;
  }
  if (index < messages.size()) end.received = index;
}

void CheckSuccess(const Arrival& arrival) {
  World& world = arrival.world;
  End& end = arrival.end;
  const Receive& receive = arrival.receive;
  Require(!end.receive_queue_flushes, Name(arrival),
          " succeeded after one of its queue was flushed");
  if (end.other != nullptr) SkipLost(arrival);
  const Message* const message = NextMessage(arrival);
  Require(message != nullptr, Name(arrival),
          " succeeded, but the other side has sent nothing for it");
  const ibv_wc& wc = arrival.wc;
  Require(Matches(wc, *message), Name(arrival), " completed with opcode ",
          int{wc.opcode}, ", byte_len ", wc.byte_len, ", wc_flags ",
          wc.wc_flags, ", but request ", message->request, " brings ",
          message->is_write ? "a write" : "a send", " of ", message->length,
          " bytes", message->with_imm ? Text(" with ", message->imm) : "");
  Require(!message->is_undelivered, Name(arrival), " got request ",
          message->request, ", which has failed without any effect");
  ++end.received;
  world.Mark(message->is_write ? "received write" : "received");
  if (receive.region == nullptr) return;
  MemoryModel& model = *receive.region->model;
  if (message->is_write) {
    model.Cancel(receive.transfer);
  } else {
    Require(message->length <= receive.length &&
                (!receive.is_bad || message->length == 0),
            Name(arrival), " succeeded, but its buffer does not do");
    model.Finish(receive.transfer, message->bytes, world.now);
  }
  model.Check(receive.region->bytes());
}

// Whether the message that it got explains the failure.
bool IsExplained(const Arrival& arrival) {
  const Message* const message = NextMessage(arrival);
  if (message == nullptr || message->is_write) return false;
  const Receive& receive = arrival.receive;
  switch (arrival.wc.status) {
    case IBV_WC_LOC_LEN_ERR:
      return message->length > receive.length;
    case IBV_WC_LOC_PROT_ERR:
      return !arrival.world.rules.is_iwarp && IsUnusable(receive);
    case IBV_WC_GENERAL_ERR:
      return arrival.world.rules.is_iwarp && IsUnusable(receive);
    default:
      return false;
  }
}

// Whether a fault has failed it, or the request that it got.
bool IsInjected(const Arrival& arrival) {
  return NextMessage(arrival) != nullptr &&
         arrival.end.receive_errors.Has(arrival.wc.status);
}

// Whether the sender may think that the message for a receive has not arrived.
bool IsStillOpen(const Arrival& arrival) {
  const End& end = arrival.end;
  if (end.other == nullptr || arrival.cq.may_lose) return true;
  if (arrival.world.rules.is_iwarp || end.is_struck) return true;
  const size_t index = end.receives_posted - end.receives.size() - 1;
  return index >= end.other->acknowledged;
}

void CheckFailure(const Arrival& arrival) {
  World& world = arrival.world;
  End& end = arrival.end;
  const ibv_wc_status status = arrival.wc.status;
  if (status == IBV_WC_WR_FLUSH_ERR && !IsInjected(arrival)) {
    Require(end.config.srq == nullptr, Name(arrival),
            " was flushed from a shared receive queue");
    Require(end.may_fail, Name(arrival),
            " was flushed, but nothing has failed on its connection");
    Require(IsStillOpen(arrival), Name(arrival),
            " was flushed, but the message for it has arrived");
    end.receive_queue_flushes = true;
  } else {
    Require(!end.receive_queue_flushes &&
                (IsExplained(arrival) || IsInjected(arrival)),
            Name(arrival), " completed with ", ToText(status),
            " for no reason");
    ++end.received;
  }
  world.Mark("receive " + ToText(status));
  const Receive& receive = arrival.receive;
  if (receive.region != nullptr)
    receive.region->model->Cancel(receive.transfer);
  MarkFailed(world.rules, end);
}

// Takes the receive from its queue.
Receive Take(Cq& cq, End& end, uint64_t id) {
  Srq* const srq = end.config.srq;
  auto& receives = srq != nullptr ? srq->receives : end.receives;
  const auto found =
      std::find_if(receives.begin(), receives.end(),
                   [&](const Receive& receive) { return receive.id == id; });
  Require(found != receives.end(), "a completion of end ", end.number,
          " names ", id,
          ", which was never posted there or has completed before");
  const Receive receive = *found;
  if (srq != nullptr) {
    receives.erase(found);
    Require(id > end.last_shared_receive, "receive ", id, " of end ",
            end.number, " completed after ", end.last_shared_receive);
    end.last_shared_receive = id;
    return receive;
  }
  Require(found == receives.begin() || cq.may_lose, "receive ", id, " of end ",
          end.number, " completed before ", receives.front().id);
  for (auto lost = receives.begin(); lost != found; ++lost) CloseReceive(*lost);
  receives.erase(receives.begin(), found + 1);
  // The message of each receive of an own queue is the one of the same index.
  const size_t index = end.receives_posted - receives.size() - 1;
  if (cq.may_lose && end.received < index) end.received = index;
  return receive;
}

}  // namespace

void CheckReceive(World& world, Cq& cq, End& end, const ibv_wc& wc) {
  Require(&cq == end.recv_cq, "a receive of end ", end.number,
          " completed in the wrong queue");
  const Arrival arrival = {world, cq, end, wc, Take(cq, end, wc.wr_id)};
  if (wc.status == IBV_WC_SUCCESS) {
    CheckSuccess(arrival);
  } else {
    CheckFailure(arrival);
  }
}

void CheckAllArrived(const World& world, const Cq& cq) {
  if (cq.may_lose || world.rules.is_iwarp) return;
  for (const End* const end : cq.feeders) {
    if (end->recv_cq != &cq || end->other == nullptr || end->is_gone()) {
      continue;
    }
    if (end->is_struck) continue;
    Require(end->received >= end->other->acknowledged, "request ",
            end->other->messages[end->received].request, " of end ",
            end->other->number, " has completed, but end ", end->number,
            " has not got it");
  }
}

}  // namespace rpma::sim
