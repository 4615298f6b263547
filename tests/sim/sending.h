// SPDX-License-Identifier: BSD-3-Clause
// Requests other than receives, and their completions.

#ifndef RPMA_TESTS_SIM_SENDING_H_
#define RPMA_TESTS_SIM_SENDING_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "tests/sim/world.h"

namespace rpma::sim {

// What to post.
struct Posting {
  OpKind kind = OpKind::kSend;
  Region* local = nullptr;  // nullptr: none; not of flushes, atomic writes
  size_t local_offset = 0;
  Region* remote = nullptr;  // nullptr: none; not of sends
  size_t remote_offset = 0;
  size_t length = 0;
  bool signaled = true;
  bool with_imm = false;
  uint32_t imm = 0;
  rpma_flush_type flush_type = RPMA_FLUSH_TYPE_VISIBILITY;
};

// Posts a request, with fresh bytes in those of its source that no other
// request holds, and checks the answer.
void PostRequest(World& world, End& end, const Posting& posting);

// Whether `end` has posted a request of this id that has not completed.
bool HasRequest(const End& end, uint64_t id);
// Checks the completion of such a request.
void CheckSent(World& world, Cq& cq, End& end, const ibv_wc& wc);

// The end is deleted: what it has posted will have no completion.
void AbandonRequests(End& end);

// In a world in which nothing moves any more: throws Violation if a request
// that should have a completion has none.
void CheckNoneIsStuck(const World& world, const End& end);

}  // namespace rpma::sim

#endif  // RPMA_TESTS_SIM_SENDING_H_
