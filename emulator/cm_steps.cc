// SPDX-License-Identifier: BSD-3-Clause
// The steps of the connection manager of a stepped world, and what the trace
// and the report of a deadlock say of it.

#include <cinttypes>
#include <iterator>
#include <utility>

#include "emulator/cm_impl.h"
#include "emulator/fabric.h"

namespace rpma::emu {
namespace {

const char* NameOf(CmMessageKind kind) {
  switch (kind) {
    case CmMessageKind::kReq:
      return "REQ";
    case CmMessageKind::kRep:
      return "REP";
    case CmMessageKind::kRtu:
      return "RTU";
    case CmMessageKind::kRej:
      return "REJ";
    case CmMessageKind::kDreq:
      return "DREQ";
    case CmMessageKind::kDrep:
      return "DREP";
  }
  return "";
}

// What an id in this state waits for; nullptr: for nothing.
const char* WaitOf(CmState state) {
  switch (state) {
    case CmState::kConnectSent:
      return "waits for its peer to accept or reject";
    case CmState::kRequestReceived:
      return "waits for the program to accept or reject it";
    case CmState::kAccepted:
      return "waits for its peer to fetch the response";
    case CmState::kDisconnectSent:
      return "waits for its peer to disconnect";
    default:
      return nullptr;
  }
}

// Whether two messages have this end in common. Ends that were never set have
// nothing in common.
bool Same(const std::weak_ptr<CmId>& a, const std::weak_ptr<CmId>& b) {
  const std::weak_ptr<CmId> unset;
  const auto equal = [](const auto& x, const auto& y) {
    return !x.owner_before(y) && !y.owner_before(x);
  };
  return !equal(a, unset) && equal(a, b);
}

}  // namespace

CmSteps::CmSteps(Scheduler& scheduler, ConnectionManager::Impl& cm,
                 std::weak_ptr<void> owner)
    : scheduler_(scheduler),
      trace_(scheduler.trace()),
      cm_(cm),
      next_message_(scheduler.StreamOf(ObjectKind::kCmId, 0)) {
  scheduler.Add(*this, std::move(owner));
}

CmSteps::~CmSteps() { scheduler_.Remove(*this); }

void CmSteps::Step() {
  ConnectionManager::Impl::Lock lock(cm_.mutex);
  CmMessages one;
  one.splice(one.end(), cm_.outbox, ChooseMessage());
  cm_.Travel(lock, one);
  cm_.Deliver(lock);
}

// Messages from or to one id keep their order.
CmMessages::iterator CmSteps::ChooseMessage() {
  const auto is_first = [this](CmMessages::iterator message) {
    for (auto earlier = cm_.outbox.begin(); earlier != message; ++earlier) {
      if (Same(earlier->from, message->from)) return false;
      if (Same(earlier->to, message->to)) return false;
    }
    return true;
  };
  size_t choices = 0;
  for (auto each = cm_.outbox.begin(); each != cm_.outbox.end(); ++each) {
    choices += is_first(each) ? 1 : 0;
  }
  size_t skip = next_message_.Below(choices);
  for (auto each = cm_.outbox.begin();; ++each) {
    if (is_first(each) && skip-- == 0) return each;
  }
}

void CmSteps::SayWhatItWaitsFor(std::vector<std::string>* lines) {
  const std::lock_guard lock(cm_.mutex);
  for (const auto& [number, id] : cm_.ids) {
    const std::string name = "CM id " + std::to_string(number) + " ";
    const char* const wait = WaitOf(id->state);
    if (wait != nullptr) lines->push_back(name + wait);
    if (!id->unacked.empty()) {
      lines->push_back(name + "waits for the program to acknowledge " +
                       NameOf(id->unacked.front().event));
    }
    const EventChannel* const channel = id->event_channel();
    if (channel == nullptr) continue;
    for (const CmEvent& event : id->event_channel()->unread()) {
      if (event.account != id.get()) continue;
      lines->push_back(name + "has an event, " + NameOf(event.event) +
                       ", that nobody fetched from event channel " +
                       std::to_string(channel->number));
    }
  }
}

void CmSteps::Sent(const CmMessage& message, const CmId& from) {
  trace_.Add("CM id %" PRIu64 " sends message %" PRIu64 ", %s", from.number,
             message.number, NameOf(message.kind));
}

void CmSteps::Tell(const CmMessage& message, const char* what) {
  trace_.Add("message %" PRIu64 ", %s, %s", message.number,
             NameOf(message.kind), what);
}

void CmSteps::Posted(const CmEvent& event) {
  scheduler_.NoteEvent();
  trace_.Add("CM id %" PRIu64 " gets %s, status %d", event.account->number,
             NameOf(event.event), event.status);
}

void CmSteps::Fetched(const EventChannel& channel, const CmEvent& event) {
  trace_.Add("event channel %u gives %s of CM id %" PRIu64, channel.number,
             NameOf(event.event), event.account->number);
}

void CmSteps::GotQueuePair(const CmId& id) {
  trace_.Add("CM id %" PRIu64 " gets QP %u", id.number,
             id.queue_pair->number());
}

}  // namespace rpma::emu
