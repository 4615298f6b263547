// SPDX-License-Identifier: BSD-3-Clause
// For tests of the data path: two devices, a queue pair on each, connected
// without a connection manager, and short words for what tests do with them.

#ifndef RPMA_TESTS_UNIT_EMULATOR_CONNECTED_PAIR_H_
#define RPMA_TESTS_UNIT_EMULATOR_CONNECTED_PAIR_H_

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "emulator/device.h"
#include "tests/unit/emulator/linked_ends.h"

namespace rpma::emu {

// A world around devices: times as on hardware divided by `divisor`, and a
// record of what the devices reported. Its timers are real, unless a seed makes
// it a stepped world.
class TestEnvironment final : public DeviceEnvironment {
 public:
  struct LogLine {
    int level;
    std::string text;
  };

  explicit TestEnvironment(int divisor = 1000,
                           std::optional<uint64_t> seed = std::nullopt);

  std::vector<uint32_t> failed_qps() const;
  std::vector<LogLine> log() const;

  void QueuePairFailed(uint32_t qp_num) override;
  void Log(int level, const char* text) override;
  TimerQueue& timers() override { return timers_; }
  Scheduler* scheduler() override {
    return scheduler_.has_value() ? &*scheduler_ : nullptr;
  }
  std::chrono::nanoseconds Scale(std::chrono::nanoseconds time) override {
    return time / divisor_;
  }
  FaultInjector& faults() override { return faults_; }
  std::atomic<Progress*>& progress() override { return progress_; }
  void FinishDeviceFaults() override { faults_.TakeUnfinished(); }

 private:
  const int divisor_;
  mutable std::mutex mutex_;
  std::vector<uint32_t> failed_qps_;  // guarded by mutex_, as all below
  std::vector<LogLine> log_;
  TimerQueue timers_;
  FaultInjector faults_{*this};
  std::atomic<Progress*> progress_ = nullptr;
  std::optional<Scheduler> scheduler_;
};

// Whether the tests of this run are to see linked pairs, unless they say
// otherwise.
bool IsLinkedByDefault();

// What a pair is made of; both ends alike.
struct PairOptions {
  Profile profile = *FindProfile("roce");
  int send_cqe = 64;
  int recv_cqe = 64;
  bool with_srq = false;
  uint32_t srq_limit = 0;
  uint32_t max_wr = 16;
  uint32_t max_sge = 4;
  uint32_t max_inline_data = 64;
  bool sq_sig_all = false;
  ConnectionAttributes connection = {.max_rd_atomic = 4,
                                     .max_dest_rd_atomic = 4};
  int time_divisor = 1000;
  std::optional<uint64_t> seed = std::nullopt;  // of a stepped world
  // As if the ends were in two processes, with a link between them. Calls of an
  // End handle what waits in it.
  bool linked = IsLinkedByDefault();
};

constexpr unsigned kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// One side: a device with a region, its queues and a queue pair in INIT.
class End {
 public:
  static constexpr size_t kSize = 4096;  // bytes of the region

  End(const char* name, uint32_t index, const PairOptions& options,
      TestEnvironment& environment);
  ~End();  // everything is destroyed, and the census must agree

  uint64_t Address(size_t offset = 0) const;
  ibv_sge Sge(size_t offset, uint32_t length) const;
  // The bytes [offset, offset + length) of the region, as text.
  std::string Text(size_t offset, size_t length) const;
  void SetText(size_t offset, const std::string& text);

  // Post one request; 0 or an errno. `length` bytes at `offset` of the region.
  int Recv(uint64_t wr_id, size_t offset, uint32_t length);
  int Send(uint64_t wr_id, size_t offset, uint32_t length,
           unsigned flags = IBV_SEND_SIGNALED);
  int Write(uint64_t wr_id, size_t offset, uint32_t length, const End& to,
            size_t to_offset, unsigned flags = IBV_SEND_SIGNALED);
  int Read(uint64_t wr_id, size_t offset, uint32_t length, const End& from,
           size_t from_offset, unsigned flags = IBV_SEND_SIGNALED);
  int Post(ibv_send_wr wr);
  // A request for Post() with one buffer; the caller keeps `sge`.
  static ibv_send_wr Request(uint64_t wr_id, ibv_wr_opcode opcode, ibv_sge* sge,
                             unsigned flags);
  static ibv_send_wr RdmaRequest(uint64_t wr_id, ibv_wr_opcode opcode,
                                 ibv_sge* sge, unsigned flags, const End& to,
                                 size_t to_offset);

  void MakeProgress();  // in a linked pair

  // All completions that wait now.
  std::vector<ibv_wc> PollSend() { return Poll(*send_cq); }
  std::vector<ibv_wc> PollRecv() { return Poll(*recv_cq); }
  static std::vector<ibv_wc> Poll(CompletionQueue& cq);
  // The next completion, for which it waits up to ten seconds; a failed test
  // and a poisoned completion after that.
  ibv_wc AwaitSend() { return Await(*send_cq); }
  ibv_wc AwaitRecv() { return Await(*recv_cq); }
  static ibv_wc Await(CompletionQueue& cq);

  // The types of all async events that wait now.
  std::vector<ibv_event_type> AsyncEvents();
  std::string Explanation() const;

  // Another queue pair with the same queues, in INIT. The caller destroys it.
  std::shared_ptr<QueuePair> MakeQp();
  void DestroyQp();  // `qp`, early

  Device device;
  ProtectionDomain* pd = nullptr;
  CompletionChannel* channel = nullptr;  // of recv_cq
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  MemoryRegion* mr = nullptr;
  std::shared_ptr<QueuePair> qp;

 private:
  const PairOptions options_;
  alignas(64) std::array<char, kSize> memory_{};
};

// Moves both from INIT to RTS.
void Connect(const std::shared_ptr<QueuePair>& a,
             const std::shared_ptr<QueuePair>& b,
             const ConnectionAttributes& attributes);

// The same, of ends that see each other as they are told.
void Connect(const std::shared_ptr<QueuePair>& a, const QpRef& a_as_remote,
             const std::shared_ptr<QueuePair>& b, const QpRef& b_as_remote,
             const ConnectionAttributes& attributes);

// `client` and `server` differ in name only.
struct ConnectedPair {
  explicit ConnectedPair(const PairOptions& options = {});
  // No expiry is under way when the devices go.
  ~ConnectedPair();

  // A queue pair of the server, as one of the client sees it; and the reverse.
  QpRef ServerQp(const std::shared_ptr<QueuePair>& qp) const;
  QpRef ClientQp(const std::shared_ptr<QueuePair>& qp) const;

  // The faults know the devices "client" and "server".
  void SetFaults(std::vector<Fault> faults);
  FaultCounts Counts() { return environment.faults().counts(); }

  TestEnvironment environment;
  End client;
  End server;
  std::optional<LinkedEnds> link;
};

// Polls `done` until it is true or ten seconds have passed; the last value.
bool Eventually(const std::function<bool()>& done);

}  // namespace rpma::emu

#endif  // RPMA_TESTS_UNIT_EMULATOR_CONNECTED_PAIR_H_
