// SPDX-License-Identifier: BSD-3-Clause
// What both processes have: a region, in parts, and what they tell each other
// of it when they connect.

#ifndef RPMA_TESTS_STRESS_END_H_
#define RPMA_TESTS_STRESS_END_H_

#include <librpma.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/stress/story.h"
#include "tests/support/pair.h"

namespace rpma::test {

inline constexpr char kAddress[] = "127.0.0.1";
inline constexpr size_t kReceives = 4;
inline constexpr uint64_t kReceiveId = 1000;  // of all of them

ibv_context* Device();
Region NewRegion(rpma_peer* peer);

// Private data: whose region it is, and its descriptor.
std::vector<uint8_t> Introduction(const End& end);
// Takes the other end's region from them, and returns whose it is.
pid_t GetAcquainted(const std::vector<uint8_t>& introduction, End* end);

void PostReceives(rpma_conn_req* request, const Region& region);
int PostReceive(const End& end);
// The operation numbered `wr_id` of an end, from 0. Sends beyond the other
// end's first receives are writes: nobody tells whether there are more.
int Post(const End& end, Operation operation, size_t size, uint64_t wr_id);

}  // namespace rpma::test

#endif  // RPMA_TESTS_STRESS_END_H_
