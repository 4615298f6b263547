// SPDX-License-Identifier: BSD-3-Clause
// Connections.

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/connecting.h"
#include "tests/sim/receiving.h"
#include "tests/sim/sending.h"
#include "tests/sim/setup.h"

namespace rpma::sim {
namespace {

constexpr uint8_t kDirectWrite = 1;
constexpr uint8_t kNativeFlush = 2;

bool IsReadable(int fd) {
  pollfd entry = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1;
}

size_t MaxDataOf(const World& world, const End& end) {
  return end.is_active() ? world.rules.max_request_data
                         : world.rules.max_accept_data;
}

// Its private data being right, or none.
void ExpectConnected(const World& world, const End& end) {
  const bool may_fail = end.is_struck || MayBeWithdrawn(world.rules, end) ||
                        (!end.is_active() && end.other->disconnected);
  world.Expect({0}, may_fail);
}

void CheckAnswer(const World& world, const End& end,
                 const PrivateData& private_data) {
  if (private_data.has_value() && private_data->empty()) {
    world.Expect({RPMA_E_INVAL});
  } else if (private_data.has_value() &&
             private_data->size() > MaxDataOf(world, end)) {
    world.Expect({RPMA_E_PROVIDER});
  } else {
    ExpectConnected(world, end);
  }
}

void TakeQueue(World& world, Cq& cq, End& end, rpma_cq* handle) {
  cq.number = world.NewNumber("cq");
  cq.handle = handle;
  cq.is_shared_channel = end.config.shared_channel;
  cq.feeders.push_back(&end);
  int fd = -1;
  Require(rpma_cq_get_fd(handle, &fd) == 0, "cq ", cq.number,
          " has no descriptor");
  MakeNonBlocking(fd);
}

void TakeQueues(World& world, End& end) {
  rpma_cq* cq = nullptr;
  rpma_cq* rcq = nullptr;
  int fd = -1;
  Require(rpma_conn_get_qp_num(end.conn, &end.qp_num) == 0 &&
              rpma_conn_get_cq(end.conn, &cq) == 0 &&
              rpma_conn_get_rcq(end.conn, &rcq) == 0 &&
              rpma_conn_get_event_fd(end.conn, &fd) == 0,
          "end ", end.number, " lacks something");
  Require((rcq != nullptr) == (end.rcq != nullptr), "end ", end.number,
          rcq != nullptr ? " has" : " lacks", " a receive completion queue");
  MakeNonBlocking(fd);
  TakeQueue(world, *end.cq, end, cq);
  if (rcq != nullptr) TakeQueue(world, *end.rcq, end, rcq);
  const Srq* const srq = end.config.srq;
  if (srq != nullptr && srq->rcq != nullptr) {
    end.recv_cq = srq->rcq.get();
    srq->rcq->feeders.push_back(&end);
  } else {
    end.recv_cq = rcq != nullptr ? end.rcq.get() : end.cq.get();
  }
  if (end.recv_cq->may_lose) MarkMayFail(world.rules, end);
}

// The request is on its way.
void OnSent(World& world, End& end) {
  end.sent = true;
  end.is_under_way = world.is_stepped();
  Endpoint* const listener = FindListener(world, end.address, end.port);
  if (end.arrives_at == nullptr) {
    end.no_answer = true;
  } else if (listener != nullptr && listener->is_struck) {
    end.rejectable = true;
  } else if (listener != nullptr) {
    end.endpoint = listener;
    listener->callers.push_back(&end);
  } else {
    end.rejectable = end.reject_is_due = true;
  }
}

std::vector<uint8_t> Seen(const World& world, const End& sender) {
  std::vector<uint8_t> bytes = sender.private_data;
  if (world.rules.pads_private_data) bytes.resize(MaxDataOf(world, sender));
  return bytes;
}

void CheckPrivateData(const World& world, const End& end) {
  // Whether they have come is not known.
  if (end.is_active() && end.events_in_doubt) return;
  rpma_conn_private_data actual = {};
  Require(rpma_conn_get_private_data(end.conn, &actual) == 0, "end ",
          end.number, " does not tell its private data");
  std::vector<uint8_t> expected;
  if (!end.is_active() || end.established) expected = Seen(world, *end.other);
  const bool equal =
      actual.len == expected.size() &&
      (expected.empty()
           ? actual.ptr == nullptr
           : std::memcmp(actual.ptr, expected.data(), expected.size()) == 0);
  Require(equal, "end ", end.number, " has other private data (",
          unsigned{actual.len}, " bytes) than were sent");
}

// It was refused, so its request waits nowhere any more.
void LeaveEndpoint(End& end) {
  if (end.endpoint == nullptr) return;
  std::erase(end.endpoint->callers, &end);
  if (end.endpoint->refused_unseen > 0) --end.endpoint->refused_unseen;
  end.endpoint = nullptr;
}

}  // namespace

void Connect(World& world, End& end, const PrivateData& private_data) {
  std::vector<uint8_t> bytes = private_data.value_or(std::vector<uint8_t>());
  const rpma_conn_private_data given = {
      .ptr = bytes.data(), .len = static_cast<uint8_t>(bytes.size())};
  const int rc = world.Call("rpma_conn_req_connect", [&] {
    return world.api.conn_req_connect(
        &end.request, private_data.has_value() ? &given : nullptr, &end.conn);
  });
  world.Say(Text("end ", end.number,
                 end.is_active() ? ": connect with " : ": accept with ",
                 bytes.size(), " bytes", world.Result()));
  if (world.CallFailed()) {
    // Perhaps only in deleting what it could not connect.
    world.ExpectFailure({RPMA_E_PROVIDER, RPMA_E_INVAL});
    world.Reclaim();
  } else {
    CheckAnswer(world, end, private_data);
  }
  Require(end.request == nullptr, "rpma_conn_req_connect() left a request");
  Require((end.conn != nullptr) == (rc == 0),
          "rpma_conn_req_connect() gave a connection and failed");
  if (rc != 0) return ForgetEnd(world, end);
  end.stage = Stage::kConnection;
  end.private_data = std::move(bytes);
  TakeQueues(world, end);
  if (end.is_active()) {
    OnSent(world, end);
  } else {
    end.accepted = true;
  }
  CheckPrivateData(world, end);
  if (MayGiveUp(world.rules)) DoubtConnection(world.rules, end);
  world.ApplyFaults();
}

bool HasEvent(const End& end) {
  int fd = -1;
  return rpma_conn_get_event_fd(end.conn, &fd) == 0 && IsReadable(fd);
}

bool HasRequest(const Endpoint& endpoint) {
  int fd = -1;
  return rpma_ep_get_fd(endpoint.handle, &fd) == 0 && IsReadable(fd);
}

namespace {

// An event has gone by, nobody knows which.
void PutInDoubt(World& world, End& end) {
  end.events_in_doubt = true;
  MarkMayFail(world.rules, end);
}

// A provider call failed in rpma_conn_next_event(); false: nothing was fetched.
bool FailToFetch(World& world, End& end) {
  world.ExpectFailure({RPMA_E_PROVIDER});
  if (world.faults.CallFailed("rdma_get_cm_event")) return false;
  world.Reclaim();
  PutInDoubt(world, end);
  return true;
}

}  // namespace

bool NextEvent(World& world, End& end) {
  const bool was_readable = HasEvent(end);
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  const int rc = world.Call("rpma_conn_next_event", [&] {
    return world.api.conn_next_event(end.conn, &event);
  });
  const char* const name = rpma_utils_conn_event_2str(event);
  world.Say(Text("end ", end.number, ": next event", world.Result(),
                 rc == 0 ? Text(", ", name) : ""));
  if (world.CallFailed()) return FailToFetch(world, end);
  if (rc == RPMA_E_UNKNOWN && world.faults.TakeEventAs()) {
    PutInDoubt(world, end);
    return true;
  }
  if (rc == RPMA_E_NO_EVENT) {
    // A rejection that follows a failure to connect is not shown.
    Require(!was_readable || end.ended || end.events_in_doubt, "end ",
            end.number, " was readable, but gave no event");
    return false;
  }
  world.Expect({0});
  Require(MayGet(world.rules, end, event), "end ", end.number, " got \"", name,
          "\", which cannot have come");
  OnEvent(world.rules, end, event);
  world.Mark(name);
  if (event == RPMA_CONN_REJECTED) LeaveEndpoint(end);
  CheckPrivateData(world, end);
  return true;
}

void Disconnect(World& world, End& end) {
  const int rc = world.Call("rpma_conn_disconnect", [&] {
    return world.api.conn_disconnect(end.conn);
  });
  world.Say(Text("end ", end.number, ": disconnect", world.Result()));
  if (world.CallFailed()) return world.ExpectFailure({RPMA_E_PROVIDER});
  world.Expect({0}, end.is_struck);
  if (rc == 0) OnDisconnect(world.rules, end);
}

void DeleteConnection(World& world, End& end) {
  world.Call("rpma_conn_delete",
             [&] { return world.api.conn_delete(&end.conn); });
  world.Say(Text("end ", end.number, ": delete", world.Result()));
  if (world.CallFailed()) {
    world.ExpectFailure({RPMA_E_PROVIDER});
    world.Reclaim();
  } else {
    world.Expect({0}, end.is_struck);
  }
  Require(end.conn == nullptr, "rpma_conn_delete() left a handle");
  ForgetEnd(world, end);
}

void ForgetEnd(World& world, End& end) {
  OnDelete(world.rules, end);
  AbandonRequests(end);
  Srq* const srq = end.config.srq;
  if (srq != nullptr && srq->rcq == nullptr && end.other != nullptr) {
    srq->maybe_gone += std::min(end.other->messages.size() - end.received,
                                srq->receives.size());
  }
  for (const Receive& receive : end.receives) CloseReceive(receive);
  end.receives.clear();
}

void ApplyPeerCfg(World& world, End& end, bool direct_write) {
  const bool native = direct_write && end.other->node().native_flush;
  const auto descriptor = static_cast<uint8_t>(
      (direct_write ? kDirectWrite : 0) | (native ? kNativeFlush : 0));
  rpma_peer_cfg* made = nullptr;
  Require(rpma_peer_cfg_from_descriptor(&descriptor, 1, &made) == 0,
          "no peer configuration from its descriptor");
  const Owned<rpma_peer_cfg, rpma_peer_cfg_delete> cfg(made);
  world.Call("rpma_conn_apply_remote_peer_cfg", [&] {
    return rpma_conn_apply_remote_peer_cfg(end.conn, cfg.get());
  });
  world.Say(Text("end ", end.number, ": apply peer configuration ",
                 unsigned{descriptor}, world.Result()));
  world.Expect({0});
  end.direct_write_applied = direct_write;
  end.native_flush_applied = native;
}

}  // namespace rpma::sim
