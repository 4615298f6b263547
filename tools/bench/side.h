// SPDX-License-Identifier: BSD-3-Clause
// One end of a connection over librpma, with memory that the other may write.

#ifndef RPMA_TOOLS_BENCH_SIDE_H_
#define RPMA_TOOLS_BENCH_SIDE_H_

#include <librpma.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rpma::bench {

inline constexpr size_t kBulk = size_t{1} << 20;
// Of a side's memory: where it is written to, and from where it writes.
inline constexpr size_t kTarget = 0;
inline constexpr size_t kSource = kBulk;
inline constexpr size_t kMemory = 2 * kBulk;

// Throws std::runtime_error, with the name of the call, if it failed.
void Check(int result, const char* call);
#define BENCH_CHECK(call) ::rpma::bench::Check((call), #call)

// Memory, its region and the peer of it.
class Registered {
 public:
  Registered();
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered();

  std::byte* memory() const { return memory_; }
  rpma_peer* peer() const { return peer_; }
  rpma_mr_local* region() const { return region_; }

 private:
  std::byte* memory_ = nullptr;
  rpma_peer* peer_ = nullptr;
  rpma_mr_local* region_ = nullptr;
};

class Endpoint {
 public:
  explicit Endpoint(const Registered& memory);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  rpma_ep* get() const { return endpoint_; }

 private:
  rpma_ep* endpoint_ = nullptr;
};

// A connection. Each side writes to the other's kTarget from its own kSource.
class Side {
 public:
  explicit Side(const Registered& memory) : memory_(memory) {}
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side();

  // The steps of the two sides, in this order.
  void Connect();
  void Accept(const Endpoint& endpoint);
  void AwaitEstablished();

  void Disconnect();
  void AwaitClosed();

  void Write(size_t length);
  // Takes the completion of a write, if there is one; it must be a success.
  void Poll();
  void AwaitCompletions();  // of all writes
  void WriteAndAwait(size_t length) {
    Write(length);
    AwaitCompletions();
  }
  void Send();
  void PostReceive();
  // Sleeps until a receive is complete; completions of sends are taken on the
  // way.
  void SleepUntilReceived();

  const Registered& memory() const { return memory_; }
  // The first word that the other side writes, and that this one writes.
  std::atomic_ref<uint64_t> target() const { return WordAt(kTarget); }
  std::atomic_ref<uint64_t> source() const { return WordAt(kSource); }

 private:
  std::atomic_ref<uint64_t> WordAt(size_t offset) const {
    return std::atomic_ref<uint64_t>(
        *reinterpret_cast<uint64_t*>(memory_.memory() + offset));
  }
  void LearnQueues();

  const Registered& memory_;
  rpma_conn* connection_ = nullptr;
  rpma_cq* cq_ = nullptr;
  rpma_cq* rcq_ = nullptr;
  rpma_mr_remote* remote_ = nullptr;
  int num_writes_ = 0;  // that are not complete
};

}  // namespace rpma::bench

#endif  // RPMA_TOOLS_BENCH_SIDE_H_
