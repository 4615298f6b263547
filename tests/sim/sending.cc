// SPDX-License-Identifier: BSD-3-Clause
// Posting of requests other than receives.

#include "tests/sim/sending.h"

#include <algorithm>

#include "tests/sim/receiving.h"
#include "tests/sim/rights.h"

namespace rpma::sim {
namespace {

constexpr auto kWcAtomicWrite = 9;  // headers of rdma-core lack the names
constexpr auto kWcFlush = 8;
constexpr size_t kAtomicWriteSize = RPMA_ATOMIC_WRITE_ALIGNMENT;

const void* Context(uint64_t id) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(id));
}

const char* NameOf(const Posting& posting) {
  switch (posting.kind) {
    case OpKind::kSend:
      return posting.with_imm ? "rpma_send_with_imm" : "rpma_send";
    case OpKind::kWrite:
      return posting.with_imm ? "rpma_write_with_imm" : "rpma_write";
    case OpKind::kRead:
      return "rpma_read";
    case OpKind::kFlush:
      return "rpma_flush";
    case OpKind::kAtomicWrite:
      return "rpma_atomic_write";
  }
  return "";
}

std::string Describe(const End& end, const Posting& posting, uint64_t id) {
  std::string text = Text("end ", end.number, ": ", NameOf(posting) + 5, " ",
                          id, ", ", posting.length, " bytes");
  if (posting.local != nullptr) {
    text += Text(", local ", posting.local->number, "+", posting.local_offset);
  }
  if (posting.remote != nullptr) {
    text +=
        Text(", remote ", posting.remote->number, "+", posting.remote_offset);
  }
  if (!posting.signaled) text += ", unsignalled";
  return text;
}

bool IsNative(const End& end, const Posting& posting) {
  const Node& node = end.node();
  return posting.kind == OpKind::kFlush
             ? node.native_flush && end.native_flush_applied
             : posting.kind == OpKind::kAtomicWrite && node.native_atomic_write;
}

int OpcodeOf(const End& end, const Posting& posting) {
  switch (posting.kind) {
    case OpKind::kSend:
      return IBV_WC_SEND;
    case OpKind::kWrite:
      return IBV_WC_RDMA_WRITE;
    case OpKind::kRead:
      return IBV_WC_RDMA_READ;
    case OpKind::kFlush:
      return IsNative(end, posting) ? kWcFlush : int{IBV_WC_RDMA_READ};
    case OpKind::kAtomicWrite:
      return IsNative(end, posting) ? kWcAtomicWrite : int{IBV_WC_RDMA_WRITE};
  }
  return -1;
}

// --- What the call must answer

int ExpectedOfFlush(const End& end, const Posting& posting) {
  const Region& dst = *posting.remote;
  if (posting.remote_offset > dst.size) return RPMA_E_INVAL;
  const bool persistent = posting.flush_type == RPMA_FLUSH_TYPE_PERSISTENT;
  if (persistent && !end.direct_write_applied) return RPMA_E_NOSUPP;
  const int needed = persistent ? RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT
                                : RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
  return (dst.usage & needed) != 0 ? 0 : RPMA_E_NOSUPP;
}

int ExpectedOfAtomicWrite(const Posting& posting) {
  Region& dst = *posting.remote;
  const auto address =
      reinterpret_cast<uintptr_t>(dst.data()) + posting.remote_offset;
  const bool fits = posting.remote_offset + kAtomicWriteSize <= dst.size;
  const bool aligned = posting.remote_offset % kAtomicWriteSize == 0 &&
                       address % kAtomicWriteSize == 0;
  return fits && aligned ? 0 : RPMA_E_INVAL;
}

// Of the arguments alone.
int ExpectedOf(const World& world, const End& end, const Posting& posting) {
  if (posting.kind == OpKind::kFlush) return ExpectedOfFlush(end, posting);
  if (posting.kind == OpKind::kAtomicWrite) {
    return ExpectedOfAtomicWrite(posting);
  }
  if (posting.with_imm && world.rules.is_iwarp) return RPMA_E_PROVIDER;
  return 0;
}

