// SPDX-License-Identifier: BSD-3-Clause
// For tests of the data path between processes: two ends, each in a world of
// its own, and the link between them.

#ifndef RPMA_TESTS_UNIT_EMULATOR_FAR_PAIR_H_
#define RPMA_TESTS_UNIT_EMULATOR_FAR_PAIR_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/emulator/connected_pair.h"

namespace rpma::emu {

// More memory than an End has, registered with the End's device.
class Memory {
 public:
  Memory(End& end, size_t size, unsigned access = kAllAccess)
      : end_(end), bytes(size) {
    EXPECT_EQ(end.device.RegMr(end.pd, bytes.data(), size, access, &mr_), 0);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { Deregister(); }

  void Deregister() {
    if (mr_ == nullptr) return;
    EXPECT_EQ(end_.device.DeregMr(std::exchange(mr_, nullptr)), 0);
  }
  // Different bytes, which depend on `seed`.
  void Fill(uint8_t seed) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(seed + i + (i >> 8) + (i >> 16));
    }
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes.data()); }
  uint32_t key() const { return mr_->rkey; }
  ibv_sge Sge(size_t offset, size_t length) const {
    return {address() + offset, static_cast<uint32_t>(length), mr_->lkey};
  }

 private:
  End& end_;
  MemoryRegion* mr_ = nullptr;

 public:
  std::vector<uint8_t> bytes;
};

struct FarPair {
  explicit FarPair(const PairOptions& options = {})
      : client_world(options.time_divisor),
        server_world(options.time_divisor),
        client("client", 0, options, client_world),
        server("server", 1, options, server_world),
        link(client.device, server.device) {
    SetProgress(&link);
    Connect(client.qp, link.ClientQp(*client.qp), server.qp,
            link.ServerQp(*server.qp), options.connection);
  }
  ~FarPair() {
    client_world.timers().Stop();
    server_world.timers().Stop();
    SetProgress(nullptr);
  }

  // nullptr: nothing is handled but by calls of `link`.
  void SetProgress(Progress* progress) {
    client_world.progress() = progress;
    server_world.progress() = progress;
  }

  // Posts requests of the client with the local buffers `sges`.
  int Rdma(uint64_t wr_id, ibv_wr_opcode opcode, std::vector<ibv_sge> sges,
           uint64_t remote_addr, uint32_t rkey) {
    ibv_send_wr wr =
        End::Request(wr_id, opcode, sges.data(), IBV_SEND_SIGNALED);
    wr.num_sge = static_cast<int>(sges.size());
    wr.wr.rdma.remote_addr = remote_addr;
    wr.wr.rdma.rkey = rkey;
    return client.Post(wr);
  }
  int Rdma(uint64_t wr_id, ibv_wr_opcode opcode, const Memory& local,
           const Memory& remote, size_t remote_offset = 0) {
    return Rdma(wr_id, opcode, {local.Sge(0, local.bytes.size())},
                remote.address() + remote_offset, remote.key());
  }

  // The faults of one of the processes.
  static void SetFaults(TestEnvironment& world, End& end,
                        std::vector<Fault> faults) {
    std::string error;
    EXPECT_EQ(world.faults().Set(
                  std::move(faults),
                  [&end](std::string_view) { return &end.device; }, &error),
              0)
        << error;
  }
  void SetClientFaults(std::vector<Fault> faults) {
    SetFaults(client_world, client, std::move(faults));
  }
  void SetServerFaults(std::vector<Fault> faults) {
    SetFaults(server_world, server, std::move(faults));
  }

  TestEnvironment client_world;
  TestEnvironment server_world;
  End client;
  End server;
  LinkedEnds link;
};

}  // namespace rpma::emu

#endif  // RPMA_TESTS_UNIT_EMULATOR_FAR_PAIR_H_
