// SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/end.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace rpma::test {
namespace {

// The parts of a region: what the other end writes and reads, what this end
// sends and reads into, and where messages go.
constexpr size_t kPart = 1 << 20;
constexpr size_t kTarget = 0;
constexpr size_t kLocal = kPart;
constexpr size_t kInbox = 2 * kPart;

}  // namespace

ibv_context* Device() {
  ibv_context* context = nullptr;
  EXPECT_THAT(rpma_utils_get_ibv_context(kAddress, RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                         &context),
              IsOk());
  return context;
}

Region NewRegion(rpma_peer* peer) { return Region(peer, 3 * kPart); }

std::vector<uint8_t> Introduction(const End& end) {
  const pid_t pid = getpid();
  const MrDescriptor descriptor = end.region->Descriptor();
  std::vector<uint8_t> data(sizeof(pid) + descriptor.size());
  std::memcpy(data.data(), &pid, sizeof(pid));
  std::memcpy(data.data() + sizeof(pid), descriptor.data(), descriptor.size());
  return data;
}

pid_t GetAcquainted(const std::vector<uint8_t>& introduction, End* end) {
  pid_t pid = 0;
  if (introduction.size() < sizeof(pid) + kMrDescriptorSize) {
    ADD_FAILURE() << "an introduction of " << introduction.size() << " bytes";
    return pid;
  }
  std::memcpy(&pid, introduction.data(), sizeof(pid));
  EXPECT_THAT(
      rpma_mr_remote_from_descriptor(introduction.data() + sizeof(pid),
                                     kMrDescriptorSize, end->remote.address()),
      IsOk());
  return pid;
}

void PostReceives(rpma_conn_req* request, const Region& region) {
  for (size_t i = 0; i < kReceives; ++i) {
    EXPECT_THAT(rpma_conn_req_recv(request, region.mr(), kInbox, kPart,
                                   Context(kReceiveId)),
                IsOk());
  }
}

int PostReceive(const End& end) { return end.Recv(kReceiveId, kInbox, kPart); }

int Post(const End& end, Operation operation, size_t size, uint64_t wr_id) {
  switch (operation) {
    case Operation::kNothing:
      return 0;
    case Operation::kWrite:
      return end.Write(wr_id, kTarget, kLocal, size);
    case Operation::kRead:
      return end.Read(wr_id, kLocal, kTarget, size);
    case Operation::kSend:
      if (wr_id >= kReceives) return end.Write(wr_id, kTarget, kLocal, size);
      return end.Send(wr_id, kLocal, size);
    case Operation::kFlush:
      return end.Flush(wr_id, kTarget, size);
    case Operation::kAtomicWrite:
      return end.AtomicWrite(wr_id, kTarget, wr_id);
  }
  return RPMA_E_INVAL;
}

}  // namespace rpma::test