void CheckAnswer(const World& world, const End& end, const Posting& posting) {
  const int expected = ExpectedOf(world, end, posting);
  const Readiness readiness = ReadyToSend(world.rules, end);
  const bool has_room = end.requests.size() < end.config.sq_size;
  if (expected != 0) {
    world.Expect({expected});
  } else if (!has_room || readiness == Readiness::kNo) {
    world.Expect({RPMA_E_PROVIDER});
  } else if (readiness == Readiness::kUnknown) {
    world.Expect({0, RPMA_E_PROVIDER});
  } else {
    world.Expect({0});
  }
}

// --- The call

int CallWithData(World& world, End& end, const Posting& p, int flags,
                 const void* context) {
  rpma_mr_local* const local = p.local != nullptr ? p.local->local : nullptr;
  rpma_mr_remote* const remote =
      p.remote != nullptr ? p.remote->remote : nullptr;
  const Api& api = world.api;
  if (p.kind == OpKind::kRead) {
    return api.read(end.conn, local, p.local_offset, remote, p.remote_offset,
                    p.length, flags, context);
  }
  if (p.kind == OpKind::kWrite) {
    return p.with_imm ? api.write_with_imm(end.conn, remote, p.remote_offset,
                                           local, p.local_offset, p.length,
                                           flags, p.imm, context)
                      : api.write(end.conn, remote, p.remote_offset, local,
                                  p.local_offset, p.length, flags, context);
  }
  return p.with_imm ? api.send_with_imm(end.conn, local, p.local_offset,
                                        p.length, flags, p.imm, context)
                    : api.send(end.conn, local, p.local_offset, p.length, flags,
                               context);
}

int CallApi(World& world, End& end, const Posting& posting, uint64_t id,
            std::span<const uint8_t> bytes) {
  const int flags =
      posting.signaled ? RPMA_F_COMPLETION_ALWAYS : RPMA_F_COMPLETION_ON_ERROR;
  return world.Call(NameOf(posting), [&] {
    switch (posting.kind) {
      case OpKind::kFlush:
        return world.api.flush(end.conn, posting.remote->remote,
                               posting.remote_offset, posting.length,
                               posting.flush_type, flags, Context(id));
      case OpKind::kAtomicWrite:
        return world.api.atomic_write(
            end.conn, posting.remote->remote, posting.remote_offset,
            reinterpret_cast<const char*>(bytes.data()), flags, Context(id));
      default:
        return CallWithData(world, end, posting, flags, Context(id));
    }
  });
}

// --- What will become of it

bool LacksLocalRight(const World& world, const End& end, const Posting& p) {
  if (p.local == nullptr || p.length == 0) return false;
  if (p.local->peer != end.peer) return true;
  return p.kind == OpKind::kRead && !AllowsReadInto(world.rules, *p.local);
}

bool LacksRemoteRight(const World& world, const End& end, const Posting& p) {
  // A flush of nothing still reads a byte.
  if (p.remote == nullptr || (p.length == 0 && p.kind != OpKind::kFlush)) {
    return false;
  }
  if (!p.remote->registered() || p.remote->peer != end.other->peer) return true;
  switch (p.kind) {
    case OpKind::kRead:
      return !AllowsRemoteRead(*p.remote);
    case OpKind::kWrite:
    case OpKind::kAtomicWrite:
      return !AllowsRemoteWrite(world.rules, *p.remote);
    default:
      return false;
  }
}

// On iWARP success of these says only that they have been sent.
bool IsOnlySent(const Request& request) {
  return request.opcode == IBV_WC_SEND || request.opcode == IBV_WC_RDMA_WRITE;
}

bool MayLoseRequests(const End& end) {
  return end.may_lose_requests || end.node().may_lose_requests ||
         end.other->node().may_lose_requests;
}

void Foresee(World& world, End& end, const Posting& posting, Request& request) {
  const Rules& rules = world.rules;
  End& other = *end.other;
  if (MayLoseRequests(end)) {
    request.errors.Add(ErrorOfLoss(rules));
    MarkMayFail(rules, end);
  }
  const bool is_sent_at_once = rules.is_iwarp && IsOnlySent(request);
  if (end.failed) {
    request.must_be_flushed = true;
    request.may_succeed = false;
  } else if (other.failed && !is_sent_at_once) {
    request.may_succeed = false;
  }
  if (other.may_fail) MarkMayFail(rules, end);
  if (LacksLocalRight(world, end, posting)) {
    request.errors.Add(IBV_WC_LOC_PROT_ERR);
    request.may_succeed = false;
    MarkMayFail(rules, end);
  } else if (LacksRemoteRight(world, end, posting)) {
    request.errors.Add(rules.is_iwarp ? IBV_WC_WR_FLUSH_ERR
                                      : IBV_WC_REM_ACCESS_ERR);
    if (!is_sent_at_once) request.may_succeed = false;
    request.has_no_effect = true;
    MarkMayFail(rules, end);
    MarkMayFail(rules, other);
  }
  const bool needs_receive = request.kind == OpKind::kSend || request.with_imm;
  if (needs_receive && end.node().limits_rnr_retries) {
    request.errors.Add(IBV_WC_RNR_RETRY_EXC_ERR);
    MarkMayFail(rules, end);
  }
  if (!request.may_succeed || other.failed) request.has_no_effect = true;
}

