// SPDX-License-Identifier: BSD-3-Clause
// Draws what to post.

#include <algorithm>

#include "tests/sim/actions.h"
#include "tests/sim/receiving.h"
#include "tests/sim/rights.h"
#include "tests/sim/sending.h"

namespace rpma::sim {
namespace {

constexpr size_t kMaxMessage = 64;  // bytes

// A connection that can post, if there is one.
End* DrawEnd(World& world) {
  End* end = nullptr;
  if (!world.parameters.OneIn(20)) {
    end = world.PickOne(world.ends, [](const End& candidate) {
      return candidate.is_connection() && candidate.other != nullptr &&
             (candidate.established || candidate.accepted) &&
             !candidate.failed && !candidate.other->failed;
    });
    if (end == nullptr && !world.parameters.OneIn(4)) return nullptr;
  }
  if (end == nullptr) {
    end = world.PickOne(world.ends, [](const End& candidate) {
      return candidate.is_connection() && candidate.other != nullptr;
    });
  }
  return end;
}

// A region on `peer` that allows it or, sometimes, any.
template <typename Allows>
Region* DrawRegion(World& world, const Peer& peer, Allows allows) {
  if (world.parameters.Percent(world.scenario.wrong_region)) {
    return world.PickOne(world.regions, [](const Region& region) {
      return region.registered();
    });
  }
  return world.PickOne(world.regions, [&](const Region& region) {
    return region.registered() && region.peer == &peer && allows(region);
  });
}

Region* DrawRemote(World& world, const End& end, OpKind kind) {
  if (world.parameters.Percent(world.scenario.wrong_region)) {
    return world.PickOne(world.regions, [](const Region& region) {
      return region.remote != nullptr;
    });
  }
  return world.PickOne(world.regions, [&](const Region& region) {
    if (!region.registered() || region.peer != end.other->peer) return false;
    switch (kind) {
      case OpKind::kRead:
        return AllowsRemoteRead(region);
      case OpKind::kWrite:
      case OpKind::kAtomicWrite:
        return AllowsRemoteWrite(world.rules, region);
      default:
        return true;
    }
  });
}

size_t DrawLength(World& world) {
  return world.parameters.OneIn(12) ? 0
                                    : world.parameters.Between(1, kMaxMessage);
}

// A place for `length` bytes where the walk stores, or where transfers go.
size_t DrawSource(World& world, const Region& region, size_t length) {
  return world.parameters.Between(0, region.sources - length);
}
size_t DrawSink(World& world, const Region& region, size_t length) {
  return world.parameters.Between(region.sources, region.size - length);
}

// Whether the other side has a receive for one message more; sometimes it is
// sent all the same, and waits with all that follows.
bool WantsMessage(World& world, const End& end) {
  const End& other = *end.other;
  const Srq* const srq = other.config.srq;
  const size_t on_the_way = end.messages.size() - other.received;
  const size_t receives =
      srq != nullptr ? srq->receives.size() : other.receives.size();
  return receives > on_the_way || world.parameters.OneIn(8);
}

bool DrawSend(World& world, End& end, Posting* posting) {
  if (!WantsMessage(world, end)) return false;
  posting->with_imm = world.parameters.OneIn(3) && !world.rules.is_iwarp;
  if (posting->length == 0 && world.parameters.OneIn(2)) return true;
  posting->local =
      DrawRegion(world, *end.peer, [](const Region&) { return true; });
  if (posting->local == nullptr) return false;
  posting->local_offset = DrawSource(world, *posting->local, posting->length);
  return true;
}

bool DrawWrite(World& world, End& end, Posting* posting) {
  posting->with_imm = world.parameters.OneIn(4) &&
                      (!world.rules.is_iwarp || world.parameters.OneIn(8)) &&
                      WantsMessage(world, end);
  if (posting->length == 0 && world.parameters.OneIn(2)) return true;
  posting->local =
      DrawRegion(world, *end.peer, [](const Region&) { return true; });
  posting->remote = DrawRemote(world, end, OpKind::kWrite);
  if (posting->local == nullptr || posting->remote == nullptr) return false;
  posting->local_offset = DrawSource(world, *posting->local, posting->length);
  posting->remote_offset = DrawSink(world, *posting->remote, posting->length);
  return true;
}

bool DrawRead(World& world, End& end, Posting* posting) {
  if (posting->length == 0 && world.parameters.OneIn(2)) return true;
  posting->local = DrawRegion(world, *end.peer, [&](const Region& region) {
    return AllowsReadInto(world.rules, region);
  });
  posting->remote = DrawRemote(world, end, OpKind::kRead);
  if (posting->local == nullptr || posting->remote == nullptr) return false;
  posting->local_offset = DrawSink(world, *posting->local, posting->length);
  posting->remote_offset =
      world.parameters.Between(0, posting->remote->size - posting->length);
  return true;
}

bool DrawFlush(World& world, End& end, Posting* posting) {
  Random& random = world.parameters;
  posting->remote = DrawRemote(world, end, OpKind::kFlush);
  if (posting->remote == nullptr) return false;
  posting->flush_type =
      random.OneIn(2) ? RPMA_FLUSH_TYPE_PERSISTENT : RPMA_FLUSH_TYPE_VISIBILITY;
  const size_t size = posting->remote->size;
  posting->remote_offset = random.Between(0, size);
  posting->length = random.Between(0, size - posting->remote_offset);
  if (random.OneIn(15)) posting->length = size + random.Below(100);
  if (random.OneIn(40)) posting->remote_offset = size + 1;
  return true;
}

bool DrawAtomicWrite(World& world, End& end, Posting* posting) {
  Random& random = world.parameters;
  posting->length = RPMA_ATOMIC_WRITE_ALIGNMENT;
  posting->remote = DrawRemote(world, end, OpKind::kAtomicWrite);
  if (posting->remote == nullptr) return false;
  const Region& dst = *posting->remote;
  posting->remote_offset = DrawSink(world, dst, 16) / 8 * 8 + 8;
  if (random.OneIn(20)) posting->remote_offset += random.Below(8);
  if (random.OneIn(40)) posting->remote_offset = dst.size;
  return true;
}

bool DrawRequestOfKind(World& world, OpKind kind) {
  End* const end = DrawEnd(world);
  if (end == nullptr) return false;
  Posting posting;
  posting.kind = kind;
  posting.length = DrawLength(world);
  posting.signaled = !world.parameters.Percent(world.scenario.unsignaled);
  posting.imm = static_cast<uint32_t>(world.data.Next());
  bool drawn = false;
  switch (kind) {
    case OpKind::kSend:
      drawn = DrawSend(world, *end, &posting);
      break;
    case OpKind::kWrite:
      drawn = DrawWrite(world, *end, &posting);
      break;
    case OpKind::kRead:
      drawn = DrawRead(world, *end, &posting);
      break;
    case OpKind::kFlush:
      drawn = DrawFlush(world, *end, &posting);
      break;
    case OpKind::kAtomicWrite:
      drawn = DrawAtomicWrite(world, *end, &posting);
      break;
  }
  if (drawn) PostRequest(world, *end, posting);
  return drawn;
}

// A buffer for a receive; no region: without one.
struct Buffer {
  Region* region = nullptr;
  size_t offset = 0;
  size_t length = 0;
};

Buffer DrawBuffer(World& world, const Peer& peer) {
  Random& random = world.parameters;
  Buffer buffer;
  if (random.Percent(world.scenario.short_receive) && random.OneIn(2)) {
    return buffer;
  }
  buffer.region = DrawRegion(world, peer, [](const Region& region) {
    return AllowsLocalWrite(region);
  });
  if (buffer.region == nullptr) return buffer;
  buffer.length = random.Percent(world.scenario.short_receive)
                      ? random.Below(kMaxMessage)
                      : kMaxMessage;
  buffer.offset = DrawSink(world, *buffer.region, buffer.length);
  return buffer;
}

bool DrawReceive(World& world, Stage stage) {
  const bool any = world.parameters.OneIn(16);
  End* const end = world.PickOne(world.ends, [&](const End& candidate) {
    return candidate.stage == stage &&
           (any || (candidate.config.srq == nullptr && !candidate.failed));
  });
  if (end == nullptr) return false;
  const Buffer buffer = DrawBuffer(world, *end->peer);
  if (buffer.region == nullptr && world.scenario.short_receive == 0) {
    return false;
  }
  PostReceive(world, *end, buffer.region, buffer.offset, buffer.length);
  return true;
}

bool DrawSrqReceive(World& world) {
  Srq* const srq = world.PickOne(world.srqs, [](const Srq& candidate) {
    return candidate.handle != nullptr;
  });
  if (srq == nullptr) return false;
  const Buffer buffer = DrawBuffer(world, *srq->peer);
  if (buffer.region == nullptr && world.scenario.short_receive == 0) {
    return false;
  }
  PostReceive(world, *srq, buffer.region, buffer.offset, buffer.length);
  return true;
}

// Calls that are refused for their arguments, and so do nothing.
bool DrawInvalidRequest(World& world) {
  End* const end = DrawEnd(world);
  if (end == nullptr) return false;
  Region* const local =
      DrawRegion(world, *end->peer, [](const Region&) { return true; });
  Region* const remote = DrawRemote(world, *end, OpKind::kFlush);
  if (local == nullptr || remote == nullptr) return false;
  const size_t beyond = local->size + 1;
  const size_t size = remote->size;
  rpma_conn* const conn = end->conn;
  constexpr int kFlags = RPMA_F_COMPLETION_ALWAYS;
  const size_t which = world.parameters.Below(6);
  world.Call("a call with an invalid argument", [&] {
    switch (which) {
      case 0:
        return world.api.write(conn, remote->remote, size, local->local, 0, 1,
                               kFlags, nullptr);
      case 1:
        return world.api.read(conn, local->local, beyond, remote->remote, 0, 0,
                              kFlags, nullptr);
      case 2:
        return world.api.send(conn, local->local, 0, beyond, kFlags, nullptr);
      case 3:
        return world.api.send(conn, local->local, 0, 1, 0, nullptr);
      case 4:
        return world.api.recv(conn, local->local, beyond, 0, nullptr);
      default:
        return world.api.flush(conn, remote->remote, size + 1, 0,
                               RPMA_FLUSH_TYPE_VISIBILITY, kFlags, nullptr);
    }
  });
  world.Say(
      Text("end ", end->number, ": invalid call ", which, world.Result()));
  world.Expect({RPMA_E_INVAL});
  return true;
}

}  // namespace

bool ActOnRequests(World& world, ActionKind kind) {
  switch (kind) {
    case ActionKind::kSrqRecv:
      return DrawSrqReceive(world);
    case ActionKind::kRequestRecv:
      return DrawReceive(world, Stage::kRequest);
    case ActionKind::kRecv:
      return DrawReceive(world, Stage::kConnection);
    case ActionKind::kSend:
      return DrawRequestOfKind(world, OpKind::kSend);
    case ActionKind::kWrite:
      return DrawRequestOfKind(world, OpKind::kWrite);
    case ActionKind::kRead:
      return DrawRequestOfKind(world, OpKind::kRead);
    case ActionKind::kFlush:
      return DrawRequestOfKind(world, OpKind::kFlush);
    case ActionKind::kAtomicWrite:
      return DrawRequestOfKind(world, OpKind::kAtomicWrite);
    case ActionKind::kInvalidRequest:
      return DrawInvalidRequest(world);
    default:
      return false;
  }
}

}  // namespace rpma::sim
