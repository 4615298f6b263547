// SPDX-License-Identifier: BSD-3-Clause
// Two connected ends in one thread, and what can be waited for on them.

#ifndef RPMA_TESTS_SUPPORT_PAIR_H_
#define RPMA_TESTS_SUPPORT_PAIR_H_

#include <librpma.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tests/support/handle.h"
#include "tests/support/region.h"

namespace rpma::test {

// One end of a connection. The post helpers move bytes between `region` and
// `remote` and return what librpma returned.
struct End {
  // Fills in the members that follow from `conn`.
  void Own(Conn connection);

  int Send(uint64_t wr_id, size_t offset, size_t len,
           int flags = RPMA_F_COMPLETION_ALWAYS) const;
  int SendWithImm(uint64_t wr_id, size_t offset, size_t len, uint32_t imm,
                  int flags = RPMA_F_COMPLETION_ALWAYS) const;
  int Recv(uint64_t wr_id, size_t offset, size_t len) const;
  int Write(uint64_t wr_id, size_t remote_offset, size_t offset, size_t len,
            int flags = RPMA_F_COMPLETION_ALWAYS) const;
  int WriteWithImm(uint64_t wr_id, size_t remote_offset, size_t offset,
                   size_t len, uint32_t imm,
                   int flags = RPMA_F_COMPLETION_ALWAYS) const;
  int AtomicWrite(uint64_t wr_id, size_t remote_offset, uint64_t value,
                  int flags = RPMA_F_COMPLETION_ALWAYS) const;
  int Read(uint64_t wr_id, size_t offset, size_t remote_offset, size_t len,
           int flags = RPMA_F_COMPLETION_ALWAYS) const;
  int Flush(uint64_t wr_id, size_t remote_offset, size_t len,
            rpma_flush_type type = RPMA_FLUSH_TYPE_VISIBILITY,
            int flags = RPMA_F_COMPLETION_ALWAYS) const;

  std::optional<Region> region;  // of this end
  RemoteMr remote;               // the other end's region
  Conn conn;
  rpma_cq* cq = nullptr;   // the connection's completion queue
  rpma_cq* rcq = nullptr;  // its own receive CQ; nullptr: it has none
  uint32_t qp_num = 0;
};

struct PairOptions {
  const rpma_conn_cfg* client_cfg = nullptr;
  const rpma_conn_cfg* server_cfg = nullptr;
  size_t region_size = 4096;
  int client_usage = kAllUsages;
  int server_usage = kAllUsages;
  std::vector<uint8_t> request_data = {};  // none if empty
  std::vector<uint8_t> accept_data = {};   // none if empty
  // Called with each request before it connects, for example to post receives.
  std::function<void(rpma_conn_req*, const Region&)> before_client_connects =
      {};
  std::function<void(rpma_conn_req*, const Region&)> before_server_connects =
      {};
};

struct Pair {
  End client;  // connected
  End server;  // accepted
};

// One-byte descriptors of peer configurations.
inline constexpr uint8_t kNothing = 0;
inline constexpr uint8_t kDirectWrite = 1;
inline constexpr uint8_t kDirectWriteAndNativeFlush = 3;

// Tells `end` what the other side says of itself.
void ApplyPeerCfg(const End& end, uint8_t descriptor);

// What `op_context` makes of a wr_id.
inline const void* Context(uint64_t wr_id) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(wr_id));
}

// Whether a descriptor is readable at this moment, or becomes so before the
// deadline that no test should reach; in a stepped world, before nothing can
// move any more.
bool IsReadable(int fd);
bool BecomesReadable(int fd);

int EventFd(const rpma_conn* conn);
int EndpointFd(const rpma_ep* endpoint);
int CompletionFd(const rpma_cq* cq);

// The next event of a connection. Reaching the deadline fails the test and
// gives RPMA_CONN_UNDEFINED.
rpma_conn_event NextEvent(rpma_conn* conn);
// Whether an event can be fetched at this moment.
bool HasEvent(const rpma_conn* conn);
// Expects that an event can be fetched, for which it is given time, or none.
void ExpectEventIff(bool expected, const rpma_conn* conn);

// The next completion of a queue that has a completion channel of its own.
// Reaching the deadline fails the test and gives a wr_id of UINT64_MAX.
ibv_wc Poll(rpma_cq* cq);
// Whether a queue is empty at this moment.
bool IsEmpty(rpma_cq* cq);

// rpma_conn_req_connect() with private data unless they are empty.
Conn Connect(ConnReq request, std::vector<uint8_t> private_data = {});
// The private data of a request or a connection, copied.
std::vector<uint8_t> PrivateData(const rpma_conn_req* request);
std::vector<uint8_t> PrivateData(const rpma_conn* conn);

}  // namespace rpma::test

#endif  // RPMA_TESTS_SUPPORT_PAIR_H_