void BeginEffect(World& world, End& end, const Posting& posting,
                 std::span<const uint8_t> bytes, Request& request) {
  if (request.has_no_effect || posting.length == 0) return;
  Region* const remote = posting.remote;
  if (request.kind == OpKind::kWrite || request.kind == OpKind::kAtomicWrite) {
    request.target = remote;
    request.transfer = remote->model->Begin(
        remote->guard + posting.remote_offset, ExactContent(bytes),
        {end.number, request.id}, world.now);
  } else if (request.kind == OpKind::kRead) {
    const Content seen = remote->model->Observe(
        remote->guard + posting.remote_offset, posting.length, remote->bytes());
    request.target = posting.local;
    request.transfer = posting.local->model->Begin(
        posting.local->guard + posting.local_offset, seen, {}, world.now,
        MemoryModel::Growth::kGrows);
  }
}

// The bytes that the request brings to the other side.
std::vector<uint8_t> FillSource(World& world, const Posting& posting) {
  std::vector<uint8_t> bytes(posting.length);
  if (posting.kind == OpKind::kAtomicWrite) world.data.Fill(bytes);
  if (posting.local == nullptr) return bytes;
  if (posting.kind != OpKind::kSend && posting.kind != OpKind::kWrite) {
    return bytes;
  }
  Region& region = *posting.local;
  uint8_t* const source = region.data() + posting.local_offset;
  world.data.Fill(bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (region.held[posting.local_offset + i] == 0) source[i] = bytes[i];
  }
  bytes.assign(source, source + bytes.size());
  region.model->Store(region.guard + posting.local_offset, bytes);
  return bytes;
}

void AddMessage(End& end, std::vector<uint8_t> bytes, const Posting& posting,
                Request& request) {
  if (request.kind != OpKind::kSend && !request.with_imm) return;
  Message message;
  message.request = request.id;
  message.is_write = request.kind == OpKind::kWrite;
  message.with_imm = request.with_imm;
  message.imm = posting.imm;
  message.length = request.length;
  message.is_undelivered = request.has_no_effect;
  if (!message.is_write) message.bytes = std::move(bytes);
  request.message = end.messages.size();
  end.messages.push_back(std::move(message));
}

}  // namespace

void PostRequest(World& world, End& end, const Posting& posting) {
  const uint64_t id = world.NewId();
  std::vector<uint8_t> bytes = FillSource(world, posting);
  const int rc = CallApi(world, end, posting, id, bytes);
  world.Say(Describe(end, posting, id) + world.Result());
  if (world.CallFailed()) {
    return world.ExpectFailure({RPMA_E_PROVIDER});
  }
  CheckAnswer(world, end, posting);
  if (rc != 0) return;

  Request request;
  request.id = id;
  request.kind = posting.kind;
  request.signaled = posting.signaled;
  request.with_imm = posting.with_imm;
  request.length = posting.length;
  request.opcode = OpcodeOf(end, posting);
  request.local = posting.local;
  request.local_offset = posting.local_offset;
  request.remote = posting.remote;
  Foresee(world, end, posting, request);
  BeginEffect(world, end, posting, bytes, request);
  if (request.holds_source()) {
    for (size_t i = 0; i < request.length; ++i) {
      ++request.local->held[request.local_offset + i];
    }
  }
  AddMessage(end, std::move(bytes), posting, request);
  const bool is_message = request.message.has_value();
  end.requests.push_back(std::move(request));
  if (is_message && end.other->other == &end) OnMessage(world, *end.other);
  world.ApplyFaults();
}

}  // namespace rpma::sim
