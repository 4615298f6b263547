// SPDX-License-Identifier: BSD-3-Clause
// The objects of a walk: handles of librpma with what the model knows of them.
// They stay, marked as gone, until the run is over.

#ifndef RPMA_TESTS_SIM_OBJECTS_H_
#define RPMA_TESTS_SIM_OBJECTS_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/memory_model.h"
#include "tests/sim/status_set.h"

namespace rpma::sim {

struct End;

// A device of the fabric, and what it can do.
struct Node {
  size_t number = 0;
  std::string device;
  std::string options;
  ibv_context* context = nullptr;
  bool native_flush = false;
  bool native_atomic_write = false;
  bool limits_rnr_retries = false;
  // Because of faults: all tries of its requests may be lost; it has no power,
  // or is removed.
  bool may_lose_requests = false;
  bool is_gone = false;
};

struct Peer {
  size_t number = 0;
  Node* node = nullptr;
  rpma_peer* handle = nullptr;  // nullptr: gone
};

// Registered memory between two guards. The walk stores to its first part,
// which is the source of requests; transfers go to the rest.
struct Region {
  bool registered() const { return local != nullptr; }
  std::span<uint8_t> bytes() { return memory; }
  uint8_t* data() { return memory.data() + guard; }

  size_t number = 0;
  Peer* peer = nullptr;
  int usage = 0;
  size_t guard = 0;    // bytes in front, and behind
  size_t size = 0;     // bytes registered
  size_t sources = 0;  // bytes of the first part
  std::vector<uint8_t> memory;
  std::vector<unsigned> held;  // by how many requests, for each source byte
  std::unique_ptr<MemoryModel> model;  // of `memory`
  rpma_mr_local* local = nullptr;
  rpma_mr_remote* remote = nullptr;  // outlives the registration
};

enum class OpKind : uint8_t { kSend, kWrite, kRead, kFlush, kAtomicWrite };

// A request that has not completed.
struct Request {
  uint64_t id = 0;  // its op_context
  OpKind kind = OpKind::kSend;
  bool signaled = false;
  bool with_imm = false;
  size_t length = 0;
  int opcode = 0;  // of its completion
  Region* local = nullptr;
  size_t local_offset = 0;
  Region* remote = nullptr;
  // What it changes in memory: of `remote` or, if it is a READ, of `local`.
  Region* target = nullptr;
  MemoryModel::Transfer transfer = 0;
  // What the other end gets of it, by its index there.
  std::optional<size_t> message = std::nullopt;
  // What may become of it for what it asks.
  StatusSet errors = {};
  StatusSet injected = {};  // by faults, each of which does it once
  bool may_succeed = true;
  bool must_be_flushed = false;  // the queue had failed before
  bool has_no_effect = false;    // on the other side

  bool holds_source() const {
    return local != nullptr &&
           (kind == OpKind::kSend || kind == OpKind::kWrite);
  }
};

// What a SEND or a WRITE with immediate data brings to the other end.
struct Message {
  uint64_t request = 0;
  bool is_write = false;
  bool with_imm = false;
  uint32_t imm = 0;
  size_t length = 0;
  std::vector<uint8_t> bytes = {};  // of a SEND
  bool acknowledged = false;
  bool is_undelivered = false;  // for certain
};

// A receive that has not completed.
struct Receive {
  uint64_t id = 0;
  Region* region = nullptr;
  size_t offset = 0;
  size_t length = 0;
  bool is_bad = false;      // the device cannot write to the buffer
  bool may_be_bad = false;  // or not any more
  MemoryModel::Transfer transfer = 0;
};

// A completion queue and the events that announce its completions.
struct Cq {
  size_t number = 0;
  rpma_cq* handle = nullptr;
  size_t size = 0;            // at least
  std::vector<End*> feeders;  // whose completions it gets
  bool may_lose = false;      // completions: it may have overrun
  bool is_shared_channel = false;
  // Armed, and empty since then: the next completion raises an event.
  bool sleeps = true;
  bool event_is_due = false;
  // An event was fetched: something was there.
  bool must_hold = false;
  size_t polled_since_armed = 0;
  size_t woken_since_polled = 0;
  size_t armed_too_often = 0;  // by waits that a foreign event ended
  bool arming_is_unknown = false;
};

struct Srq {
  bool is_shorter(size_t length) const { return shortest < length; }

  size_t number = 0;
  Peer* peer = nullptr;
  rpma_srq* handle = nullptr;
  size_t size = 0;
  std::unique_ptr<Cq> rcq;
  std::deque<Receive> receives;
  // Of all it ever had.
  size_t shortest = SIZE_MAX;
  bool has_bad = false;
  // Receives whose completions went with their connection, at most.
  size_t maybe_gone = 0;
};

struct Endpoint {
  size_t number = 0;
  Peer* peer = nullptr;
  rpma_ep* handle = nullptr;
  std::string address;
  std::string port;
  // Ends whose request may wait here, in the order of their sending.
  std::vector<End*> callers;
  size_t refused_unseen = 0;  // of them
  bool is_struck = false;     // a fault may have ended it
};

// What a connection is configured to be.
struct Config {
  bool is_default = false;  // NULL is given
  uint32_t cq_size = 10;
  uint32_t rcq_size = 0;
  uint32_t sq_size = 10;
  uint32_t rq_size = 10;
  bool shared_channel = false;
  Srq* srq = nullptr;
};

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_OBJECTS_H_
